"""The clock of the machine, and callbacks at its times."""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum

from flinkish._core.wheel.timing_wheel import TimingWheel
from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import ArgumentTypeError, IllegalStateError
from flinkish.common.forks import AFTER_FORK, call_in_children
from flinkish.common.futures import complete, shared_future
from flinkish.common.timestamps import MAX_TIMESTAMP, check_timestamp
from flinkish.time.scheduled_future import ScheduledFuture

__all__ = [
    "ProcessingTimeCallback",
    "ProcessingTimeService",
    "ScheduledFuture",
    "SystemProcessingTimeService",
    "delay_until",
]

ProcessingTimeCallback = Callable[[int], object]
"""Called with the timestamp (ms) that it was registered for."""

_LOG = logging.getLogger(__name__)
_NANOS = 1_000_000
_BUCKETS = 512


class ProcessingTimeService(ABC):
    """Tells the time and calls back.  All times are int milliseconds since the epoch.

    Life cycle: alive, then quiesced (registrations are accepted and never run), then shut down
    (registrations are an IllegalStateError).  Both ends drop what is pending (Flink:
    SystemProcessingTimeService).
    """

    @abstractmethod
    def get_current_processing_time(self) -> int:
        """The time of its clock, in ms since the epoch."""

    @abstractmethod
    def register_timer(self, timestamp: int, callback: ProcessingTimeCallback) -> ScheduledFuture:
        """Call ``callback(timestamp)`` when the clock has passed ``timestamp``."""

    @abstractmethod
    def schedule_at_fixed_rate(
        self, callback: ProcessingTimeCallback, initial_delay: DurationLike, period: DurationLike
    ) -> ScheduledFuture:
        """Call back at ``initial_delay`` from now and every ``period`` after that time.

        The callback gets the time it was meant for.
        """

    @abstractmethod
    def schedule_with_fixed_delay(
        self, callback: ProcessingTimeCallback, initial_delay: DurationLike, period: DurationLike
    ) -> ScheduledFuture:
        """Call back at ``initial_delay`` from now and ``period`` after the end of each call."""

    @abstractmethod
    def quiesce(self) -> Future[None]:
        """Run nothing more; done when what runs has ended."""

    @abstractmethod
    def shutdown(self) -> None:
        """Run nothing more and accept nothing more; does not wait."""

    @abstractmethod
    def shutdown_and_await(self, timeout: DurationLike) -> bool:
        """Shut down and wait; False if a callback still runs after ``timeout``."""


def delay_until(timestamp: int, now: int) -> int:
    """Milliseconds to wait for a timer: the clock must have passed it.

    As in Flink's ProcessingTimeServiceUtil.  The one millisecond more keeps a timer for the end of
    an interval out of the interval.
    """
    return timestamp - now + 1 if timestamp >= now else 0


class _State(Enum):
    ALIVE = "alive"
    QUIESCED = "quiesced"
    SHUT_DOWN = "shut down"


class _Task:
    """A callback in the queue: ``deadline`` is on the monotonic clock, in ns.

    ``handle`` is of the wheel, or None while the callback is not in it.
    """

    __slots__ = (
        *("callback", "deadline", "fixed_rate", "future", "handle", "period", "service"),
        "timestamp",
    )

    def __init__(
        self,
        service: SystemProcessingTimeService,
        callback: ProcessingTimeCallback,
        timestamp: int,
        period: int,
        fixed_rate: bool,
    ) -> None:
        self.service = service
        self.callback = callback
        self.timestamp = timestamp
        self.period = period
        self.fixed_rate = fixed_rate
        self.deadline = 0
        self.handle: int | None = None
        self.future: ScheduledFuture

    def dequeue(self) -> bool:
        return self.service._remove(self)


@dataclass(frozen=True)
class ProcessingTimeStatistics:
    """Counts of a service since it was made; ``pending`` is of now.

    ``registered`` counts a periodic callback once, ``called`` each of its calls; ``dropped``
    were pending when the service was quiesced or shut down.
    """

    pending: int
    registered: int
    called: int
    failed: int
    cancelled: int
    dropped: int


def _system_time() -> int:
    return time.time_ns() // _NANOS


