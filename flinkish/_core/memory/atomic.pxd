# Single values that one thread reads while another writes them.  What was written before `store_…`
# is seen after a `load_…` that sees it.

cdef extern from *:
    """
    #define flinkish_load_acquire(place) __atomic_load_n((place), __ATOMIC_ACQUIRE)
    #define flinkish_store_release(place, value) __atomic_store_n((place), (value), __ATOMIC_RELEASE)
    """
    bint load_flag "flinkish_load_acquire" (bint* place) noexcept nogil
    void store_flag "flinkish_store_release" (bint* place, bint value) noexcept nogil
    unsigned long load_thread "flinkish_load_acquire" (unsigned long* place) noexcept nogil
    void store_thread "flinkish_store_release" (
        unsigned long* place, unsigned long value) noexcept nogil
