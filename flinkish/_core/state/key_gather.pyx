"""Keys of rows as columns: the reverse of interning."""

cimport cython
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

import numpy as np

from flinkish._core.state.table cimport Row, StateTable, Table, header_of, row_at
from flinkish._core.values.values cimport TAG_EMPTY, bytes_of


@cython.boundscheck(False)  # `offsets` is one longer than `rows`
cdef int64_t measure(Table* table, const uint32_t[::1] rows, int32_t[::1] offsets) noexcept nogil:
    """Write where each key's bytes end; their number in all, or -1 - the place of a bad row."""
    cdef Py_ssize_t at
    cdef int64_t total = 0
    cdef Row* row
    offsets[0] = 0
    for at in range(rows.shape[0]):
        if rows[at] >= header_of(table).rows or row_at(table, rows[at]).tag == TAG_EMPTY:
            return -1 - at
        row = row_at(table, rows[at])
        if bytes_of(row.size, &row.word, &table.slab) == NULL:
            table.damaged = True
            return -1 - at
        total += row.size
        if total > INT32_MAX:
            return total
        offsets[at + 1] = <int32_t>total
    return total


def gather_keys(StateTable table not None, const uint32_t[::1] rows not None):
    """(tags, offsets, data) of the keys of rows.

    Tags are uint8, offsets int32 and one more than there are rows, data uint8: key i is
    data[offsets[i]:offsets[i + 1]], in the form that its tag says.  So int keys are int64 in a
    row, and strings the buffers of an Arrow array.
    """
    cdef Py_ssize_t at, count = rows.shape[0]
    cdef int64_t total
    cdef Row* row
    tags = np.empty(count, np.uint8)
    offsets = np.empty(count + 1, np.int32)
    cdef uint8_t[::1] tags_at = tags
    cdef int32_t[::1] offsets_at = offsets
    cdef uint8_t[::1] data_at
    table.hold()
    try:
        with nogil:
            total = measure(&table.table, rows, offsets_at)
        if total < 0:
            raise ValueError(f"there is no row {rows[-1 - total]}")
        if total > INT32_MAX:
            raise ValueError(f"the keys of {count} rows do not fit 2 GiB; take fewer at a time")
        data_at = data = np.empty(total, np.uint8)
        with nogil, cython.boundscheck(False):  # `measure` has been through the rows
            for at in range(count):
                row = row_at(&table.table, rows[at])
                tags_at[at] = row.tag
                if row.size:
                    memcpy(&data_at[offsets_at[at]],
                           bytes_of(row.size, &row.word, &table.table.slab), row.size)
    finally:
        table.let_go()
    return tags, offsets, data
