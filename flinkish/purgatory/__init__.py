"""Operations that wait for a condition or their time, by the million.

Owns: timer tasks and their timers, delayed operations, the purgatory that watches them by key.
Uses: ``_core`` for wheel, locks and watch lists; ``common``.
Must not: know what an operation does, or Spark; run a task on the thread that keeps the time.
"""

from flinkish.purgatory.delayed_future import DelayedFuture
from flinkish.purgatory.delayed_operation import DelayedOperation
from flinkish.purgatory.manual_timer import ManualTimer
from flinkish.purgatory.purgatory import DelayedOperationPurgatory, PurgatoryStatistics
from flinkish.purgatory.system_timer import SystemTimer
from flinkish.purgatory.timer import Timer, TimerStatistics
from flinkish.purgatory.timer_task import TimerTask, TimerTaskState

__all__ = [
    "DelayedFuture",
    "DelayedOperation",
    "DelayedOperationPurgatory",
    "ManualTimer",
    "PurgatoryStatistics",
    "SystemTimer",
    "Timer",
    "TimerStatistics",
    "TimerTask",
    "TimerTaskState",
]
