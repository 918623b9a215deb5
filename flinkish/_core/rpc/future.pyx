# cython: nonecheck=True
# (A field that no `__init__` has filled holds None, which has no C fields.)
"""Light futures; described in ``rpc/future.pxd``."""

from types import GenericAlias

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from cpython.ref cimport PyObject
from libc.stdint cimport INT64_MAX

from flinkish._core.memory.futex cimport futex_wait, futex_wake, load_word, store_word

cdef extern from *:
    """
    static __thread int flinkish_turn_has_more = 0;
    /* Borrowed from the thread that set it. */
    static __thread PyObject *flinkish_wakes_later = NULL;
    static __thread int flinkish_runs_no_callbacks = 0;
    static __thread int flinkish_serves_callbacks = 0;
    """
    bint flinkish_turn_has_more
    PyObject* flinkish_wakes_later
    int flinkish_runs_no_callbacks
    bint flinkish_serves_callbacks

cdef int64_t NEVER = INT64_MAX
cdef int64_t NO_HANDLE = -1
cdef int64_t NANOS = 1_000_000
cdef int64_t SLICE = 500_000_000      # ns of one wait, so that no signal stays unnoticed longer
cdef int ALL = 0x7FFFFFFF
cdef size_t BURST = 1024              # futures that one look at the wheel takes out

cdef object _words = None
cdef object _clock = None


def equip(words, clock):
    """Give the floor what it cannot have itself: ``words`` makes errors, ``clock`` reads time (ns)."""
    global _words, _clock
    _words = words
    _clock = clock


cdef object words():
    return _words


cdef int64_t monotonic_nanos() except -1:
    return _clock()


cdef void turn_has_more(bint more) noexcept:
    global flinkish_turn_has_more
    flinkish_turn_has_more = more


cdef void wakes_later(list into) noexcept:
    global flinkish_wakes_later
    flinkish_wakes_later = NULL if into is None else <PyObject*>into


cdef void runs_no_callbacks(bint none) noexcept:
    global flinkish_runs_no_callbacks
    flinkish_runs_no_callbacks += 1 if none else -1


def leave_callbacks(bint leave):
    """Let callbacks of what this thread ends run on others; a wait here is a DeadlockError."""
    runs_no_callbacks(leave)


def serve_callbacks(bint serve):
    """``words`` is told when this thread begins to wait for a future, and when it ends to."""
    global flinkish_serves_callbacks
    flinkish_serves_callbacks = serve


def call_back(RpcFuture future not None, callback):
    """Call ``callback(future)``; what it raises is logged."""
    future._call_back(callback)


cdef class Prompt:
    """A callback of flinkish itself, which runs on any thread: it never blocks."""

    cdef object function

    def __init__(self, function):
        self.function = function

    def __call__(self, future):
        self.function(future)


cdef int wake_all(list ended) except -1:
    cdef RpcFuture future
    while ended:
        future = <RpcFuture>ended.pop()
        with nogil:
            futex_wake(&future.state, ALL)
    return 0


