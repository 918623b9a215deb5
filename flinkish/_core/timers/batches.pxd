# Many timers at once: the same results as one by one, with the memory fetched ahead.
#
# Input columns are the caller's.  Output columns are one block that the caller releases with
# timer_columns_release; a failed call leaves `out` empty and the timers as they were.

from libc.stdint cimport int64_t, uint32_t


# `count` rows.  A NULL column stands for its constant in every row.
cdef struct TimerBatch:
    size_t count
    const int64_t* timestamps
    const uint32_t* keys
    const uint32_t* namespaces   # or NULL: `ns`
    const uint32_t* groups       # or NULL: `group`
    uint32_t ns
    uint32_t group
    uint32_t first_group         # what local group 0 is called in `groups` and `group`

cdef struct TimerColumns:
    size_t count
    int64_t* timestamps          # start of the block
    uint32_t* keys
    uint32_t* namespaces

# Number of timers added or removed, or -errno.  -EINVAL: a group is out of range.  Without
# memory for all, those before have been added.
cdef int64_t timers_add_many(Timers* timers, const TimerBatch* batch) noexcept nogil
cdef int64_t timers_remove_many(Timers* timers, const TimerBatch* batch) noexcept nogil

# Take out the timers of timestamp <= `timestamp`, at most the `limit` earliest.  0 or -errno.
cdef int timers_poll_due(Timers* timers, int64_t timestamp, size_t limit,
                         TimerColumns* out) noexcept nogil

# The timers of one group in firing order; `take` removes them.  0 or -errno.
cdef int timers_of_group(Timers* timers, uint32_t group, bint take,
                         TimerColumns* out) noexcept nogil

cdef void timer_columns_release(TimerColumns* columns) noexcept nogil
