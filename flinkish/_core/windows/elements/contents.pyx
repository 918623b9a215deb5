"""Contents of windows; described in ``windows/elements/contents.pxd``."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.errno cimport EBADMSG

from flinkish._core.memory.segment cimport segment_raise
from flinkish._core.state.table cimport (
    NO_ROW, Cell, Entry, Table, cell_at, chain_next, entry_at, table_append, table_clear, table_set,
)
from flinkish._core.values.values cimport TAG_CHAIN, TAG_EMPTY, bytes_of

cdef int64_t LOWEST = <int64_t>(<unsigned long long>1 << 63)


cdef class WindowContents:
    """The contents of windows, in one cell of each window's row; a base class.

    Rows with the fields `names` are kept without them.
    """

    def __init__(self, StateTable table not None, uint32_t cell, names=None):
        table.check_cell(cell)
        self.table = table
        self.cell = cell
        self.values = WindowValues(names)

    cdef int add(self, uint32_t row, object value, int64_t time) except -1:
        raise self.no_contents()

    cdef object get(self, uint32_t row):
        raise self.no_contents()

    cdef int merge(self, uint32_t row, list others) except -1:
        raise self.no_contents()

    def no_contents(self):
        """The error for using the base class."""
        return self.table.illegal_type(f"{type(self).__name__} keeps nothing; use a subclass of it")

    cdef int clear(self, uint32_t row) except -1:
        self.table.check_open()
        segment_raise(table_clear(&self.table.table, row, self.cell))
        return 0

    cdef object encode(self, object value, Encoded* out):
        cdef object owner
        try:
            owner = self.values.encode(value, out)
        except (MemoryError, RecursionError):
            raise
        except Exception as error:
            raise self.table.unkeepable("a window", value, error) from error
        self.table.check_open()  # pickling runs code of the value's class
        return owner


cdef class ElementContents(WindowContents):
    """All elements of a window."""

    cdef int add(self, uint32_t row, object value, int64_t time) except -1:
        cdef Encoded out
        cdef object owner = self.encode(value, &out)
        segment_raise(table_append(&self.table.table, row, self.cell, TAG_EMPTY, 0, b"", out.tag,
                                   out.size, out.data, time, NO_ROW))
        return 0

    cdef object get(self, uint32_t row):
        return self.elements(row, None)

    cdef list elements(self, uint32_t row, list times):
        cdef Table* table = &self.table.table
        cdef Cell* head = cell_at(table, row, self.cell)
        cdef list elements
        cdef uint32_t at
        cdef Entry* entry
        if head.tag != TAG_CHAIN:
            return None
        elements = []
        at = chain_next(table, head, NO_ROW)
        while at != NO_ROW:
            entry = entry_at(table, at)
            at = chain_next(table, head, at)
            if times is not None:
                times.append(None if entry.time == LOWEST else entry.time)
            elements.append(self.values.decode(
                entry.tag, entry.size, bytes_of(entry.size, &entry.word, &table.slab)))
            self.table.check_open()
        return elements

    cdef int replace(self, uint32_t row, list elements) except -1:
        self.clear(row)
        for value, time in elements:
            self.add(row, value, LOWEST if time is None else time)
        return 0

    cdef int merge(self, uint32_t row, list others) except -1:
        cdef Table* table = &self.table.table
        cdef uint32_t other, at
        cdef Cell* head
        cdef Entry* entry
        cdef const char* held
        cdef bytes data
        for other in others:
            head = cell_at(table, other, self.cell)
            if head.tag != TAG_CHAIN:
                continue
            at = chain_next(table, head, NO_ROW)
            while at != NO_ROW:
                # A copy, since the table moves when it grows.
                entry = entry_at(table, at)
                held = bytes_of(entry.size, &entry.word, &table.slab)
                if held == NULL:
                    segment_raise(EBADMSG)
                data = PyBytes_FromStringAndSize(held, entry.size)
                segment_raise(table_append(table, row, self.cell, TAG_EMPTY, 0, b"", entry.tag,
                                           entry.size, PyBytes_AS_STRING(data), entry.time, NO_ROW))
                at = chain_next(table, cell_at(table, other, self.cell), at)
            self.clear(other)
        return 0


cdef class FoldedContents(WindowContents):
    """One value that stands for all elements of a window; a base class."""

    cdef bint load(self, uint32_t row, list value) except -1:
        """Put what is kept into `value[0]`; False when there is nothing."""
        cdef Table* table = &self.table.table
        cdef Cell* cell
        self.table.check_open()
        cell = cell_at(table, row, self.cell)
        if cell.tag == TAG_EMPTY:
            return False
        value[0] = self.values.decode(cell.tag, cell.size,
                                      bytes_of(cell.size, &cell.word, &table.slab))
        return True

    cdef int store(self, uint32_t row, object value) except -1:
        cdef Encoded out
        cdef object owner = self.encode(value, &out)
        segment_raise(table_set(&self.table.table, row, self.cell, out.tag, out.size, out.data))
        return 0

    cdef int merge(self, uint32_t row, list others) except -1:
        cdef uint32_t other
        cdef list held = [None], more = [None]
        cdef bint have = self.load(row, held), any_more = False
        for other in others:
            if self.load(other, more):
                held[0] = self.unite(held[0], more[0]) if have else more[0]
                have = any_more = True
                self.clear(other)
        return self.store(row, held[0]) if any_more else 0


cdef class ReducedContents(FoldedContents):
    """The elements of a window, reduced to one by `reduce(one, other)`."""

    def __init__(self, table, cell, names, reduce):
        super().__init__(table, cell, names)
        self.unite = reduce

    cdef int add(self, uint32_t row, object value, int64_t time) except -1:
        cdef list held = [None]
        if self.load(row, held):
            value = self.unite(held[0], value)
        return self.store(row, value)

    cdef object get(self, uint32_t row):
        cdef list held = [None]
        return held if self.load(row, held) else None


cdef class AggregatedContents(FoldedContents):
    """The accumulator of an AggregateFunction over the elements of a window."""

    def __init__(self, table, cell, names, function):
        super().__init__(table, cell, names)
        self.create = function.create_accumulator
        self.absorb = function.add
        self.result = function.get_result
        self.unite = function.merge

    cdef int add(self, uint32_t row, object value, int64_t time) except -1:
        cdef list held = [None]
        if not self.load(row, held):
            held[0] = self.create()
        return self.store(row, self.absorb(value, held[0]))

    cdef object get(self, uint32_t row):
        cdef list held = [None]
        return [self.result(held[0])] if self.load(row, held) else None
