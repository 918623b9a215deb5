"""The interface of every timer of this room."""

from __future__ import annotations

import logging
import threading
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import NoReturn, TypeVar

from flinkish._core.wheel import timer_tasks
from flinkish._core.wheel.timing_wheel import TimingWheel
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    IllegalStateError,
    RejectedExecutionError,
)

__all__ = ["Timer", "TimerStatistics"]

log = logging.getLogger("flinkish.purgatory")

T = TypeVar("T", bound="Timer")

LAST_MS = (2**63 - 1) // 1_000_000  # the end of a clock of ns: after 292 years


@dataclass(frozen=True)
class TimerStatistics:
    """Numbers of tasks, since the timer was made except for `pending` and `handed_over`."""

    pending: int  # waiting for their time
    handed_over: int  # due, and waiting for the executor or running
    added: int
    cancelled: int  # each by `cancel`, or by completing an operation
    cancelled_by_close: int
    expired: int  # handed over since the start
    errors: int  # that tasks raised; each was logged


class Timer(timer_tasks.TaskTimer):
    """Runs tasks when their time has come.

    `name` is for logs and threads.  `tick_ms` is how exact it is: a task is never early and, on
    an idle machine, at most a tick late (Kafka: TimingWheel, where it may be early).  `wheel_size`
    is the number of buckets of a level of the wheel.  A task that raises is logged and counted, and
    keeps nothing else from running (Kafka: SystemTimer).  The clock ends after 292 years, 2**63 - 1
    ns; a task with a longer delay stays pending for ever.

    Use it in a ``with`` statement, or `close` it.
    """

    drives_itself = False  # whether a thread of its own moves it

    def __init__(
        self, name: str, tick_ms: int, wheel_size: int, clock_ns: Callable[[], int]
    ) -> None:
        if not isinstance(name, str):
            raise ArgumentTypeError(f"name must be a string, not {name!r}")
        try:
            wheel = TimingWheel(tick_ms, wheel_size, clock_ns() // 1_000_000)
            if tick_ms > LAST_MS:
                raise ValueError(
                    f"tick_ms is {tick_ms}, and a timer's clock ends at {LAST_MS} ms (292 years), "
                    "so that no tick would ever be over"
                )
        except (TypeError, ValueError, OverflowError) as error:
            raise IllegalArgumentError(f"timer {name!r} cannot be made: {error}") from error
        super().__init__(wheel, clock_ns)
        self.name = name
        self._count = threading.RLock()
        self._expired = 0
        self._errors = 0
        self._cancelled_by_close = 0

    @abstractmethod
    def advance_clock(self, timeout_ms: int) -> bool:
        """Expire due tasks; True if there were any."""

    @abstractmethod
    def close(self) -> None:
        """Take no more tasks, cancel and count the pending ones."""

    @abstractmethod
    def statistics(self) -> TimerStatistics:
        """Counts so far."""

    def __enter__(self: T) -> T:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"{self.size()} pending"
        return f"<{type(self).__name__} {self.name!r}: {state}>"

    def _statistics(self, handed_over: int) -> TimerStatistics:
        return TimerStatistics(
            pending=self.size(),
            handed_over=handed_over,
            added=self.added,
            cancelled=self.cancelled - self._cancelled_by_close,
            cancelled_by_close=self._cancelled_by_close,
            expired=self._expired,
            errors=self._errors,
        )

    def _cancel_all(self) -> None:
        cancelled = self._take_all().cancel()
        self._cancelled_by_close += cancelled
        if cancelled:
            log.info("timer %s was closed with %d tasks pending", self.name, cancelled)

    def _add_chore(self, chore: Callable[[], object]) -> None:
        """Let the thread that moves it do `chore` now and then; nothing if there is none."""

    def _remove_chore(self, chore: Callable[[], object]) -> None:
        """Forget about it."""

    # --- what the floor calls

    def _report(self, task: timer_tasks.TimerTask, error: BaseException) -> None:
        with self._count:
            self._errors += 1
        log.error("timer %s: %r raised %r", self.name, task, error, exc_info=error)

    def _rejected(self, task: timer_tasks.TimerTask) -> NoReturn:
        raise RejectedExecutionError(
            f"timer {self.name!r} is closed and takes no {type(task).__name__}: add tasks "
            "before close()"
        )

    def _unset(self, task: timer_tasks.TimerTask) -> NoReturn:
        raise IllegalStateError(
            f"{type(task).__name__} has no delay: its __init__ must call super().__init__(delay_ms)"
        )
