# cython: nonecheck=True
# (A field that no `__init__` has filled holds None, which has no C fields.)
"""Timers of an event loop: one wheel for all of them."""

cimport cython
from libc.math cimport ceil, floor
from libc.stdint cimport INT64_MAX, INT64_MIN, int64_t

from contextvars import Context

from flinkish._core.wheel.timing_wheel cimport TimingWheel

cdef extern from "Python.h":
    object PyContext_CopyCurrent()

cdef double FARTHEST = 9.2e15  # seconds; ms of more than that do not fit int64


@cython.final
@cython.freelist(256)
cdef class WheelHandle:
    """A callback that is to be called; made by ``call_later`` and ``call_at``."""

    def cancel(self):
        """Do not call it, and let go of it and its arguments now."""
        if self.callback is None:
            return
        self.callback = self.arguments = self.context = None
        if self.handle >= 0:
            self.owner.wheel.drop(self.handle)
            self.owner.cancelled += 1

    def cancelled(self):
        """Whether it was cancelled."""
        return self.callback is None

    def when(self):
        """The time for which it was asked, in seconds on the loop's clock."""
        return self.seconds

    def __repr__(self):
        state = "cancelled" if self.callback is None else f"{self.callback!r}"
        return f"<WheelHandle when={self.seconds} {state}>"


cdef class LoopTimers:
    """The timers; a subclass has ``_wake()``, called when `next_time` is earlier than was armed.

    And ``_refuse()``, which raises if ``in_child`` is true.
    """

    def __init__(self, clock):
        self.clock = clock
        self.wake_at = INT64_MAX
        self.wheel = TimingWheel(1, 512, self._now())

    def __len__(self):
        return len(self.wheel)

    def call_later(self, double delay, callback, *args, context=None):
        """Call ``callback(*args)`` in ``delay`` seconds, on the loop; see `call_at`."""
        return self._schedule(<double>self.clock() + delay, callback, args, context)

    def call_at(self, double when, callback, *args, context=None):
        """Call ``callback(*args)`` at ``when`` on the loop's clock; a `WheelHandle` to cancel it.

        Never early and about a millisecond late at most, if the loop is not busy.  The calls of
        one millisecond come in the order in which they were asked for.  It runs in ``context``,
        by default a copy of the caller's.
        """
        return self._schedule(when, callback, args, context)

    def next_time(self):
        """A time by which to call `fire`, in seconds, or None."""
        cdef int64_t at
        return at / 1000.0 if self.wheel.next_wake(&at) else None

    def armed(self, seconds):
        """`fire` will be called at ``seconds``, or not at all: call ``_wake`` for less only."""
        self.wake_at = INT64_MAX if seconds is None else _millis(seconds)

    def fire(self, size_t limit):
        """Call at most ``limit`` callbacks that are due.

        ``_failed(error, handle)`` gets what they raise, except what ends the program: that is
        raised here, and the callbacks after it are due again.
        """
        cdef list due = self.wheel.expire(self._now(), limit)
        cdef WheelHandle handle
        cdef Py_ssize_t done = 0
        for handle in due:
            handle.handle = -1
        try:
            for handle in due:
                done += 1
                if handle.callback is None:
                    self.cancelled += 1
                    continue
                self.fired += 1
                try:
                    if handle.arguments:
                        handle.context.run(handle.callback, *handle.arguments)
                    else:
                        handle.context.run(handle.callback)
                except (SystemExit, KeyboardInterrupt):
                    raise
                except BaseException as error:
                    self._failed(error, handle)
        finally:
            for handle in due[done:]:
                handle.handle = self.wheel.put(INT64_MIN, handle)

    cdef int64_t _now(self) except? -1:
        return <int64_t>floor(<double>self.clock() * 1000)

    cdef WheelHandle _schedule(self, double when, object callback, tuple arguments,
                               object context):
        cdef WheelHandle handle
        cdef int64_t at = _millis(when)
        if self.in_child:
            self._refuse()
        if not callable(callback):
            raise TypeError(f"a callback must be callable, not {callback!r}")
        if context is None:
            context = PyContext_CopyCurrent()
        elif not isinstance(context, Context):
            raise TypeError(f"context must be a contextvars.Context, not {context!r}")
        handle = WheelHandle.__new__(WheelHandle)
        handle.owner = self
        handle.callback = callback
        handle.arguments = arguments
        handle.context = context
        handle.seconds = when
        handle.handle = self.wheel.put(at, handle)
        self.scheduled += 1
        if at < self.wake_at:
            self.wake_at = at
            self._wake()
        return handle


cdef int64_t _millis(double seconds) except? -1:
    """The first millisecond at or after a time; a time beyond all is never."""
    if seconds != seconds:
        raise ValueError("the time is NaN: seconds on the loop's clock are needed")
    if seconds > FARTHEST:
        return INT64_MAX
    if seconds < -FARTHEST:
        return INT64_MIN
    return <int64_t>ceil(seconds * 1000)
