"""Handles of keyed state, as PyFlink's functions use them: value, list, map and their kin.

Expiry follows Flink's TTL: a value is expired when its last access (by the update type) plus
its time to live is not after the current processing time; an expired one is removed by the
read that meets it, and shown by that read only under ReturnExpiredIfNotCleanedUp.
"""

from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact

from flinkish._core.memory.segment cimport segment_raise
from flinkish._core.state.table cimport (
    NOWHERE, NO_ROW, Cell, Entry, Table, cell_at, chain_next, entry_at, table_append, table_clear,
    table_find_entry, table_remove_entry, table_set, table_set_entry, table_touch_entry,
)
from flinkish._core.values.values cimport (
    TAG_CHAIN, TAG_EMPTY, TAG_INT, Encoded, bytes_of, decode_value, encode_key, encode_value,
)

include "scoped_rows.pyx"
include "coding.pyx"
include "expiry.pyx"

cdef class StateHandle:
    """A state of an operator; the current key decides whose value it is.

    Parameters
    ----------
    table: where the state lives.
    cell: the first of its cells.
    name: for messages.
    coding: what values must be: "any", "int64", "int32", "int16", "int8", "float64",
        "boolean", "string" or "binary".
    ttl: time to live in ms of processing time, 0 for ever.
    renew_on_read, show_expired: Flink's OnReadAndWrite and ReturnExpiredIfNotCleanedUp.
    of_key: the state is the key's, also while a row of the key within a namespace is current.
    check: says of a value why it is not of the state's type, or None; for types without a coding.
    """

    def __cinit__(self, *args, **kwargs):
        self.table = NOWHERE

    def __init__(self, StateTable table not None, uint32_t cell, str name not None,
                 str coding="any", int64_t ttl=0, bint renew_on_read=False,
                 bint show_expired=False, bint of_key=False, check=None):
        if cell + self.pair(ttl) >= <uint32_t>len(table.cells) or ttl < 0:
            raise ValueError(
                f"the state {name!r} cannot be in cell {cell} of {len(table.cells)} with a time to "
                f"live of {ttl} ms"
            )
        self.table = table
        self.cell = cell
        self.name = name
        self.coding = coding_of(coding)
        self.ttl = ttl
        self.renew_on_read = renew_on_read
        self.show_expired = show_expired
        self.of_key = of_key
        self.check = check

    def __reduce__(self):
        raise self.table.illegal_state(
            f"the state {self.name!r} was to be pickled, or copied, and it is of its operator's task"
            " alone: send its value"
        )

    def clear(self):
        """Remove the current key's value."""
        segment_raise(table_clear(&self.table.table, self.row(), self.cell))

    cdef uint32_t pair(self, int64_t ttl) noexcept:
        """Further cells that a state of this kind takes."""
        return 0

    cdef uint32_t row(self) except? 0xFFFFFFFF:
        cdef uint32_t row = NO_ROW
        if self.table.current == NO_ROW or self.table.is_elsewhere():
            self.table.check_alone()
            self.table.check_place(f"the state {self.name!r}")
            raise self.table.illegal_state(
                f"the state {self.name!r} was used without a current key; it may be used in "
                "process_element and on_timer of a keyed function, not in open, close or outside"
            )
        if self.of_key:
            segment_raise(scoped_row(&self.table.table, self.table.current, NULL, True, &row))
            return row
        return self.table.current

    cdef bint outlived(self, int64_t time) noexcept:
        return has_outlived(time, self.ttl, self.table.processing_time)

    cdef object encode(self, object value, Encoded* out):
        cdef object owner
        value = coerce_value(value, self.coding, self.table, self.name)
        if self.check is not None:
            check_value(value, self.check, self.table, "the state", self.name)
        try:
            owner = encode_value(value, out)
        except (MemoryError, RecursionError):
            raise
        except Exception as error:
            raise self.table.unkeepable(f"the state {self.name!r}", value, error) from error
        self.table.check_open()  # pickling runs code of the value's class
        return owner

    cdef object decode(self, uint8_t tag, uint32_t size, const uint64_t* word):
        cdef object value = decode_value(tag, size, bytes_of(size, word, &self.table.table.slab))
        self.table.check_open()  # so does unpickling
        return value

    cdef object encode_key(self, object key, Encoded* out):
        cdef object owner
        try:
            owner = encode_key(key, out)
        except TypeError as error:
            raise self.table.illegal_type(
                f"the map state {self.name!r} was given the key {key!r}: {error}"
            ) from None
        self.table.check_open()
        return owner