cdef class RpcFuture:
    """RpcFuture()\n--\n\nThe result of a call, with the methods of ``concurrent.futures.Future``; awaitable.

    Threading: safe from any thread.  ``add_done_callback`` says where callbacks run.
    """

    @classmethod
    def __class_getitem__(cls, item):
        """``RpcFuture[int]`` in annotations."""
        return GenericAlias(cls, item)

    def __repr__(self):
        cdef uint32_t state = load_word(&self.state)
        if state == FUTURE_PENDING:
            return f"<{type(self).__name__} pending>"
        if state == FUTURE_CANCELLED:
            return f"<{type(self).__name__} cancelled>"
        outcome = "returned" if state == FUTURE_DONE else "raised"
        return f"<{type(self).__name__} {outcome} {type(self.value).__name__}>"

    # --- the end

    cdef bint settle(self, uint32_t state, object value) except -1:
        cdef object callbacks
        cdef uint32_t waiters
        with cython.critical_section(self):
            if self.state != FUTURE_PENDING:
                return False
            self.value = value
            callbacks = self.callbacks
            self.callbacks = None
            store_word(&self.state, state)
            waiters = self.waiters
        self.ended()
        if waiters != 0:
            if flinkish_wakes_later != NULL and callbacks is None:
                (<list>flinkish_wakes_later).append(self)
            elif flinkish_turn_has_more:
                futex_wake(&self.state, ALL)
            else:
                with nogil:
                    futex_wake(&self.state, ALL)
        if callbacks is not None:
            self._call_all(callbacks)
        return True

    cdef int ended(self) except -1:
        return 0

    cdef int before_wait(self) except -1:
        return 0

    cdef int after_wait(self) except -1:
        return 0

    cdef int while_waiting(self, int64_t until) except -1:
        return 0

    cdef int look_at_time(self) except -1:
        return 0

    cdef int _call_all(self, object callbacks) except -1:
        cdef object interrupt = None
        for callback in (<list>callbacks if type(callbacks) is list else [callbacks]):
            try:
                self._call_back(callback)
            except BaseException as error:    # Ctrl-C: the others are called nevertheless
                interrupt = error
        if interrupt is not None:
            raise interrupt
        return 0

    cdef int _call_back(self, object callback) except -1:
        if flinkish_runs_no_callbacks != 0 and type(callback) is not Prompt:
            _words.call_elsewhere(self, callback)
            return 0
        try:
            callback(self)
        except BaseException as error:
            _words.callback_failed(callback, error)
        return 0

    def set_result(self, result):
        """End it with a result; InvalidStateError if it has ended."""
        if not self.settle(FUTURE_DONE, result):
            raise _words.invalid_state(self)

    def set_exception(self, exception):
        """End it with an error; InvalidStateError if it has ended."""
        if isinstance(exception, type):
            exception = exception()
        if not isinstance(exception, BaseException):
            raise TypeError(f"set_exception needs an exception, not {exception!r}")
        if not self.settle(FUTURE_FAILED, exception):
            raise _words.invalid_state(self)

    def set_running_or_notify_cancel(self):
        """For the thread that computes the result: False if it was cancelled, else it cannot be."""
        with cython.critical_section(self):
            if self.state == FUTURE_PENDING:
                self.started = True
                return True
        return False

    def cancel(self):
        """Want no result any more; False if it is there, or its computation has begun.

        A call that is on its way is carried out nevertheless.
        """
        if self.state == FUTURE_PENDING and not self.started:
            self.settle(FUTURE_CANCELLED, None)
        return load_word(&self.state) == FUTURE_CANCELLED

    # --- questions

    def cancelled(self):
        """Whether ``cancel`` ended it."""
        return load_word(&self.state) == FUTURE_CANCELLED

    def running(self):
        """Whether its computation has begun and not ended."""
        return self.started and load_word(&self.state) == FUTURE_PENDING

    def done(self):
        """Whether it has ended."""
        return load_word(&self.state) != FUTURE_PENDING

    def result(self, timeout=None):
        """The value returned, or the error raised.  Waits ``timeout`` seconds at most.

        CancelledError if it was cancelled, TimeoutError if the time is over.
        """
        if load_word(&self.state) == FUTURE_PENDING:
            self._await(timeout)
        if self.state == FUTURE_DONE:
            return self.value
        if self.state == FUTURE_FAILED:
            try:
                raise self.value
            finally:
                self = None       # the traceback would hold it: a cycle
        raise _words.cancelled(self)

    def exception(self, timeout=None):
        """The error it failed with, or None; waits like ``result``."""
        if load_word(&self.state) == FUTURE_PENDING:
            self._await(timeout)
        if self.state == FUTURE_CANCELLED:
            raise _words.cancelled(self)
        return self.value if self.state == FUTURE_FAILED else None

    cdef int _await(self, object timeout) except -1:
        cdef int64_t until = NEVER, nanos
        if timeout is not None:
            nanos = min(max(<int64_t>(min(float(timeout), 9e9) * 1e9), 0), NEVER // 2)
            until = monotonic_nanos() + nanos
        if flinkish_runs_no_callbacks != 0:
            raise _words.never_waits(self)
        if not flinkish_serves_callbacks:
            return self._await_until(until, timeout)
        _words.callback_waits(True)
        try:
            return self._await_until(until, timeout)
        finally:
            _words.callback_waits(False)

    cdef int _await_until(self, int64_t until, object timeout) except -1:
        cdef int64_t nanos = SLICE
        cdef bint waits
        self.before_wait()
        try:
            self.while_waiting(until)
            while True:
                if until != NEVER:
                    nanos = min(max(until - monotonic_nanos(), 0), SLICE)
                with cython.critical_section(self):
                    waits = self.state == FUTURE_PENDING
                    self.waiters += waits
                if not waits:
                    return 0
                with nogil:
                    futex_wait(&self.state, FUTURE_PENDING, nanos)
                with cython.critical_section(self):
                    self.waiters -= 1
                if load_word(&self.state) != FUTURE_PENDING:
                    return 0
                PyErr_CheckSignals()
                self.look_at_time()
                if until != NEVER and monotonic_nanos() >= until:
                    raise _words.wait_timed_out(self, timeout)
        finally:
            self.after_wait()

    def add_done_callback(self, fn):
        """Call ``fn(self)`` when it has ended; what it raises is logged.

        The thread that ends the future does so, or a thread for callbacks (F5), or this one at once.
        """
        cdef list pair = [None, fn]
        cdef bint ended = True
        with cython.critical_section(self):
            if self.state == FUTURE_PENDING:
                ended = False
                if self.callbacks is None:
                    self.callbacks = fn
                elif type(self.callbacks) is list:
                    (<list>self.callbacks).append(fn)
                else:
                    pair[0] = self.callbacks
                    self.callbacks = pair
        if ended:
            self._call_back(fn)

    def __await__(self):
        """Wait for it in the running event loop; cancelling the waiter cancels it."""
        return _words.awaiting(self)


cdef class Deadlines:
    """The time limits of all asks of a service, in one timing wheel.

    ``arm(at_ms)`` sees to it that ``expire`` is called at that time of the clock; a call too
    many does no harm.
    """

    def __init__(self, TimingWheel wheel not None, arm):
        self.wheel = wheel
        self.arm = arm
        self.wake_at = NEVER

    def __len__(self):
        return len(self.wheel)

    cdef int start(self, TimedFuture future, int64_t millis) except -1:
        cdef int64_t now = monotonic_nanos()
        cdef int64_t at = (now + NANOS - 1) // NANOS
        at = NEVER if millis > NEVER - at else at + millis
        future.deadlines = self
        future.timeout_ms = millis
        future.deadline_ms = at
        future.handle = self.wheel.put(at, future)
        if at < self.wake_at:
            self._arm(at)
        return 0

    cdef int _arm(self, int64_t at) except -1:
        cdef bint earlier
        with cython.critical_section(self):
            earlier = at < self.wake_at
            if earlier:
                self.wake_at = at
        if earlier:
            self.arm(at)
        return 0

    def expire(self):
        """Fail the futures whose time is over; how many."""
        cdef int64_t now, at = 0
        cdef Py_ssize_t count = 0
        cdef list due
        cdef TimedFuture future
        with cython.critical_section(self):
            self.wake_at = NEVER
        runs_no_callbacks(True)    # one that blocks would keep other time limits from ending
        try:
            while True:
                now = monotonic_nanos() // NANOS
                due = self.wheel.expire(now, BURST)
                if not due:
                    break
                for future in due:
                    future.handle = NO_HANDLE
                    if load_word(&future.state) == FUTURE_PENDING:
                        error = future.late_error()
                        with cython.critical_section(self):
                            self.expired += 1     # before anybody can see that it has expired
                        count += future.settle(FUTURE_FAILED, error)
        finally:
            runs_no_callbacks(False)
        if self.wheel.next_wake(&at):
            self._arm(at)
        return count

    def abandon(self, error):
        """Fail all that are left, when nobody will answer any more; how many."""
        cdef Py_ssize_t count = 0
        cdef TimedFuture future
        for future in self.wheel.expire(NEVER, <size_t>-1):
            future.handle = NO_HANDLE
            count += future.settle(FUTURE_FAILED, error)
        return count


cdef class TimedFuture(RpcFuture):
    """A future that fails when its time is over."""

    def __cinit__(self):
        self.handle = NO_HANDLE

    cdef int ended(self) except -1:
        if self.handle != NO_HANDLE:
            self.deadlines.wheel.drop(self.handle)
        return 0

    cdef int look_at_time(self) except -1:
        if self.handle != NO_HANDLE and monotonic_nanos() // NANOS > self.deadline_ms:
            self.deadlines.expire()
        return 0

    cdef object late_error(self):
        return _words.task_timed_out(self.timeout_ms)


def start_deadline(TimedFuture future not None, Deadlines deadlines not None, int64_t millis):
    """Let ``future`` fail when ``millis`` are over."""
    deadlines.start(future, millis)
