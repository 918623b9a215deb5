"""Sessions: windows that end when a key has been silent for a gap."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from typing import Any

from flinkish._core.windows.time_window import TimeWindow
from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import ArgumentTypeError
from flinkish.common.timestamps import MAX_TIMESTAMP
from flinkish.common.type_variables import IN
from flinkish.windowing.assigner import MergingWindowAssigner, event_time_of
from flinkish.windowing.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from flinkish.windowing.trigger import Trigger
from flinkish.windowing.windows import TimeWindowSerializer

__all__ = [
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EventTimeSessionWindows",
    "ProcessingTimeSessionWindows",
    "SessionWindowTimeGapExtractor",
]


class SessionWindowTimeGapExtractor(ABC):
    """Says how long a silence after an element ends its session."""

    @abstractmethod
    def extract(self, element: Any) -> int:
        """The gap after ``element``, in ms: more than 0."""


class _Sessions(MergingWindowAssigner[IN, TimeWindow]):
    def get_window_serializer(self) -> TimeWindowSerializer:
        """Of time windows."""
        return TimeWindowSerializer()

    def merge_windows(
        self, windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback
    ) -> None:
        """Windows that overlap or touch become one (Flink: TimeWindow)."""
        TimeWindow.merge_windows(windows, callback)

    @abstractmethod
    def _gap(self, element: Any) -> int:
        """The gap (ms) after an element."""


class _EventTime(_Sessions[IN]):
    def assign_windows(
        self, element: Any, timestamp: int | None, context: Any
    ) -> Collection[TimeWindow]:
        """The session that ``element`` would begin; TimestampError without event time."""
        start = event_time_of(self, timestamp)
        return [TimeWindow(start, min(start + self._gap(element), MAX_TIMESTAMP))]

    def get_default_trigger(self, env: Any = None) -> Trigger:
        """Fires when the watermark passes the end of the session."""
        return EventTimeTrigger.create()

    def is_event_time(self) -> bool:
        """True: sessions are made by the timestamps of elements."""
        return True


class _ProcessingTime(_Sessions[IN]):
    def assign_windows(
        self, element: Any, timestamp: int | None, context: Any
    ) -> Collection[TimeWindow]:
        """The session that ``element`` would begin now."""
        start = context.get_current_processing_time()
        return [TimeWindow(start, min(start + self._gap(element), MAX_TIMESTAMP))]

    def get_default_trigger(self, env: Any = None) -> Trigger:
        """Fires when the clock passes the end of the session."""
        return ProcessingTimeTrigger.create()

    def is_event_time(self) -> bool:
        """False: sessions are made by the clock."""
        return False


class _Static(_Sessions[IN]):
    gap: int

    def __init__(self, session_gap: DurationLike) -> None:
        self.gap = to_millis(session_gap, "the gap of a session", minimum=1)

    def _gap(self, element: Any) -> int:
        return self.gap

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.gap})"


class _Dynamic(_Sessions[IN]):
    def __init__(
        self,
        session_window_time_gap_extractor: SessionWindowTimeGapExtractor
        | Callable[[Any], DurationLike],
    ) -> None:
        extractor = session_window_time_gap_extractor
        extract = getattr(extractor, "extract", extractor)
        if not callable(extract):
            raise ArgumentTypeError(
                "a dynamic gap comes from a SessionWindowTimeGapExtractor or a function of the "
                f"element, not from {extractor!r}"
            )
        self._extract: Callable[[Any], DurationLike] = extract

    def _gap(self, element: Any) -> int:
        # IllegalArgumentError for a gap of 0 or less (Flink: EventTimeSessionWindows).
        return to_millis(
            self._extract(element), f"the gap of the session of {element!r}", minimum=1
        )


class DynamicEventTimeSessionWindows(_Dynamic[IN], _EventTime[IN]):
    """Sessions by event time whose gap each element says."""

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], DurationLike],
    ) -> DynamicEventTimeSessionWindows:
        """Sessions with the gap that ``extractor`` says for each element."""
        return DynamicEventTimeSessionWindows(extractor)


class DynamicProcessingTimeSessionWindows(_Dynamic[IN], _ProcessingTime[IN]):
    """Sessions by the clock whose gap each element says."""

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], DurationLike],
    ) -> DynamicProcessingTimeSessionWindows:
        """Sessions with the gap that ``extractor`` says for each element."""
        return DynamicProcessingTimeSessionWindows(extractor)


class EventTimeSessionWindows(_Static[IN], _EventTime[IN]):
    """Sessions by event time with a fixed gap."""

    @staticmethod
    def with_gap(size: DurationLike) -> EventTimeSessionWindows:
        """Sessions that end after a silence of ``size``."""
        return EventTimeSessionWindows(size)

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], DurationLike],
    ) -> DynamicEventTimeSessionWindows:
        """Sessions with the gap that ``extractor`` says for each element."""
        return DynamicEventTimeSessionWindows(extractor)


class ProcessingTimeSessionWindows(_Static[IN], _ProcessingTime[IN]):
    """Sessions by the clock with a fixed gap."""

    @staticmethod
    def with_gap(size: DurationLike) -> ProcessingTimeSessionWindows:
        """Sessions that end after a silence of ``size``."""
        return ProcessingTimeSessionWindows(size)

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], DurationLike],
    ) -> DynamicProcessingTimeSessionWindows:
        """Sessions with the gap that ``extractor`` says for each element."""
        return DynamicProcessingTimeSessionWindows(extractor)
