"""Time: whose timers fire when, and which subtask owns which keys.

Owns: key-group arithmetic, processing-time services, timer services of operators, timeouts of
asyncio programs.
Uses: ``_core`` for hashes, timers, the timing wheel and rows; ``common``; ``metrics``.
Must not: know operators, user functions or Spark.
"""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
    from flinkish.time.domain import TimeDomain
    from flinkish.time.internal_timer_service import (
        InternalTimer,
        InternalTimerService,
        InternalTimeServiceManager,
        Triggerable,
    )
    from flinkish.time.key_groups import (
        KeyGroupRange,
        assign_to_key_group,
        assign_to_key_groups,
        compute_key_group_range_for_operator_index,
        compute_operator_index_for_key_group,
        default_max_parallelism,
    )
    from flinkish.time.namespaces import PLAIN_NAMESPACE, VOID_NAMESPACE, NamespaceSerializer
    from flinkish.time.operator_time_service import OperatorProcessingTimeService
    from flinkish.time.processing_time_service import (
        ProcessingTimeService,
        ScheduledFuture,
        SystemProcessingTimeService,
    )
    from flinkish.time.timer_service import TimerService
    from flinkish.time.wheel_timer import WheelTimeout, WheelTimer
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.time.domain": ("TimeDomain",),
            "flinkish.time.internal_timer_service": (
                "InternalTimer",
                "InternalTimerService",
                "InternalTimeServiceManager",
                "Triggerable",
            ),
            "flinkish.time.key_groups": (
                "KeyGroupRange",
                "assign_to_key_group",
                "assign_to_key_groups",
                "compute_key_group_range_for_operator_index",
                "compute_operator_index_for_key_group",
                "default_max_parallelism",
            ),
            "flinkish.time.namespaces": (
                "PLAIN_NAMESPACE",
                "VOID_NAMESPACE",
                "NamespaceSerializer",
            ),
            "flinkish.time.operator_time_service": ("OperatorProcessingTimeService",),
            "flinkish.time.processing_time_service": (
                "ProcessingTimeService",
                "ScheduledFuture",
                "SystemProcessingTimeService",
            ),
            "flinkish.time.timer_service": ("TimerService",),
            "flinkish.time.wheel_timer": ("WheelTimeout", "WheelTimer"),
        },
    )

__all__ = [
    "PLAIN_NAMESPACE",
    "VOID_NAMESPACE",
    "InternalTimeServiceManager",
    "InternalTimer",
    "InternalTimerService",
    "KeyGroupRange",
    "NamespaceSerializer",
    "OperatorProcessingTimeService",
    "ProcessingTimeService",
    "ScheduledFuture",
    "SystemProcessingTimeService",
    "TimeDomain",
    "TimerService",
    "Triggerable",
    "WheelTimeout",
    "WheelTimer",
    "assign_to_key_group",
    "assign_to_key_groups",
    "compute_key_group_range_for_operator_index",
    "compute_operator_index_for_key_group",
    "default_max_parallelism",
]
