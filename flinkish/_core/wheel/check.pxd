# The invariants of a timing wheel, which are described in wheel.pxd.


# The first broken invariant, or NULL.  O(timers + buckets).
cdef const char* wheel_fault(const Wheel* wheel) noexcept nogil