class SystemProcessingTimeService(ProcessingTimeService):
    """The system's clock, and one thread that runs callbacks one after another.

    ``exception_handler`` gets what a callback raises; the service goes on, and a periodic
    callback stays scheduled (Flink: SystemProcessingTimeService).  ``clock`` gives milliseconds
    since the epoch.

    Threading: safe from any thread, callbacks included; callbacks run on the service's thread,
    which is a daemon and starts with the first registration.  A running callback is never
    interrupted, unlike Flink's: Python cannot.

    Delays are counted on the monotonic clock from the moment of registration, as Flink's are,
    so a clock that is set does not move what is pending.  What is due in the same millisecond of
    it is called in the order of registration.

    Complexity: O(1) to register and to cancel, on one timing wheel for all.
    """

    def __init__(
        self,
        exception_handler: Callable[[BaseException], object],
        *,
        name: str = "flinkish-timer",
        clock: Callable[[], int] = _system_time,
    ) -> None:
        if not callable(exception_handler):
            raise ArgumentTypeError(
                "exception_handler must be a function of the exception that a callback raised, "
                f"not {exception_handler!r}"
            )
        self._handler = exception_handler
        self._name = name
        self._clock = clock
        self._changed = threading.Condition()
        self._wheel = TimingWheel(1, _BUCKETS, time.monotonic_ns() // _NANOS)
        self._wake_at = MAX_TIMESTAMP  # ms on the monotonic clock, until which the thread sleeps
        self._registered = self._called = self._failed = self._cancelled = self._dropped = 0
        self._state = _State.ALIVE
        self._thread: threading.Thread | None = None
        self._running = False
        self._quiesced: Future[None] = shared_future()
        self._in_child = False
        call_in_children(self)

    def get_current_processing_time(self) -> int:
        """The system's time in ms since the epoch."""
        return self._clock()

    @property
    def pending(self) -> int:
        """Callbacks in the queue."""
        return len(self._wheel)

    def statistics(self) -> ProcessingTimeStatistics:
        """Counts of the work that was done."""
        with self._changed:
            return ProcessingTimeStatistics(
                len(self._wheel),
                self._registered,
                self._called,
                self._failed,
                self._cancelled,
                self._dropped,
            )

    def is_terminated(self) -> bool:
        """Whether the service is shut down."""
        return self._state is _State.SHUT_DOWN

    # --- registration

    def register_timer(self, timestamp: int, callback: ProcessingTimeCallback) -> ScheduledFuture:
        """Call ``callback(timestamp)`` one millisecond after ``timestamp``, at once if past."""
        timestamp = check_timestamp(timestamp)
        delay = delay_until(timestamp, self._clock())
        return self._schedule(_Task(self, callback, timestamp, 0, False), delay)

    def schedule_at_fixed_rate(
        self, callback: ProcessingTimeCallback, initial_delay: DurationLike, period: DurationLike
    ) -> ScheduledFuture:
        """Call back at ``initial_delay`` from now and every ``period`` after that time.

        Calls that are late follow each other without a pause.
        """
        return self._schedule_periodic(callback, initial_delay, period, fixed_rate=True)

    def schedule_with_fixed_delay(
        self, callback: ProcessingTimeCallback, initial_delay: DurationLike, period: DurationLike
    ) -> ScheduledFuture:
        """Call back at ``initial_delay`` from now and ``period`` after the end of each call.

        The callback gets the time at which its call was planned.
        """
        return self._schedule_periodic(callback, initial_delay, period, fixed_rate=False)

    def _schedule_periodic(
        self,
        callback: ProcessingTimeCallback,
        initial_delay: DurationLike,
        period: DurationLike,
        *,
        fixed_rate: bool,
    ) -> ScheduledFuture:
        delay = to_millis(initial_delay, "initial_delay", minimum=0)
        step = to_millis(period, "period", minimum=1)
        return self._schedule(_Task(self, callback, self._clock() + delay, step, fixed_rate), delay)

    def _schedule(self, task: _Task, delay: int) -> ScheduledFuture:
        if not callable(task.callback):
            raise ArgumentTypeError(
                f"a callback must be a function of a timestamp, not {task.callback!r}"
            )
        with self._changed:
            if self._state is _State.SHUT_DOWN:
                ended = AFTER_FORK if self._in_child else "is shut down and takes no more callbacks"
                raise IllegalStateError(f"the timer service {self._name!r} {ended}")
            task.future = future = ScheduledFuture(task.dequeue)
            if self._state is _State.QUIESCED:
                return ScheduledFuture()
            task.deadline = min(time.monotonic_ns() + delay * _NANOS, MAX_TIMESTAMP)
            self._registered += 1
            self._enqueue(task)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        return future

    def _enqueue(self, task: _Task) -> None:
        at = -(-task.deadline // _NANOS)
        task.handle = self._wheel.add(at, task)
        if at < self._wake_at:
            self._wake_at = at
            self._changed.notify_all()

    def _remove(self, task: _Task) -> bool:
        with self._changed:
            queued = task.handle is not None and self._wheel.cancel(task.handle)
            self._cancelled += queued
            if queued:
                del task.future  # which refers to the task: no work for the garbage collector
        return queued

    # --- the thread

    def _run(self) -> None:
        while (task := self._next()) is not None:
            future = task.future
            if task.period == 0:
                del task.future
                if future.set_running_or_notify_cancel():
                    self._call(task)
                    future.set_result(None)
            else:
                if not future.cancelled():  # since it was taken out of the wheel
                    self._call(task)
                self._again(task)
            del task, future  # not for as long as the thread sleeps

    def _next(self) -> _Task | None:
        """The next task when it is due; None at the end."""
        with self._changed:
            self._running = False
            while self._state is _State.ALIVE:
                now = time.monotonic_ns()
                due: list[_Task] = self._wheel.advance(now // _NANOS, 1)
                if due:
                    self._running = True
                    self._called += 1
                    self._wake_at = 0  # nobody need wake a thread that is awake
                    return due[0]
                bucket = self._wheel.next_bucket
                self._wake_at = MAX_TIMESTAMP if bucket is None else bucket
                seconds = None if bucket is None else (bucket * _NANOS - now) / 1e9
                self._changed.wait(None if seconds is None else min(seconds, threading.TIMEOUT_MAX))
        self._finish_quiescing()
        return None

    def _call(self, task: _Task) -> None:
        try:
            task.callback(task.timestamp)
        except BaseException as error:
            self._failed += 1
            try:
                self._handler(error)
            except BaseException:
                _LOG.exception("the exception handler of the timer service %r raised", self._name)

    def _again(self, task: _Task) -> None:
        with self._changed:
            if self._state is not _State.ALIVE or task.future.cancelled():
                task.future.cancel()
                task.future.notify_cancel()
                return
            if task.fixed_rate:
                task.timestamp += task.period
                task.deadline += task.period * _NANOS
            else:
                task.timestamp = self._clock() + task.period
                task.deadline = time.monotonic_ns() + task.period * _NANOS
            self._enqueue(task)

    # --- the end

    def quiesce(self) -> Future[None]:
        """Run nothing more; the future is done when what runs has ended.

        It may be called again and gives the same future.
        """
        self._end(_State.QUIESCED)
        return self._quiesced

    def shutdown(self) -> None:
        """Run and accept nothing more, without waiting; it may be called again."""
        self._end(_State.SHUT_DOWN)

    def shutdown_and_await(self, timeout: DurationLike) -> bool:
        """Shut down and wait; False if a callback still runs after ``timeout``.

        False at once when a callback calls it, since that cannot wait for itself.
        """
        seconds = to_millis(timeout, "timeout", minimum=0) / 1000
        self.shutdown()
        thread = self._thread
        if thread is None:
            return True
        if thread is threading.current_thread():
            return False
        thread.join(seconds)
        return not thread.is_alive()

    def _end(self, state: _State) -> None:
        with self._changed:
            if self._state is not _State.SHUT_DOWN:
                self._state = state
            dropped: list[_Task] = self._wheel.advance(MAX_TIMESTAMP)
            self._dropped += len(dropped)
            idle = not self._running
            self._changed.notify_all()
        for task in dropped:
            task.future.cancel()
            task.future.notify_cancel()
        if idle:
            self._finish_quiescing()

    def _forked(self) -> None:
        """In a forked child: refuse callbacks, unless no thread was started for them yet."""
        self._changed = threading.Condition()
        if self._thread is not None:
            self._thread, self._in_child = None, True
            self._state = _State.SHUT_DOWN
            self._wheel = TimingWheel(1, _BUCKETS, 0)  # the lock of the other may be held for ever
            self._finish_quiescing()

    def _finish_quiescing(self) -> None:
        complete(self._quiesced, None)
