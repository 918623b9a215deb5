# A future that costs a third of a microsecond: what an ask returns.
#
# `concurrent.futures.Future` makes a condition and two lists for each (2.2 us).  Here `state` is the
# word that waiters sleep on, and nothing is made before somebody needs it.
#
# Invariants:
#   F1  `state` leaves PENDING once, in `settle`, within the object's critical section; `value` is
#       set before that and never changes afterwards.  So who sees another state may read `value`.
#   F2  No wake-up is lost.  A waiter counts itself in `waiters` within the section and only while
#       PENDING; `settle` reads the count in the section in which it leaves PENDING.  Either it
#       sees the waiter and wakes it, or the waiter sees the new state, or the kernel does: the
#       comparison of `state` and going to sleep are one step to it.
#   F3  A callback runs once: `settle` takes those that are there, later ones run at once.
#   F4  Waiters are woken before callbacks run, which may take their time.
#   F5  A callback is somebody's code, and may block or raise whatever it likes.  It never runs on a
#       thread that others depend on: one that reads sockets or ends time limits has
#       `runs_no_callbacks` set and hands callbacks to `words.call_elsewhere`, all but those of
#       flinkish itself (`Prompt`), which never block.  What a callback raises goes no further.
#   F6  A thread that runs callbacks says when it waits for a future (`serve_callbacks`), and another
#       one takes its place: the future may be one that the next callback ends.
#
# Waking.  A woken thread wants the GIL.  Within a turn that has more letters to deliver the wake is
# done with the GIL held: the waiter then sleeps on until the turn is over or 5 ms have passed, and
# finds many answers; giving the GIL up at each answer would switch threads once an answer.  When
# nothing else is to do, it is done without.  The I/O thread, which takes in many answers at once and
# calls no endpoint meanwhile, wakes after the last of them (`wakes_later`), without the GIL.
#
# Deadlines: one timing wheel for all asks of a service.  Its payloads are the futures; an answer
# takes its future out again.

from libc.stdint cimport int64_t, uint32_t

from flinkish._core.wheel.timing_wheel cimport TimingWheel

cdef enum FutureState:
    FUTURE_PENDING
    FUTURE_CANCELLED
    FUTURE_DONE
    FUTURE_FAILED      # `value` is the error

cdef class RpcFuture:
    cdef object value
    cdef object callbacks         # None, a callable, or a list of them
    cdef uint32_t state           # FutureState
    cdef uint32_t waiters
    cdef bint started             # cancel() comes too late

    # Whether this call was the one that ended it.
    cdef bint settle(self, uint32_t state, object value) except -1
    # What a subclass does when it has ended, before anybody is woken or called.
    cdef int ended(self) except -1
    # Before a wait, which a subclass may refuse by raising; else `after_wait` follows.
    cdef int before_wait(self) except -1
    cdef int after_wait(self) except -1
    # What a subclass may do in a wait, until the future has ended, `until` (ns of the clock) is over
    # or it has nothing to do.
    cdef int while_waiting(self, int64_t until) except -1
    # From time to time in a wait: the timer thread may be late, or be the one that waits.
    cdef int look_at_time(self) except -1
    cdef int _await(self, object timeout) except -1
    cdef int _await_until(self, int64_t until, object timeout) except -1
    cdef int _call_back(self, object callback) except -1
    cdef int _call_all(self, object callbacks) except -1

cdef class Deadlines:
    cdef TimingWheel wheel
    cdef object arm               # called with a time (ms) at which `expire` is to be called
    cdef int64_t wake_at          # ms; NEVER when `arm` has nothing to do
    cdef readonly int64_t expired
    cdef int start(self, TimedFuture future, int64_t millis) except -1
    cdef int _arm(self, int64_t at) except -1

cdef class TimedFuture(RpcFuture):
    cdef Deadlines deadlines
    cdef int64_t handle           # of the wheel, or NO_HANDLE
    cdef readonly int64_t timeout_ms
    cdef readonly int64_t deadline_ms  # of the clock
    # The error that it fails with when its time is over.
    cdef object late_error(self)

# The wall's functions: see `equip`.
cdef object words()
cdef int64_t monotonic_nanos() except -1
# Between `wakes_later(list)` and `wakes_later(None)` this thread's settles put futures without
# callbacks, whose waiters are to be woken, into the list; `wake_all` does that.
cdef void wakes_later(list into) noexcept
# Between True and False this thread runs no callbacks (F5); they may be nested.
cdef void runs_no_callbacks(bint none) noexcept
cdef int wake_all(list ended) except -1
# More letters wait in the turn that this thread is in.
cdef void turn_has_more(bint more) noexcept
