# Tasks that wait for their time: what `flinkish.purgatory` is built on.
#
# A task is NEW, PENDING, CANCELLED or EXPIRED, and its state alone decides who wins a race of
# cancel, expiry and a further add.  The wheel only stores it:
#
#   - PENDING -> EXPIRED happens once for every add, in `_expire`, and only when the task is due
#     by its present expiration.  An entry of an earlier add may still be on its way to the
#     executor; it finds the task not due, or no longer pending, and is dropped.
#   - PENDING -> CANCELLED happens in `_cancel`; the thread that makes it returns True.
#   - `handle` is the wheel's entry of the present add, or NO_HANDLE: not placed yet, or gone.
#     `_arm` takes the old entry out, `_settle` stores the new one unless the task was
#     cancelled, expired or added again meanwhile; then it takes the new entry out as well.
#
# Threads: the fields of a task change within the task's critical section, those of a timer
# within the timer's.  No Python code runs in one, no object of the garbage collector is made or
# freed (that may collect), none is nested in another, and the wheel is never called from within.
# With a GIL a section costs nothing, for the GIL is held from its beginning to its end; without
# one it is the object's own mutex.

cimport cython
from libc.stdint cimport int8_t, int64_t, uint32_t

from flinkish._core.wheel.timing_wheel cimport TimingWheel

cdef enum TaskState:
    NEW
    PENDING
    CANCELLED
    EXPIRED

cdef class TaskTimer:
    cdef TimingWheel wheel            # its payloads are the tasks
    cdef object clock                 # callable: nanoseconds, never less than before
    cdef int64_t wake_at              # ms: an add that is due earlier wakes the reaper
    cdef bint is_closed               # read without the section, too
    cdef readonly int64_t added
    cdef readonly int64_t cancelled
    cdef int64_t _now(self, bint up) except? -1
    cdef int _add(self, TimerTask task) except -1
    cdef int _place(self, TimerTask task, int64_t expiration) except -1

cdef class TimerTask:
    cdef readonly int64_t delay_ms
    cdef int64_t expiration           # ms of the timer's clock, while PENDING
    cdef int64_t handle               # of the wheel, or NO_HANDLE: -1
    cdef TaskTimer timer              # while PENDING
    cdef uint32_t epoch               # how many times it was added
    cdef int8_t state_code
    cdef uint32_t _arm(self, TaskTimer timer, int64_t expiration) except? 0
    cdef bint _settle(self, uint32_t epoch, int64_t handle) noexcept
    cdef bint _expire(self, int64_t now) except -1
    cdef bint _cancel(self) except -1
    cdef int8_t _read_state(self) noexcept
    cdef int _run(self) except -1     # what its expiry does

# Tasks that were due at `now`, run one by one by however many threads call `run`.
@cython.final
cdef class DueTasks:
    cdef list tasks
    cdef int64_t now
    cdef Py_ssize_t at
