# A window of time: [start, end) in ms, both of 64 bits.
#
# The one kind of window that the floor knows: assigners make many of them, and the loop of the
# window operator makes and takes them apart without a call of Python.  Immutable.

from libc.stdint cimport INT64_MAX, int64_t

include "merging_windows.pxd"

cdef class TimeWindow:
    cdef readonly int64_t start     # ms, inclusive
    cdef readonly int64_t end       # ms, exclusive

cdef TimeWindow time_window(int64_t start, int64_t end)

# The last window start at or before `timestamp`; the first of all when that would be beyond 64
# bits.  `size` > 0.
cdef int64_t window_start(int64_t timestamp, int64_t offset, int64_t size) noexcept nogil

# The sum, or the largest number of 64 bits when it would be beyond (Flink: WindowOperator).  `more`
# >= 0.
cdef inline int64_t later(int64_t timestamp, int64_t more) noexcept nogil:
    return timestamp + more if timestamp <= INT64_MAX - more else INT64_MAX