cdef class ValueCell(StateHandle):
    """PyFlink's ValueState.  With a time to live, the next cell has the time of the last access."""

    cdef uint32_t pair(self, int64_t ttl) noexcept:
        return 1 if ttl else 0

    def clear(self):
        """Remove the current key's value."""
        cdef uint32_t row = self.row()
        segment_raise(table_clear(&self.table.table, row, self.cell))
        if self.ttl:
            segment_raise(table_clear(&self.table.table, row, self.cell + 1))

    def value(self):
        """The current key's value, or None."""
        return self.load()

    def update(self, value):
        """Set the current key's value; None clears it."""
        if value is None:
            self.clear()
        else:
            self.store(value)

    cdef object load(self):
        cdef Table* table = &self.table.table
        cdef uint32_t row = self.row()
        cdef Cell* cell = cell_at(table, row, self.cell)
        cdef int64_t now
        cdef object value
        if cell.tag == TAG_EMPTY:
            return None
        if cell.tag == TAG_INT:
            value = <int64_t>cell.word
        else:
            value = self.decode(cell.tag, cell.size, &cell.word)
        if self.ttl:
            if self.outlived(<int64_t>cell_at(table, row, self.cell + 1).word):
                self.clear()
                return value if self.show_expired else None
            if self.renew_on_read:
                now = self.table.processing_time
                segment_raise(table_set(table, row, self.cell + 1, TAG_INT, 8, <char*>&now))
        return value

    cdef int store(self, object value) except -1:
        cdef Table* table = &self.table.table
        cdef uint32_t row = self.row()
        cdef Encoded out
        cdef int64_t now = self.table.processing_time
        cdef int64_t number
        cdef int overflow = 0
        cdef object owner
        if PyLong_CheckExact(value) and self.coding <= INT64 and self.check is None:
            number = PyLong_AsLongLongAndOverflow(value, &overflow)
            if overflow == 0:
                segment_raise(table_set(table, row, self.cell, TAG_INT, 8, <char*>&number))
                if self.ttl:
                    segment_raise(table_set(table, row, self.cell + 1, TAG_INT, 8, <char*>&now))
                return 0
        owner = self.encode(value, &out)
        segment_raise(table_set(table, row, self.cell, out.tag, out.size, out.data))
        if self.ttl:
            segment_raise(table_set(table, row, self.cell + 1, TAG_INT, 8, <char*>&now))
        return 0


cdef class ReducingCell(ValueCell):
    """PyFlink's ReducingState: one value into which each added one is reduced."""

    def __init__(self, table, cell, name, reduce, *args, **kwargs):
        super().__init__(table, cell, name, *args, **kwargs)
        self.reduce = reduce

    def get(self):
        """The reduced value, or None before the first add."""
        return self.load()

    def add(self, value):
        """Reduce `value` into the state."""
        cdef object held = self.load()
        self.update(value if held is None else self.reduce(held, value))


cdef class AggregatingCell(ValueCell):
    """PyFlink's AggregatingState: an accumulator and what the function makes of it."""

    def __init__(self, table, cell, name, function, *args, **kwargs):
        super().__init__(table, cell, name, *args, **kwargs)
        self.function = function

    def get(self):
        """The aggregate's result, or None before the first add."""
        cdef object held = self.load()
        return None if held is None else self.function.get_result(held)

    def add(self, value):
        """Add `value` to the accumulator."""
        cdef object held = self.load()
        if held is None:
            held = self.function.create_accumulator()
        self.update(self.function.add(value, held))


cdef class ListCell(StateHandle):
    """PyFlink's ListState: elements in order of arrival, each an entry of its own."""

    def get(self):
        """The elements, oldest first; empty when there are none."""
        cdef Table* table = &self.table.table
        cdef uint32_t row = self.row()
        cdef Cell* head = cell_at(table, row, self.cell)
        cdef list values = []
        cdef uint32_t at, following
        cdef Entry* entry
        if head.tag != TAG_CHAIN:
            return values
        at = chain_next(table, head, NO_ROW)
        while at != NO_ROW:
            entry = entry_at(table, at)
            following = chain_next(table, head, at)
            if self.ttl and self.outlived(entry.time):
                if self.show_expired:
                    values.append(self.decode(entry.tag, entry.size, &entry.word))
                segment_raise(table_remove_entry(table, at))
            else:
                values.append(self.decode(entry.tag, entry.size, &entry.word))
                if self.ttl and self.renew_on_read:
                    segment_raise(table_touch_entry(table, at, self.table.processing_time))
            at = following
        self.table.check_open()
        return values

    def __iter__(self):
        return iter(self.get())

    def add(self, value):
        """Append an element, which must not be None."""
        cdef Encoded out
        cdef uint32_t row = self.row()
        cdef object owner
        if value is None:
            raise self.table.illegal_argument(f"the list state {self.name!r} cannot hold None")
        owner = self.encode(value, &out)
        segment_raise(table_append(&self.table.table, row, self.cell, TAG_EMPTY, 0, b"", out.tag,
                                   out.size, out.data, self.table.processing_time, NO_ROW))

    def add_all(self, values):
        """Append each of `values`."""
        for value in values:
            self.add(value)

    def update(self, values):
        """Replace all elements by `values`."""
        cdef list kept = list(values)
        self.clear()
        self.add_all(kept)


