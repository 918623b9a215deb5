"""Windows whose places on the time line are fixed: tumbling, sliding, cumulative."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from typing import Any, TypeVar

from flinkish._core.windows.time_window import TimeWindow
from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import IllegalArgumentError
from flinkish.common.timestamps import MAX_TIMESTAMP, MIN_TIMESTAMP
from flinkish.common.type_variables import IN
from flinkish.windowing.assigner import WindowAssigner, event_time_of
from flinkish.windowing.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from flinkish.windowing.trigger import Trigger
from flinkish.windowing.windows import TimeWindowSerializer

__all__ = [
    "MOST_WINDOWS",
    "CumulativeEventTimeWindows",
    "CumulativeProcessingTimeWindows",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
]

MOST_WINDOWS = 10_000_000
"""Windows that one element may belong to (Flink: TimeWindow)."""

T = TypeVar("T", bound="_Tumbling")
S = TypeVar("S", bound="_Sliding")
C = TypeVar("C", bound="_Cumulative")


def _window(start: int, end: int) -> TimeWindow:
    """A window, cut where 64 bits end."""
    return TimeWindow(max(start, MIN_TIMESTAMP), min(end, MAX_TIMESTAMP))


class _Aligned(WindowAssigner[IN, TimeWindow]):
    """Windows that start at multiples of a length, moved by an offset."""

    def get_window_serializer(self) -> TimeWindowSerializer:
        """Of time windows."""
        return TimeWindowSerializer()

    @abstractmethod
    def _windows_at(self, timestamp: int) -> list[TimeWindow]:
        """The windows that hold a time."""


class _EventTime(_Aligned[IN]):
    def assign_windows(
        self, element: Any, timestamp: int | None, context: Any
    ) -> Collection[TimeWindow]:
        """The windows that hold ``timestamp``; TimestampError without one."""
        return self._windows_at(event_time_of(self, timestamp))

    def get_default_trigger(self, env: Any = None) -> Trigger:
        """Fires when the watermark passes the end of the window."""
        return EventTimeTrigger.create()

    def is_event_time(self) -> bool:
        """True: windows are cut by the timestamps of elements."""
        return True


class _ProcessingTime(_Aligned[IN]):
    def assign_windows(
        self, element: Any, timestamp: int | None, context: Any
    ) -> Collection[TimeWindow]:
        """The windows that hold the current processing time."""
        return self._windows_at(context.get_current_processing_time())

    def get_default_trigger(self, env: Any = None) -> Trigger:
        """Fires when the clock passes the end of the window."""
        return ProcessingTimeTrigger.create()

    def is_event_time(self) -> bool:
        """False: windows are cut by the clock."""
        return False


class _Tumbling(_Aligned[IN]):
    size: int
    slide: int
    offset: int

    def __init__(self, size: DurationLike, offset: DurationLike = 0) -> None:
        self.size = self.slide = to_millis(size, "the size of a tumbling window", minimum=1)
        self.offset = to_millis(offset, "the offset of a tumbling window")
        if abs(self.offset) >= self.size:
            raise IllegalArgumentError(
                f"the offset of a tumbling window must be less than its size of {self.size} ms, "
                f"not {self.offset} ms"
            )

    @classmethod
    def of(cls: type[T], size: DurationLike, offset: DurationLike | None = None) -> T:
        """Windows of ``size``, starting ``offset`` after multiples of it (UTC)."""
        return cls(size, 0 if offset is None else offset)

    def _windows_at(self, timestamp: int) -> list[TimeWindow]:
        start = timestamp - (timestamp - self.offset) % self.size
        return [_window(start, start + self.size)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.offset})"


class TumblingEventTimeWindows(_Tumbling[IN], _EventTime[IN]):
    """Each element in one window of a fixed size, by event time."""


class TumblingProcessingTimeWindows(_Tumbling[IN], _ProcessingTime[IN]):
    """Each element in one window of a fixed size, by the clock."""


class _Sliding(_Aligned[IN]):
    size: int
    slide: int
    offset: int

    def __init__(self, size: DurationLike, slide: DurationLike, offset: DurationLike = 0) -> None:
        self.size = to_millis(size, "the size of a sliding window", minimum=1)
        self.slide = to_millis(slide, "the slide of a sliding window", minimum=1)
        self.offset = to_millis(offset, "the offset of a sliding window")
        if abs(self.offset) >= self.slide:
            raise IllegalArgumentError(
                f"the offset of a sliding window must be less than its slide of {self.slide} ms, "
                f"not {self.offset} ms"
            )
        _check_count(self.size, self.slide, "slide")

    @classmethod
    def of(
        cls: type[S], size: DurationLike, slide: DurationLike, offset: DurationLike | None = None
    ) -> S:
        """Windows of ``size``, one starting every ``slide``, moved by ``offset``."""
        return cls(size, slide, 0 if offset is None else offset)

    def _windows_at(self, timestamp: int) -> list[TimeWindow]:
        # From the latest start downward (Flink: SlidingEventTimeWindows).
        last = timestamp - (timestamp - self.offset) % self.slide
        starts = range(last, timestamp - self.size, -self.slide)
        return [_window(start, start + self.size) for start in starts]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.slide}, {self.offset})"


class SlidingEventTimeWindows(_Sliding[IN], _EventTime[IN]):
    """Each element in the size/slide windows that overlap it, by event time."""


class SlidingProcessingTimeWindows(_Sliding[IN], _ProcessingTime[IN]):
    """Each element in the size/slide windows that overlap it, by the clock."""


class _Cumulative(_Aligned[IN]):
    size: int
    step: int
    offset: int

    def __init__(
        self, max_size: DurationLike, step: DurationLike, offset: DurationLike = 0
    ) -> None:
        self.size = to_millis(max_size, "the size of a cumulative window", minimum=1)
        self.step = to_millis(step, "the step of a cumulative window", minimum=1)
        self.offset = to_millis(offset, "the offset of a cumulative window")
        if self.size % self.step:
            raise IllegalArgumentError(
                f"the size of a cumulative window must be a multiple of its step, and {self.size} "
                f"ms is none of {self.step} ms"
            )
        if abs(self.offset) >= self.size:
            raise IllegalArgumentError(
                f"the offset of a cumulative window must be less than its size of {self.size} ms, "
                f"not {self.offset} ms"
            )
        _check_count(self.size, self.step, "step")

    @classmethod
    def of(
        cls: type[C], max_size: DurationLike, step: DurationLike, offset: DurationLike | None = None
    ) -> C:
        """Windows that start every ``max_size`` and grow by ``step`` up to it."""
        return cls(max_size, step, 0 if offset is None else offset)

    def _windows_at(self, timestamp: int) -> list[TimeWindow]:
        start = timestamp - (timestamp - self.offset) % self.size
        first = start + ((timestamp - start) // self.step + 1) * self.step
        ends = range(first, start + self.size + 1, self.step)
        return [_window(start, end) for end in ends]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.step}, {self.offset})"


class CumulativeEventTimeWindows(_Cumulative[IN], _EventTime[IN]):
    """Windows of one start and growing ends, as SQL's CUMULATE, by event time."""


class CumulativeProcessingTimeWindows(_Cumulative[IN], _ProcessingTime[IN]):
    """Windows of one start and growing ends, by the clock."""


def _check_count(size: int, part: int, what: str) -> None:
    if size // part > MOST_WINDOWS:
        raise IllegalArgumentError(
            f"each element would be in {size // part} windows: {size} ms in {what}s of {part} ms; "
            f"at most {MOST_WINDOWS} are allowed, so make the size smaller or the {what} larger"
        )
