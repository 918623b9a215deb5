"""Records of the panes of a batch, without a table."""

from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy, memset

import numpy as np

from flinkish._core.memory.segment cimport segment_raise
from flinkish._core.memory.one_thread cimport in_use, this_thread


cdef class PaneCombiner:
    """Makes one record of all elements that a key has in a pane; `PaneWindows.merge` takes them.

    Parameters as of `PaneWindows`, without lateness: an element is decided on by its pane.
    """

    def __cinit__(self, AccumulatorLayout layout not None, *, size, unit, offset=0, cycle=0):
        groups_init(&self.groups, layout.layout.stride)
        read_shape(&self.shape, size, unit, offset, cycle, 0)
        self.layout = layout

    def __dealloc__(self):
        groups_release(&self.groups)

    def combine(self, const uint32_t[::1] keys not None, const int64_t[::1] times not None,
                WordColumns columns not None):
        """(firsts, begins, records) of the panes of a batch, in order of first arrival.

        ``keys`` are numbers of keys, ``times`` ms.  ``firsts`` are the numbers of the first row
        of each pane (uint32), ``begins`` when it begins (int64), ``records`` uint8 of (panes,
        stride).  Elements are numbered from 1.
        """
        cdef Py_ssize_t count = columns.rows
        cdef const uint32_t* keys_at
        cdef const int64_t* times_at
        cdef int status
        if keys.shape[0] != count or times.shape[0] != count:
            raise ValueError(f"{count} elements need as many keys and times")
        check_elements(self.layout, times, columns)
        if count == 0:
            return (np.empty(0, np.uint32), np.empty(0, np.int64),
                    np.empty((0, self.layout.layout.stride), np.uint8))
        keys_at, times_at = &keys[0], &times[0]
        if self.holder:
            raise RuntimeError(in_use("a combiner of panes", self.holder))
        self.holder = this_thread()
        try:
            with nogil:
                status = combine_rows(self, keys_at, times_at, columns)
            segment_raise(status)
            return self.found()
        finally:
            self.holder = 0

    cdef tuple found(self):
        cdef Py_ssize_t count = self.groups.count - 1, at
        cdef uint32_t stride = self.groups.stride
        cdef GroupName* name
        firsts = np.empty(count, np.uint32)
        begins = np.empty(count, np.int64)
        records = np.empty((count, stride), np.uint8)
        cdef uint32_t[::1] firsts_at = firsts
        cdef int64_t[::1] begins_at = begins
        cdef unsigned char[:, ::1] records_at = records
        for at in range(count):
            name = group_name(&self.groups, <uint32_t>at + 1)
            firsts_at[at] = name.first
            begins_at[at] = pane_begin(&self.shape, name.pane)
        memcpy(&records_at[0, 0], group_record(&self.groups, 1), <size_t>count * stride)
        return firsts, begins, records


cdef int combine_rows(PaneCombiner self, const uint32_t* keys, const int64_t* times,
                      WordColumns columns) noexcept nogil:
    cdef int64_t[BLOCK] panes
    cdef char[BLOCK] skip
    cdef uint32_t[BLOCK] groups
    cdef Py_ssize_t start = 0
    cdef uint32_t count, i
    cdef int status = groups_begin(&self.groups)
    memset(skip, 0, BLOCK)
    while start < columns.rows and status == 0:
        count = <uint32_t>min(columns.rows - start, <Py_ssize_t>BLOCK)
        for i in range(count):
            panes[i] = pane_of(&self.shape, times[start + i])
        status = groups_find(&self.groups, keys + start, panes, skip, count, <uint32_t>start,
                             groups)
        if status == 0:
            records_add(&self.layout.layout, self.groups.records.base, groups, columns.columns,
                        start, count, 1 + start)
        start += count
    return status
