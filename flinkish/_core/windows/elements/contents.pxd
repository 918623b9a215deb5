# What windows keep of their elements: all of them, or what was made of them so far.
#
# The contents of a window are in one cell of its row, so they commit with everything else.
# Elements are entries of a chain in order of arrival, each with its event time as the entry's
# time; a reduced value or an accumulator is the cell's value.

from libc.stdint cimport int64_t, uint32_t

from flinkish._core.state.table cimport StateTable
from flinkish._core.values.values cimport Encoded


cdef class WindowContents:
    cdef StateTable table
    cdef uint32_t cell
    cdef WindowValues values

    # Add an element; `time` is its event time in ms, the lowest without one.
    cdef int add(self, uint32_t row, object value, int64_t time) except -1
    # What the window function gets: a list, or None when there is nothing (Flink: WindowOperator).
    cdef object get(self, uint32_t row)
    cdef int clear(self, uint32_t row) except -1
    # Move the contents of other rows (a list of ints) into those of a row.
    cdef int merge(self, uint32_t row, list others) except -1

    # The bytes of a value; the object that owns them.
    cdef object encode(self, object value, Encoded* out)


cdef class ElementContents(WindowContents):
    # What `get` gives; the event time of each, or None, is appended to `times`, unless that is None.
    cdef list elements(self, uint32_t row, list times)
    # Keep these (value, event time or None) instead.
    cdef int replace(self, uint32_t row, list elements) except -1


cdef class FoldedContents(WindowContents):
    cdef object unite               # of two kept values one

    cdef bint load(self, uint32_t row, list value) except -1
    cdef int store(self, uint32_t row, object value) except -1


cdef class ReducedContents(FoldedContents):
    pass


cdef class AggregatedContents(FoldedContents):
    cdef object create
    cdef object absorb
    cdef object result
