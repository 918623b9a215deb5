# The Python face of timers over a range of key groups.  The C struct and its functions are in
# timers.pxd (one timer), timers/batches.pxd (many) and timers/log.pxd (changes and replay).
#
# Threads: every method holds `lock` while it touches `timers`.  Batch methods wait for it and
# work without the GIL, so nothing is raised between lock and unlock there.
# Ownership: __cinit__ makes `timers`, __dealloc__ releases them.

cimport cython
from libc.stdint cimport int64_t, uint32_t

from flinkish._core.memory.pthreads cimport pthread_mutex_t
from flinkish._core.timers.timers cimport Timer, TimerBatch, TimerColumns, Timers

# The memory of columns that went out; NumPy arrays keep it alive.
@cython.final
cdef class TimerBlock:
    cdef TimerColumns columns
    cdef tuple _arrays(self)


@cython.final
cdef class TimerHeap:
    cdef Timers timers
    cdef uint32_t first          # first key group
    cdef uint32_t last           # last key group, included
    cdef pthread_mutex_t lock

    cdef void _enter(self) noexcept
    cdef void _leave(self) noexcept
    cdef int _parse(self, Timer* timer, object timestamp, object key, object namespace,
                    object key_group) except -1
    cdef int64_t _local(self, int64_t key_group) except -1
    cdef object _batch(self, bint add, object timestamps, object keys, object namespaces,
                       object key_groups)
    cdef int _blame(self, const TimerBatch* batch) except -1
    cdef object _of_group(self, object key_group, bint take)
