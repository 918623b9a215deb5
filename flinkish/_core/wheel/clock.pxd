# The clock of a timing wheel: what is due comes out, in the order of time.

from libc.stdint cimport int64_t, uint32_t, uint64_t


# Indexes that were taken out, in the order of time.
cdef struct WheelSlots:
    uint32_t* index
    size_t count
    size_t room

# The time of a tick; int64 is not left.
cdef int64_t wheel_time(const Wheel* wheel, uint64_t tick) noexcept nogil

# Move the clock and take out what is due, at most `limit`; the clock stays where it stopped.
# Short of memory it takes fewer, and it is an error only if that is none.
cdef int wheel_collect(Wheel* wheel, int64_t now, size_t limit, WheelSlots* due) noexcept nogil

# Free what was taken, copying the payloads first if `payloads` is not NULL; or put it back.
cdef void wheel_free(Wheel* wheel, const WheelSlots* due, int64_t* payloads) noexcept nogil
cdef void wheel_put_back(Wheel* wheel, const WheelSlots* due) noexcept nogil

# When the next timer comes out, and a time not after that which needs no search; False if none.
cdef bint wheel_next_expiration(const Wheel* wheel, int64_t* at) noexcept nogil
cdef bint wheel_next_bucket(const Wheel* wheel, int64_t* at) noexcept nogil
