# The inner loop of a window operator whose windows merge, such as sessions.
#
# The windows of a key are in one cell of the key's own row: of windows of time as four 64-bit
# numbers each (window, state window), of others pickled.  State and timers of the trigger are of
# the row of the window as it is now, the contents in the row of its state window.

from libc.stdint cimport int64_t, uint32_t

from flinkish._core.windows.time_window cimport MergingWindowSet


cdef class MergingWindowedProcess(WindowedProcess):
    cdef MergingWindowSet merging
    cdef uint32_t set_cell
    cdef object unsupported         # class of the error for a merge that comes too late

    cdef int load(self, uint32_t key) except -1
    cdef int store(self, uint32_t key) except -1
    cdef uint32_t contents_of(self, uint32_t key, object state_window) except? 0xFFFFFFFF
    cdef int merge(self, uint32_t key, object result, list merged, object state,
                   list others) except -1
