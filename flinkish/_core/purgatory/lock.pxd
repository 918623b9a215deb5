# The lock of a delayed operation: Kafka's re-entrant lock without its deadlocks (Kafka:
# DelayedOperationPurgatory).
#
# Invariants:
#   L1  `owner` is the thread that may run the operation's methods, 0 when nobody does; `depth`
#       counts its nested locks.
#   L2  Waiters are granted the lock in the order in which they came; nobody overtakes one.
#   L3  A thread never waits when that would close a circle of threads that each hold the lock
#       which the one before waits for.  `_waiting` maps each waiting thread to what it waits
#       for; a thread enters itself, or finds the circle, in one step, so the last one to come
#       sees all of it.
#   L4  Who must not wait, or has waited too long (for a holder that is stuck on some other lock
#       no circle can be seen), leaves its request with the holder, which serves it before the
#       lock is free.  So no attempt is lost, and no circle lasts.
#
# Order: an operation's lock comes first, then any critical section (which are leaves).  Locks of
# several operations may be held at once, in any order: L3 sees to it.
#
# Threads: the fields change within the object's critical section, `_waiting` within that of
# `_guard`; as in timer_tasks.pxd no Python code runs in one.  `_may_wait` reads `owner` outside of
# them, atomically: the owners of a circle cannot change, since they all wait.

cimport cython

from flinkish._core.wheel.timer_tasks cimport TimerTask

# A blocked thread.
@cython.final
cdef class Parker:
    cdef void* gate               # a PyThread lock that is held until `wake`
    cdef unsigned long ident
    cdef bint granted             # within the critical section of what it waits for
    cdef int wait(self, long long micros) except -1
    cdef void wake(self) noexcept

cdef enum LockAnswer:
    CIRCLE    # waiting would close a circle of waiting threads
    LATE      # not given, waited for as long as the operation is patient
    HELD      # this thread has the lock

cdef class LockedTask(TimerTask):
    cdef unsigned long owner
    cdef unsigned int depth
    cdef list waiters             # of Parker, or None
    cdef list requests            # callables left with the owner, or None
    cdef int _lock(self) except -1                             # a LockAnswer
    # After CIRCLE or LATE.  True: the owner will call `request`.  False: this thread has the
    # lock after all.
    cdef bint _leave(self, object request, int why) except -1
    cdef int _unlock(self) except -1
    cdef bint _grant(self, unsigned long me) noexcept
    cdef int _await_lock(self, unsigned long me) except -1
    cdef bint _leave_queue(self, Parker parker) noexcept
    # Hooks of the operation.
    cdef long long _patience(self) except -1                   # microseconds
    cdef int _stuck(self, unsigned long owner, int why) except -1
    cdef object _serve(self, object request)                   # an error to raise, or None
