# The mutex of the system, for types that threads share while the GIL is released.  (A lock of one
# atomic instruction each way was measured beside it: no faster.)

cdef extern from "<pthread.h>" nogil:
    ctypedef struct pthread_mutex_t:
        pass
    ctypedef struct pthread_mutexattr_t:
        pass
    int pthread_mutex_init(pthread_mutex_t* mutex, const pthread_mutexattr_t* attributes)
    int pthread_mutex_destroy(pthread_mutex_t* mutex)
    int pthread_mutex_lock(pthread_mutex_t* mutex)
    int pthread_mutex_trylock(pthread_mutex_t* mutex)
    int pthread_mutex_unlock(pthread_mutex_t* mutex)


cdef inline void mutex_enter(pthread_mutex_t* mutex) noexcept:
    """Lock with the GIL held; who must wait, since a batch may hold it for long, does without."""
    if pthread_mutex_trylock(mutex) != 0:
        with nogil:
            pthread_mutex_lock(mutex)
