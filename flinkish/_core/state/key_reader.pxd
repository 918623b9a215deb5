# Columns of keys, and the rows that they have in a table.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from flinkish._core.state.table cimport KeyColumn, StateTable


cdef class KeyReader:
    cdef KeyColumn column               # of all keys; its memory belongs to the views below
    cdef const int64_t[::1] numbers
    cdef const int32_t[::1] offsets
    cdef const uint8_t[::1] text
    cdef list objects                   # keys of other types; then there is no column
    cdef readonly Py_ssize_t count

    # Write the rows of some keys, new ones too.  `groups` are their key groups; None for a table of
    # one.
    cdef int read(self, StateTable table, Py_ssize_t start, Py_ssize_t stop,
                  const int32_t[::1] groups, uint32_t[::1] rows) except -1
