"""The tasks that a timer runs."""

from __future__ import annotations

from enum import Enum

from flinkish._core.wheel import timer_tasks
from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import IllegalArgumentError, UnsupportedOperationError

__all__ = ["TimerTask", "TimerTaskState"]

_LONGEST = 2**63 - 1


class TimerTaskState(Enum):
    """Where a task is in its life; in Kafka all but PENDING look alike (Kafka: TimerTaskList)."""

    NEW = 0
    PENDING = 1
    CANCELLED = 2
    EXPIRED = 3


class TimerTask(timer_tasks.TimerTask):
    """Something to run after a delay: subclass it, override :meth:`run`, add it to a timer.

    ``delay_ms`` is an int of milliseconds or any other duration.  Zero or less is due at once
    (Kafka: SystemTimer); more than 64 bits of milliseconds are an IllegalArgumentError.

    Life cycle: NEW, PENDING once added, then CANCELLED or EXPIRED; adding it again makes it
    PENDING anew and, if it was pending, moves it (Kafka: TimerTaskList).  A task runs once for each
    time that it became PENDING and was not cancelled or moved.

    Threading: any method from any thread.  Either ``cancel`` returns True or the task runs.
    """

    __slots__ = ()

    def run(self) -> None:
        """The action after the delay; called on the timer's executor."""
        raise UnsupportedOperationError(
            f"{type(self).__name__} has no run method: override TimerTask.run"
        )

    @property
    def state(self) -> TimerTaskState:
        """Where it is in its life."""
        return TimerTaskState(self._state)

    def _read_delay(self, delay: DurationLike) -> int:
        millis = to_millis(delay, "delay_ms")
        if not -_LONGEST <= millis <= _LONGEST:
            raise IllegalArgumentError(
                f"delay_ms is {millis}, and a delay has at most 64 bits of milliseconds "
                f"({_LONGEST}): use that for never"
            )
        return millis
