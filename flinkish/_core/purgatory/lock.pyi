"""The lock of a delayed operation."""

from typing import final

from typing_extensions import disjoint_base

from flinkish._core.wheel.timer_tasks import TimerTask

@final
class Parker:
    """One thread's place in the queue."""

@disjoint_base
class LockedTask(TimerTask):
    """A timer task with a re-entrant, fair lock that is part of no deadlock."""

    @property
    def _waiters(self) -> int: ...
