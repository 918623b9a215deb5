"""Windows: which elements they have, when they fire, what they keep.

Owns: window assigners, triggers, evictors, windows and their serializers.
Uses: ``_core``, ``common``, ``metrics``, ``state``, ``time``.
Must not: hold windows' contents or run functions; operators do.
"""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
    from flinkish.windowing.assigner import MergingWindowAssigner, WindowAssigner
    from flinkish.windowing.early_late import AfterEndOfWindow, EventTimeTriggers
    from flinkish.windowing.evictors import (
        CountEvictor,
        DeltaEvictor,
        Evictor,
        TimeEvictor,
        TimestampedValue,
    )
    from flinkish.windowing.other_windows import (
        CountSlidingWindowAssigner,
        CountTumblingWindowAssigner,
        GlobalWindows,
    )
    from flinkish.windowing.session_windows import (
        DynamicEventTimeSessionWindows,
        DynamicProcessingTimeSessionWindows,
        EventTimeSessionWindows,
        ProcessingTimeSessionWindows,
        SessionWindowTimeGapExtractor,
    )
    from flinkish.windowing.time_triggers import (
        ContinuousEventTimeTrigger,
        ContinuousProcessingTimeTrigger,
        EndOfStreamTrigger,
        EventTimeTrigger,
        ProcessingTimeTrigger,
    )
    from flinkish.windowing.time_windows import (
        CumulativeEventTimeWindows,
        CumulativeProcessingTimeWindows,
        SlidingEventTimeWindows,
        SlidingProcessingTimeWindows,
        TumblingEventTimeWindows,
        TumblingProcessingTimeWindows,
    )
    from flinkish.windowing.trigger import NeverTrigger, PurgingTrigger, Trigger, TriggerResult
    from flinkish.windowing.value_triggers import (
        CountTrigger,
        DeltaTrigger,
        ProcessingTimeoutTrigger,
    )
    from flinkish.windowing.windows import (
        CountWindow,
        CountWindowSerializer,
        GlobalWindow,
        GlobalWindowSerializer,
        TimeWindow,
        TimeWindowSerializer,
        TypeSerializer,
        Window,
    )
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.windowing.assigner": ("MergingWindowAssigner", "WindowAssigner"),
            "flinkish.windowing.early_late": ("AfterEndOfWindow", "EventTimeTriggers"),
            "flinkish.windowing.evictors": (
                "CountEvictor",
                "DeltaEvictor",
                "Evictor",
                "TimeEvictor",
                "TimestampedValue",
            ),
            "flinkish.windowing.other_windows": (
                "CountSlidingWindowAssigner",
                "CountTumblingWindowAssigner",
                "GlobalWindows",
            ),
            "flinkish.windowing.session_windows": (
                "DynamicEventTimeSessionWindows",
                "DynamicProcessingTimeSessionWindows",
                "EventTimeSessionWindows",
                "ProcessingTimeSessionWindows",
                "SessionWindowTimeGapExtractor",
            ),
            "flinkish.windowing.time_triggers": (
                "ContinuousEventTimeTrigger",
                "ContinuousProcessingTimeTrigger",
                "EndOfStreamTrigger",
                "EventTimeTrigger",
                "ProcessingTimeTrigger",
            ),
            "flinkish.windowing.time_windows": (
                "CumulativeEventTimeWindows",
                "CumulativeProcessingTimeWindows",
                "SlidingEventTimeWindows",
                "SlidingProcessingTimeWindows",
                "TumblingEventTimeWindows",
                "TumblingProcessingTimeWindows",
            ),
            "flinkish.windowing.trigger": (
                "NeverTrigger",
                "PurgingTrigger",
                "Trigger",
                "TriggerResult",
            ),
            "flinkish.windowing.value_triggers": (
                "CountTrigger",
                "DeltaTrigger",
                "ProcessingTimeoutTrigger",
            ),
            "flinkish.windowing.windows": (
                "CountWindow",
                "CountWindowSerializer",
                "GlobalWindow",
                "GlobalWindowSerializer",
                "TimeWindow",
                "TimeWindowSerializer",
                "TypeSerializer",
                "Window",
            ),
        },
    )

__all__ = [
    "AfterEndOfWindow",
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "CountEvictor",
    "CountSlidingWindowAssigner",
    "CountTrigger",
    "CountTumblingWindowAssigner",
    "CountWindow",
    "CountWindowSerializer",
    "CumulativeEventTimeWindows",
    "CumulativeProcessingTimeWindows",
    "DeltaEvictor",
    "DeltaTrigger",
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EndOfStreamTrigger",
    "EventTimeSessionWindows",
    "EventTimeTrigger",
    "EventTimeTriggers",
    "Evictor",
    "GlobalWindow",
    "GlobalWindowSerializer",
    "GlobalWindows",
    "MergingWindowAssigner",
    "NeverTrigger",
    "ProcessingTimeSessionWindows",
    "ProcessingTimeTrigger",
    "ProcessingTimeoutTrigger",
    "PurgingTrigger",
    "SessionWindowTimeGapExtractor",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TimeEvictor",
    "TimeWindow",
    "TimeWindowSerializer",
    "TimestampedValue",
    "Trigger",
    "TriggerResult",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
    "TypeSerializer",
    "Window",
    "WindowAssigner",
]
