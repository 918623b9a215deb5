"""Operations that wait for a condition or their time, by the million.

Owns: timer tasks and their timers, delayed operations, the purgatory that watches them by key.
Uses: ``_core`` for wheel, locks and watch lists; ``common``.
Must not: know what an operation does, or Spark; run a task on the thread that keeps the time.
"""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
    from flinkish.purgatory.delayed_answer import DelayedAnswer
    from flinkish.purgatory.delayed_future import DelayedFuture
    from flinkish.purgatory.delayed_operation import DelayedOperation
    from flinkish.purgatory.manual_timer import ManualTimer
    from flinkish.purgatory.purgatory import DelayedOperationPurgatory, PurgatoryStatistics
    from flinkish.purgatory.system_timer import SystemTimer
    from flinkish.purgatory.timer import Timer, TimerStatistics
    from flinkish.purgatory.timer_task import TimerTask, TimerTaskState
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.purgatory.delayed_answer": ("DelayedAnswer",),
            "flinkish.purgatory.delayed_future": ("DelayedFuture",),
            "flinkish.purgatory.delayed_operation": ("DelayedOperation",),
            "flinkish.purgatory.manual_timer": ("ManualTimer",),
            "flinkish.purgatory.purgatory": ("DelayedOperationPurgatory", "PurgatoryStatistics"),
            "flinkish.purgatory.system_timer": ("SystemTimer",),
            "flinkish.purgatory.timer": ("Timer", "TimerStatistics"),
            "flinkish.purgatory.timer_task": ("TimerTask", "TimerTaskState"),
        },
    )

__all__ = [
    "DelayedAnswer",
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
