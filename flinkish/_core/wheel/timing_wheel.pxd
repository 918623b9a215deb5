# The Python face of a timing wheel, and what other modules of the floor call.  The C struct and
# its functions are in wheel.pxd.
#
# Payloads.  Ints of 64 bits are numbers in C memory; everything else sits in `_objects` at the
# timer's index, None where there is no object, so that the garbage collector sees it.
#
# Threads: every method holds `_lock` while it touches `_wheel` or an item of `_objects`.
# - Who finds the lock taken waits for it without the GIL, so a holder may ask for the GIL.
# - Under the lock no Python code can run: nothing is raised, no object of the garbage collector
#   is made (that may collect, and a finalizer may come back to this wheel), and no reference to
#   a payload is given up.
# - `expire` holds the lock twice.  In between its timers are taken: they are still counted, but
#   cancelling them fails.
# Ownership: __cinit__ makes `_wheel`, __dealloc__ releases it.

cimport cython
from libc.stdint cimport int64_t

from flinkish._core.memory.pthreads cimport pthread_mutex_t

include "wheel.pxd"
include "clock.pxd"
include "lists.pxd"
include "check.pxd"
include "arguments.pxd"

# The memory of numbers that went out; a NumPy array keeps it alive.
@cython.final
cdef class WheelBlock:
    cdef int64_t* numbers
    cdef size_t count


@cython.final
cdef class TimingWheel:
    cdef Wheel _wheel
    cdef list _objects
    cdef pthread_mutex_t _lock
    cdef object __weakref__

    # The handle of a new timer: >= 0.
    cdef int64_t put(self, int64_t expiration, object payload) except -1
    cdef int64_t put_number(self, int64_t expiration, int64_t payload) except -1

    # Whether the timer was there and is cancelled now.
    cdef bint drop(self, int64_t handle) except -1

    # The payloads of at most `limit` timers that are due, in order.
    cdef list expire(self, int64_t now, size_t limit)

    # A time by which to advance next, O(1): not after the next expiration.  False if empty.
    cdef bint next_wake(self, int64_t* at) noexcept

    cdef void _enter(self) noexcept
    cdef void _leave(self) noexcept
    cdef int _put_back(self, WheelSlots* due) noexcept
    cdef object _add_each(self, object expirations, object payloads)