cdef class MapCell(StateHandle):
    """PyFlink's MapState: pairs in order of first arrival, each an entry of its own.

    Keys are bool, int, float, str, bytes, date, datetime, Decimal or tuples of them.  `key_coding`
    and `key_check` are to keys what `coding` and `check` are to values, but convert nothing.
    """

    def __init__(self, table, cell, name, *args, str key_coding="any", key_check=None, **kwargs):
        super().__init__(table, cell, name, *args, **kwargs)
        self.key_coding = coding_of(key_coding)
        self.key_check = key_check

    cdef object encode_key(self, object key, Encoded* out):
        check_key(key, self.key_coding, self.key_check, self.table, self.name)
        return StateHandle.encode_key(self, key, out)

    cdef uint32_t find(self, object key) except? 0xFFFFFFFE:
        cdef Encoded out
        cdef uint32_t row = self.row()
        cdef object owner = self.encode_key(key, &out)
        return table_find_entry(&self.table.table, row, self.cell, out.tag, out.size, out.data)

    cdef bint expire(self, uint32_t entry) except -1:
        """Remove the entry if it has outlived its time; renew it if reading does that."""
        cdef Table* table = &self.table.table
        if not self.ttl:
            return False
        if self.outlived(entry_at(table, entry).time):
            segment_raise(table_remove_entry(table, entry))
            return True
        if self.renew_on_read:
            segment_raise(table_touch_entry(table, entry, self.table.processing_time))
        return False

    def get(self, key):
        """The value under `key`, or None."""
        cdef Table* table = &self.table.table
        cdef uint32_t at = self.find(key)
        cdef Entry* entry
        cdef object value
        if at == NO_ROW:
            return None
        entry = entry_at(table, at)
        value = self.decode(entry.tag, entry.size, &entry.word)
        if self.expire(at) and not self.show_expired:
            return None
        return value

    def put(self, key, value):
        """Set the value under `key`."""
        cdef Table* table = &self.table.table
        cdef Encoded encoded_key, out
        cdef uint32_t row = self.row()
        cdef object key_owner = self.encode_key(key, &encoded_key)
        cdef object owner = encode_value(None, &out) if value is None else self.encode(value, &out)
        cdef uint32_t at = table_find_entry(table, row, self.cell, encoded_key.tag,
                                            encoded_key.size, encoded_key.data)
        if at == NO_ROW:
            segment_raise(table_append(table, row, self.cell, encoded_key.tag, encoded_key.size,
                                       encoded_key.data, out.tag, out.size, out.data,
                                       self.table.processing_time, NO_ROW))
        else:
            segment_raise(table_set_entry(table, at, out.tag, out.size, out.data,
                                          self.table.processing_time))

    def put_all(self, pairs):
        """Set each pair of a mapping."""
        for key, value in pairs.items():
            self.put(key, value)

    def remove(self, key):
        """Remove `key`, if it is there."""
        cdef uint32_t at = self.find(key)
        if at != NO_ROW:
            segment_raise(table_remove_entry(&self.table.table, at))

    def contains(self, key):
        """Whether `key` is there and has not outlived its time."""
        cdef uint32_t at = self.find(key)
        return at != NO_ROW and (not self.expire(at) or self.show_expired)

    cdef list entries(self, bint keys, bint values):
        """Keys, values or pairs, made at once: the caller may change the map as it goes."""
        cdef Table* table = &self.table.table
        cdef Cell* head = cell_at(table, self.row(), self.cell)
        cdef uint32_t at, following
        cdef Entry* entry
        cdef list found = []
        cdef object key, value
        if head.tag != TAG_CHAIN:
            return found
        at = chain_next(table, head, NO_ROW)
        while at != NO_ROW:
            entry = entry_at(table, at)
            following = chain_next(table, head, at)
            key = value = None
            if keys:
                key = self.decode(entry.key_tag, entry.key_size, &entry.key_word)
            if values:
                value = self.decode(entry.tag, entry.size, &entry.word)
            if not self.expire(at) or self.show_expired:
                found.append((key, value) if keys and values else (key if keys else value))
            at = following
        self.table.check_open()
        return found

    def keys(self):
        """An iterator of the keys."""
        return iter(self.entries(True, False))

    def values(self):
        """An iterator of the values."""
        return iter(self.entries(False, True))

    def items(self):
        """An iterator of (key, value) pairs."""
        return iter(self.entries(True, True))

    def is_empty(self):
        """Whether no pair is left that has not outlived its time."""
        if not self.ttl:
            return cell_at(&self.table.table, self.row(), self.cell).tag != TAG_CHAIN
        return not self.entries(True, False)

    def __iter__(self):
        return iter(self.entries(True, False))

    def __contains__(self, key):
        return self.contains(key)

    def __getitem__(self, key):
        return self.get(key)

    def __setitem__(self, key, value):
        self.put(key, value)

    def __delitem__(self, key):
        self.remove(key)
