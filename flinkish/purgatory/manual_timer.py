"""A timer whose clock is moved by hand."""

from __future__ import annotations

from flinkish._core.wheel.timer_tasks import DueTasks
from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import IllegalArgumentError
from flinkish.purgatory.timer import LAST_MS, Timer, TimerStatistics

__all__ = ["ManualTimer"]


class ManualTimer(Timer):
    """Time by hand: for tests, simulations and replays (Kafka: MockTimer).

    ``advance_clock(t)`` moves the clock on by ``t`` and runs what is due then, in the order of
    time, on the calling thread; a task that is due when it is added runs at once, in ``add``.
    There is no other thread.
    """

    def __init__(self, name: str = "manual", tick_ms: int = 1, wheel_size: int = 256) -> None:
        self._nanos = 0
        super().__init__(name, tick_ms, wheel_size, lambda: self._nanos)

    @property
    def now_ms(self) -> int:
        """The time of the clock: milliseconds since it was made."""
        return self._nanos // 1_000_000

    def advance_clock(self, timeout_ms: DurationLike = 0) -> bool:
        """Move the clock on and run what is due; whether that was anything.

        A task may add tasks; those that are due by the same clock run in the same call.
        IllegalArgumentError, and the clock stays, if it would go beyond its end (see `Timer`).
        """
        step = to_millis(timeout_ms, "timeout_ms", minimum=0)
        if step > LAST_MS - self.now_ms:
            raise IllegalArgumentError(
                f"timeout_ms is {step} and the clock of timer {self.name!r} is at {self.now_ms} "
                f"ms: it ends at {LAST_MS} ms (292 years), so advance it by "
                f"{LAST_MS - self.now_ms} at most"
            )
        self._nanos += step * 1_000_000
        any_due = False
        while not self.closed and (due := self._take_due(1024)):
            any_due = True
            self._hand_over(due)
        return any_due

    def close(self) -> None:
        """Take no more tasks; cancel the pending ones."""
        if self._close_adds():
            self._cancel_all()

    def statistics(self) -> TimerStatistics:
        """Counts so far."""
        return self._statistics(0)

    def _wake(self) -> None:
        """An earlier add changes nothing for the code that moves the clock."""

    def _hand_over(self, due: DueTasks) -> bool:
        self._expired += len(due)
        due.run(self._report)
        return True
