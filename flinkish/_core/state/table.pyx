"""The Python face of a table of keyed state."""

from libc.errno cimport EBADMSG
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset
from posix.unistd cimport close

from flinkish._core.memory.segment cimport segment_raise
from flinkish._core.memory.one_thread cimport in_a_child, in_use, of_another_thread, this_thread
from flinkish._core.timers.timers cimport timers_bytes, timers_count, timers_track
from flinkish._core.values.values cimport (
    TAG_EMPTY, TAG_INT, TAG_STR, Encoded, bytes_of, decode_key, encode_key, encode_scoped,
    value_fits,
)

include "index.pyx"
include "rows.pyx"
include "entries.pyx"
include "intern.pyx"
include "open.pyx"
include "check.pyx"


cdef class StateTable:
    """Keyed state and timers of a range of key groups.

    `StateTable(first, last)` is on the heap and starts empty.  `StateTable()` holds nothing
    until `map` lays it over the files of one key group; `close` and `map` may follow one
    another, so that handles made once serve key group after key group.  With `exchange` they serve
    many open ones by turns.

    A mapped table that turns out to be damaged raises DamagedTable, at the next call at the latest.

    For one thread at a time, that of its operator.  Another one that comes while it works without
    the GIL gets an error that names both; so does one that uses a key that another one made
    current, and a forked child.  Owns all its memory; `close` gives it back at once.
    """

    def __cinit__(self):
        table_init(&self.table)
        self.ready = False
        self.cells = []
        self.current = self.row_held = NO_ROW
        self.illegal_state = RuntimeError
        self.illegal_argument = ValueError
        self.illegal_type = self.not_serializable = TypeError
        self.processing_time = self.watermark = LOWEST

    def __init__(self, first_key_group=None, last_key_group=None, *, bint tracking=False):
        if first_key_group is None:
            return
        last_key_group = first_key_group if last_key_group is None else last_key_group
        if self.ready or not 0 <= first_key_group <= last_key_group < MOST_KEY_GROUPS:
            raise ValueError(
                f"the key groups {first_key_group}..{last_key_group} are no range within "
                f"0..{MOST_KEY_GROUPS - 1}, or the table is open already"
            )
        table_open(&self.table, first_key_group, last_key_group)
        self.generation = fork_generation()
        self.ready = True
        self.track(tracking)

    def map(self, list descriptors not None, int key_group, *, bint create, bytes state=None):
        """Lay the closed table over files: open descriptors in the order of `FILES`.

        They are taken over, whatever happens; -1 stands for memory.  With `create` the files are
        empty; else they hold a table of this key group that, unless `state` is None, was sealed
        as the table of that state.  ValueError when they do not: the caller then builds the
        table from the log.
        """
        cdef int[TABLE_SEGMENTS] files
        cdef uint64_t[2] wanted
        cdef int at
        if self.ready or self.holder or len(descriptors) != TABLE_SEGMENTS \
                or not 0 <= key_group < MOST_KEY_GROUPS or (state is not None and len(state) != STATE_BYTES):
            for descriptor in descriptors:
                if descriptor >= 0:
                    close(descriptor)
            self.check_alone()
            raise ValueError(
                f"needed are a closed table, {TABLE_SEGMENTS} files, a key group below "
                f"{MOST_KEY_GROUPS} and None or {STATE_BYTES} bytes for a state, not "
                f"{len(descriptors)} files, key group {key_group} and {state!r}"
            )
        for at in range(TABLE_SEGMENTS):
            files[at] = descriptors[at]
        try:
            table_map(&self.table, files, key_group, create,
                      NULL if state is None else state_words(state, wanted))
            self.generation = fork_generation()
            self.ready = True
            segment_raise(table_widen(&self.table, <uint32_t>len(self.cells)))
            self.track(True)
        except BaseException:
            self.close()
            raise

    def seal(self, bytes state not None):
        """Write into the files of which state they are the table: 16 bytes that `map` compares.

        For a table whose changes were committed, right before it is closed.
        """
        cdef uint64_t[2] words
        self.check_open()
        if header_of(&self.table).changing:
            raise RuntimeError("a table is sealed after its changes were committed")
        table_seal(&self.table, state_words(state, words))

    def exchange(self, StateTable other not None):
        """Exchange keys, state and timers with another table.

        The handles of either then serve the other's keys.  Each table keeps its cells and clocks;
        none has a current key.  It costs no more for many keys than for few.
        """
        cdef Table held
        self.check_alone()
        other.check_alone()
        # While neither has changed: there may be no room for the cells.
        if other.ready:
            segment_raise(table_widen(&other.table, <uint32_t>len(self.cells)))
        if self.ready:
            segment_raise(table_widen(&self.table, <uint32_t>len(other.cells)))
        held = other.table
        other.table = self.table
        self.table = held
        other.ready, self.ready = self.ready, other.ready
        other.generation, self.generation = self.generation, other.generation
        self.current = other.current = NO_ROW

    @property
    def in_files(self):
        """Whether all of it is in files; what does not fit on a disk goes on in memory."""
        self.check_open()
        return table_in_files(&self.table)

    def track(self, bint tracking):
        """Whether what changes is kept for the log; what was kept so far is forgotten."""
        self.check_open()
        table_end_interval(&self.table)
        self.current = NO_ROW
        self.table.tracking = tracking
        timers_track(&self.table.event, tracking)
        timers_track(&self.table.processing, tracking)

    def close(self):
        """Release all memory and files.  The table holds nothing afterwards."""
        self.check_alone()
        self.ready = False
        self.current = NO_ROW
        table_release(&self.table)

    def __dealloc__(self):
        table_release(&self.table)

    cdef bint is_elsewhere(self) noexcept:
        return self.generation != fork_generation() or 0 != self.worker != this_thread()

    cdef int check_place(self, str thing) except -1:
        if self.ready and self.is_elsewhere():
            raise self.illegal_state(
                in_a_child(thing) if self.generation != fork_generation()
                else of_another_thread(thing, self.worker))
        return 0

    cdef void use_row(self, uint32_t row) noexcept:
        self.worker = this_thread()
        self.current = row

    cdef int check_alone(self) except -1:
        if self.holder:
            raise self.illegal_state(in_use("a table of state", self.holder))
        return 0

    cdef int check_open(self) except -1:
        if self.holder or not self.ready or self.generation != fork_generation() \
                or table_damaged(&self.table):
            self.check_alone()
            self.check_place("a table of state")
            if self.ready:
                segment_raise(EBADMSG)
            raise self.illegal_state("this table is closed; open it with `map`, or make a new one")
        return 0

    cdef int hold(self) except -1:
        self.check_open()
        self.holder = this_thread()
        self.row_held, self.current = self.current, NO_ROW

    cdef void let_go(self) noexcept:
        self.current = self.row_held
        self.holder = 0

    cdef int check_cell(self, uint32_t cell) except -1:
        if cell >= <uint32_t>len(self.cells):
            raise ValueError(f"there is no cell {cell}, only {len(self.cells)}")
        return 0

    cdef object unkeepable(self, str keeper, object value, object error):
        return self.not_serializable(
            f"{keeper} was given a value of type {type(value).__name__}, which cannot be kept: "
            f"{error}; use what can be pickled"
        )

    # --- cells

    def add_cell(self, description):
        """The number of a new cell in every row; `description` is kept in `cells`."""
        self.check_alone()
        if len(self.cells) >= TABLE_CELLS:
            raise ValueError(f"a table has at most {TABLE_CELLS} cells; use a map state for many values")
        if self.ready:
            segment_raise(table_widen(&self.table, <uint32_t>len(self.cells) + 1))
        self.cells.append(description)
        return len(self.cells) - 1

    # --- keys

    cdef int select(self, object key, object namespace, uint32_t key_group) except -1:
        cdef Encoded out
        cdef object owner
        if namespace is None:
            owner = encode_key(key, &out)
        else:
            owner = encode_scoped(key, namespace, &out)
        self.check_open()  # encoding runs code of the key's class
        segment_raise(table_intern(&self.table, out.tag, out.size, out.data,
                                   <uint16_t>key_group, &self.current))
        return 0

    def set_current_key(self, key, uint16_t key_group=0, namespace=None):
        """Make `key` the key whose state and timers are used; its row is made when needed."""
        self.check_key_group(key_group)
        self.select(key, namespace, key_group)
        self.worker = this_thread()

    def clear_current_key(self):
        """No key is current afterwards."""
        self.check_alone()
        self.current = NO_ROW

    def current_key(self):
        """The current key, or None."""
        self.check_alone()
        return None if self.current == NO_ROW else self.key_of(self.current)

    def key_of(self, uint32_t row):
        """The key of a row."""
        cdef Row* found
        self.check_open()
        if row >= header_of(&self.table).rows or row_at(&self.table, row).tag == TAG_EMPTY:
            raise ValueError(f"there is no row {row}")
        found = row_at(&self.table, row)
        return decode_key(found.tag, found.size,
                          bytes_of(found.size, &found.word, &self.table.slab))

    def check_key_group(self, uint32_t key_group):
        """ValueError for a key group that is not this table's."""
        cdef TableHeader* header
        self.check_open()
        header = header_of(&self.table)
        if not header.first_key_group <= key_group <= header.last_key_group:
            raise ValueError(
                f"key group {key_group} is not in {header.first_key_group}..{header.last_key_group}"
            )

    cdef int intern(self, KeyColumn* keys, const int32_t[::1] key_groups,
                    uint32_t[::1] rows) except -1:
        cdef KeyFault fault
        cdef Py_ssize_t at = 0
        cdef int status = 0
        cdef uint32_t* out
        self.check_open()
        self.check_lengths(keys.count, key_groups, rows)
        if keys.count == 0:
            return 0
        out = &rows[0]
        if key_groups is not None:
            keys.key_groups = &key_groups[0]
        self.hold()
        with nogil:
            fault = check_column(&self.table, keys, &at)
            if fault == KEYS_GOOD:
                status = intern_column(&self.table, keys, out)
        self.let_go()
        if fault == KEY_FOREIGN:
            self.check_key_group(key_groups[at])
        if fault != KEYS_GOOD:
            raise_fault(fault, keys, at)
        segment_raise(status)
        return 0

    def check_lengths(self, Py_ssize_t count, const int32_t[::1] key_groups, uint32_t[::1] rows):
        """ValueError unless `count` keys come with as many rows and, if need be, key groups."""
        if rows.shape[0] != count:
            raise ValueError(f"{count} keys need as many rows, not {rows.shape[0]}")
        if key_groups is not None and key_groups.shape[0] != count:
            raise ValueError(f"{count} keys came with {key_groups.shape[0]} key groups")
        if key_groups is None \
                and header_of(&self.table).first_key_group != header_of(&self.table).last_key_group:
            raise ValueError("keys need their key groups: this table has more than one")

    def intern_ints(self, const int64_t[::1] keys not None, const int32_t[::1] key_groups,
                    uint32_t[::1] rows not None, uint8_t tag=TAG_INT):
        """Write the row of each int key to `rows`; `key_groups` may be None for the only one."""
        cdef KeyColumn column
        if tag == TAG_EMPTY or not value_fits(tag, 8):
            raise ValueError(f"keys of eight bytes cannot have the tag {tag}")
        memset(&column, 0, sizeof(column))
        column.count = keys.shape[0]
        column.tag = tag
        if column.count:
            column.numbers = &keys[0]
        self.intern(&column, key_groups, rows)

    def intern_strings(self, const int32_t[::1] offsets not None, const uint8_t[::1] data not None,
                       const int32_t[::1] key_groups, uint32_t[::1] rows not None,
                       uint8_t tag=TAG_STR):
        """As `intern_ints`, for UTF-8 strings i at data[offsets[i]:offsets[i + 1]].

        Without a tag (TAG_EMPTY) each string begins with its own.
        """
        cdef KeyColumn column
        memset(&column, 0, sizeof(column))
        column.count = rows.shape[0]
        column.tag = tag
        if offsets.shape[0] != column.count + 1:
            raise ValueError(
                f"{column.count} rows need {column.count + 1} offsets of keys, not {offsets.shape[0]}"
            )
        column.offsets = &offsets[0]
        column.text_size = data.shape[0]
        column.text = ""
        if column.text_size:
            column.text = <const char*>&data[0]
        self.intern(&column, key_groups, rows)

    def intern_packed(self, const int32_t[::1] offsets not None, const uint8_t[::1] data not None,
                      const int32_t[::1] key_groups, uint32_t[::1] rows not None):
        """As `intern_strings`, for keys that `pack_key` packed: the tag is their first byte."""
        self.intern_strings(offsets, data, key_groups, rows, TAG_EMPTY)

    def intern_objects(self, list keys not None, const int32_t[::1] key_groups,
                       uint32_t[::1] rows not None):
        """As `intern_ints`, for keys of any type."""
        cdef Py_ssize_t at, count = len(keys)
        cdef uint16_t group
        cdef Encoded out
        self.check_open()
        self.check_lengths(count, key_groups, rows)
        group = <uint16_t>header_of(&self.table).first_key_group
        for at in range(count):
            if key_groups is not None:
                self.check_key_group(key_groups[at])
                group = <uint16_t>key_groups[at]
            owner = encode_key(keys[at], &out)
            self.check_open()
            segment_raise(table_intern(&self.table, out.tag, out.size, out.data, group, &rows[at]))

    def forget(self, uint32_t row):
        """Remove a key with all its state; its timers must be gone.  Not for a tracked table."""
        self.check_open()
        if row >= header_of(&self.table).rows or row_at(&self.table, row).tag == TAG_EMPTY:
            raise ValueError(f"there is no row {row}")
        if row_at(&self.table, row).timers or self.table.tracking:
            raise RuntimeError("a key with timers, or of a logged table, cannot be forgotten")
        table_free_row(&self.table, row)
        if row == self.current:
            self.current = NO_ROW

    # --- what is held

    def number_of_entries(self, uint32_t cell):
        """Keys that have something in this cell."""
        cdef uint32_t row
        cdef Py_ssize_t found = 0
        self.check_open()
        if cell >= header_of(&self.table).stride:
            raise ValueError(f"there is no cell {cell}, only {header_of(&self.table).stride}")
        for row in range(header_of(&self.table).rows):
            if row_at(&self.table, row).tag != TAG_EMPTY \
                    and cell_at(&self.table, row, cell).tag != TAG_EMPTY:
                found += 1
        return found

    @property
    def number_of_keys(self):
        """Keys that have a row."""
        self.check_open()
        return header_of(&self.table).live_rows

    @property
    def number_of_event_timers(self):
        """Event-time timers registered."""
        self.check_open()
        return timers_count(&self.table.event)

    @property
    def number_of_processing_timers(self):
        """Processing-time timers registered."""
        self.check_open()
        return timers_count(&self.table.processing)

    @property
    def memory_bytes(self):
        """Bytes reserved, timers included."""
        cdef Py_ssize_t total
        cdef int segment
        self.check_open()
        total = timers_bytes(&self.table.event) + timers_bytes(&self.table.processing)
        for segment in range(6):
            total += ((&self.table.header) + segment).size
        return total

    def _check(self):
        """AssertionError unless every invariant of the table holds."""
        self.check_open()
        check_table(&self.table)


NOWHERE = StateTable.__new__(StateTable)
