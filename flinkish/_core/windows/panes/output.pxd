# What windows gave: one row each time that a window fires, and the numbers of late rows.
#
# Process memory that grows until it is taken: the rows of keys, where the windows begin and end,
# and a copy of the accumulators' record.  Statuses are 0 or an errno.

from libc.stdint cimport int64_t, uint32_t

from flinkish._core.memory.segment cimport Segment
from flinkish._core.state.table cimport Ids

cdef struct Fired:
    Segment rows                 # uint32
    Segment begins               # int64
    Segment ends                 # int64
    Segment records
    size_t count
    uint32_t stride
    Ids late                     # numbers of rows that no window took since the last batch began

cdef void fired_init(Fired* fired, uint32_t stride) noexcept nogil
cdef void fired_release(Fired* fired) noexcept nogil

# One more row; its record is the caller's to fill.
cdef int fired_push(Fired* fired, uint32_t row, int64_t begin, int64_t end,
                    char** record) noexcept nogil

cdef inline char* fired_record(Fired* fired, size_t at) noexcept nogil:
    return fired.records.base + at * fired.stride

# Take those from `first` on back whose records have no elements.
cdef void fired_sift(Fired* fired, size_t first) noexcept nogil

# (rows, begins, ends, records) as NumPy arrays: uint32, int64, int64, uint8 of (count, stride).
cdef tuple fired_take(Fired* fired)
