"""Evictors: which elements leave a window when it fires."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.windowing.value_triggers import delta_of

__all__ = ["CountEvictor", "DeltaEvictor", "Evictor", "TimeEvictor", "TimestampedValue"]


class TimestampedValue:
    """An element of a window, and its event time in ms, or None."""

    __slots__ = ("timestamp", "value")

    def __init__(self, value: Any, timestamp: int | None) -> None:
        self.value = value
        self.timestamp = timestamp

    def has_timestamp(self) -> bool:
        """Whether the element has event time."""
        return self.timestamp is not None

    def __repr__(self) -> str:
        return f"TimestampedValue({self.value!r}, {self.timestamp})"


class Evictor(ABC):
    """Removes elements of a window before or after its function runs.

    As in Flink's EvictingWindowOperator.  What it removes from ``elements`` is gone from the window
    for good.
    """

    class EvictorContext(ABC):
        """The questions that an evictor may ask."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The clock, in ms."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """How far event time has come, in ms."""

        @abstractmethod
        def get_metric_group(self) -> Any:
            """Where the operator's metrics live."""

    @abstractmethod
    def evict_before(
        self,
        elements: list[TimestampedValue],
        size: int,
        window: Any,
        ctx: Evictor.EvictorContext,
    ) -> None:
        """Remove from the list ``elements``, of length ``size``, what the function must not see."""

    @abstractmethod
    def evict_after(
        self,
        elements: list[TimestampedValue],
        size: int,
        window: Any,
        ctx: Evictor.EvictorContext,
    ) -> None:
        """Remove from the list ``elements`` what the window must not keep."""


class _OneSided(Evictor):
    """Evicts on one side of the window function."""

    def __init__(self, do_evict_after: bool) -> None:
        self.do_evict_after = do_evict_after

    def evict_before(
        self,
        elements: list[TimestampedValue],
        size: int,
        window: Any,
        ctx: Evictor.EvictorContext,
    ) -> None:
        """Evict, unless that is to be done after the function."""
        if not self.do_evict_after:
            self._evict(elements)

    def evict_after(
        self,
        elements: list[TimestampedValue],
        size: int,
        window: Any,
        ctx: Evictor.EvictorContext,
    ) -> None:
        """Evict, if that is to be done after the function."""
        if self.do_evict_after:
            self._evict(elements)

    @abstractmethod
    def _evict(self, elements: list[TimestampedValue]) -> None:
        """Remove elements from the list."""


class CountEvictor(_OneSided):
    """Keeps the newest ``max_count`` elements."""

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        if isinstance(max_count, bool) or not isinstance(max_count, int):
            raise ArgumentTypeError(f"CountEvictor keeps an int of elements, not {max_count!r}")
        if max_count < 0:
            raise IllegalArgumentError(f"CountEvictor keeps 0 or more elements, not {max_count}")
        self.max_count = max_count

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor:
        """Keep the newest ``max_count``."""
        return CountEvictor(max_count, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        del elements[: max(0, len(elements) - self.max_count)]


class TimeEvictor(_OneSided):
    """Keeps what is less than ``window_size`` older than the newest element.

    Elements without timestamps are all kept.
    """

    def __init__(self, window_size: DurationLike, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self.window_size = to_millis(window_size, "the size of a TimeEvictor", minimum=0)

    @staticmethod
    def of(window_size: DurationLike, do_evict_after: bool = False) -> TimeEvictor:
        """Keep what is less than ``window_size`` older than the newest element."""
        return TimeEvictor(window_size, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        times = [one.timestamp for one in elements if one.timestamp is not None]
        if times:
            cut = max(times) - self.window_size
            elements[:] = [one for one in elements if one.timestamp is None or one.timestamp > cut]


class DeltaEvictor(_OneSided):
    """Keeps the elements that are near the newest."""

    def __init__(self, threshold: float, delta_function: Any, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self.threshold = threshold
        self._delta = delta_of(delta_function, "DeltaEvictor.of")

    @staticmethod
    def of(threshold: float, delta_function: Any, do_evict_after: bool = False) -> DeltaEvictor:
        """Keep what has ``delta_function(element, newest)`` below ``threshold``."""
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        if elements:
            newest = elements[-1].value
            elements[:] = [
                one for one in elements if not self._delta(one.value, newest) >= self.threshold
            ]
