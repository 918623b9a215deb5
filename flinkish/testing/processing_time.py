"""A clock that tests set."""

from __future__ import annotations

import threading
from concurrent.futures import Future

from flinkish._core.timers.heap import TimerHeap
from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import ArgumentTypeError, IllegalStateError
from flinkish.common.timestamps import MAX_TIMESTAMP, MIN_TIMESTAMP, check_timestamp
from flinkish.time.processing_time_service import (
    ProcessingTimeCallback,
    ProcessingTimeService,
    ScheduledFuture,
)

__all__ = ["TestProcessingTimeService"]


class _Entry:
    __slots__ = ("callback", "future", "number", "period", "timestamp")

    def __init__(self, callback: ProcessingTimeCallback, timestamp: int, period: int) -> None:
        self.callback = callback
        self.timestamp = timestamp
        self.period = period
        self.number = 0
        self.future: ScheduledFuture


class TestProcessingTimeService(ProcessingTimeService):
    """Processing time by hand (Flink: TestProcessingTimeService).

    The clock starts at -2**63 and may be set back.  Setting it runs what is due then, inline
    and in the order of time, each with its own timestamp.  A timer is due when the clock is at
    it: the system's clock has to be past it.  What a callback raises reaches the setter.

    Threading: callbacks run on the thread that sets the clock, which is one at a time; any thread
    may register and cancel, such as that of a task under test.
    """

    __test__ = False  # not a test, whatever pytest thinks of the name

    def __init__(self) -> None:
        self._now = MIN_TIMESTAMP
        self._lock = threading.RLock()  # heap and entries change together; no callback runs in it
        self._heap = TimerHeap()
        self._entries: dict[int, _Entry] = {}
        self._numbers = 0
        self._quiesced = False
        self._terminated = False

    # --- the clock

    def get_current_processing_time(self) -> int:
        """The time that the clock was set to."""
        return self._now

    def set_current_time(self, timestamp: int) -> None:
        """Set the clock (ms) and run what is due."""
        self._now = check_timestamp(timestamp, "processing time")
        while not self._quiesced and (entry := self._take_due()) is not None:
            self._run(entry)

    def advance(self, delta: DurationLike) -> None:
        """Set the clock on by ``delta`` and run what is due."""
        self.set_current_time(self._now + to_millis(delta, "delta"))

    def advance_clock_without_firing_timers(self, delta: DurationLike) -> None:
        """Set the clock on by ``delta`` alone, as if the thread of the timers were busy."""
        self._now = check_timestamp(self._now + to_millis(delta, "delta"), "processing time")

    def _take_due(self) -> _Entry | None:
        with self._lock:
            head = self._heap.peek()
            if head is None or head[0] > self._now:
                return None
            self._heap.poll()
            return self._entries.pop(head[1])

    def _run(self, entry: _Entry) -> None:
        if entry.period == 0:
            if not entry.future.set_running_or_notify_cancel():
                return  # another thread has cancelled it just now
            try:
                entry.callback(entry.timestamp)
            finally:
                entry.future.set_result(None)
            return
        due = entry.timestamp
        entry.timestamp = min(due + entry.period, MAX_TIMESTAMP)
        self._enqueue(entry)  # before the call, which may cancel it
        entry.callback(due)

    # --- registration

    def register_timer(self, timestamp: int, callback: ProcessingTimeCallback) -> ScheduledFuture:
        """Call ``callback(timestamp)`` when the clock is next set to ``timestamp`` or later."""
        return self._register(_Entry(callback, check_timestamp(timestamp), 0))

    def schedule_at_fixed_rate(
        self, callback: ProcessingTimeCallback, initial_delay: DurationLike, period: DurationLike
    ) -> ScheduledFuture:
        """Call back at ``initial_delay`` from now, and again every ``period``."""
        first = self._now + to_millis(initial_delay, "initial_delay", minimum=0)
        return self._register(_Entry(callback, first, to_millis(period, "period", minimum=1)))

    def schedule_with_fixed_delay(
        self, callback: ProcessingTimeCallback, initial_delay: DurationLike, period: DurationLike
    ) -> ScheduledFuture:
        """The same as at a fixed rate: calls take no time here."""
        return self.schedule_at_fixed_rate(callback, initial_delay, period)

    def _register(self, entry: _Entry) -> ScheduledFuture:
        if self._terminated:
            raise IllegalStateError("the processing-time service is shut down: register before")
        if not callable(entry.callback):
            raise ArgumentTypeError(
                f"a callback must be a function of a timestamp, not {entry.callback!r}"
            )
        if self._quiesced:
            return ScheduledFuture()
        entry.future = ScheduledFuture(lambda: self._remove(entry))
        self._enqueue(entry)
        return entry.future

    def _enqueue(self, entry: _Entry) -> None:
        with self._lock:
            self._numbers += 1
            entry.number = self._numbers
            self._entries[entry.number] = entry
            self._heap.add(entry.timestamp, entry.number)

    def _remove(self, entry: _Entry) -> bool:
        with self._lock:
            if self._entries.pop(entry.number, None) is None:
                return False
            self._heap.remove(entry.timestamp, entry.number)
            return True

    # --- what is pending

    @property
    def num_active_timers(self) -> int:
        """Callbacks that wait for their time."""
        return len(self._entries)

    @property
    def active_timer_timestamps(self) -> list[int]:
        """Their times, ascending."""
        with self._lock:
            return sorted(entry.timestamp for entry in self._entries.values())

    # --- the end

    def quiesce(self) -> Future[None]:
        """Run nothing more; new callbacks are accepted and never run."""
        self._quiesced = True
        for entry in list(self._entries.values()):
            entry.future.cancel()
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def shutdown(self) -> None:
        """Run and accept nothing more."""
        self.quiesce()
        self._terminated = True

    def shutdown_and_await(self, timeout: DurationLike) -> bool:
        """Shut down; nothing can be running."""
        to_millis(timeout, "timeout", minimum=0)
        self.shutdown()
        return True

    def is_terminated(self) -> bool:
        """Whether the service is shut down."""
        return self._terminated
