"""One window for everything, and windows that count elements."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.type_variables import T
from flinkish.common.typeinfo import Types
from flinkish.state.descriptors import ValueStateDescriptor
from flinkish.windowing.assigner import WindowAssigner
from flinkish.windowing.time_triggers import EndOfStreamTrigger
from flinkish.windowing.trigger import NeverTrigger, PurgingTrigger, Trigger
from flinkish.windowing.value_triggers import CountTrigger
from flinkish.windowing.windows import (
    CountWindow,
    CountWindowSerializer,
    GlobalWindow,
    GlobalWindowSerializer,
)

__all__ = ["CountSlidingWindowAssigner", "CountTumblingWindowAssigner", "GlobalWindows"]


class GlobalWindows(WindowAssigner[T, GlobalWindow]):
    """Everything of a key in one window that never ends (Flink: GlobalWindows)."""

    def __init__(self, default_trigger: Trigger | None = None) -> None:
        self._default_trigger = NeverTrigger() if default_trigger is None else default_trigger

    @staticmethod
    def create() -> GlobalWindows:
        """A window that fires by the trigger it is given; without one it never does."""
        return GlobalWindows()

    @staticmethod
    def create_with_end_of_stream_trigger() -> GlobalWindows:
        """A window that fires once, when the input has ended."""
        return GlobalWindows(EndOfStreamTrigger.create())

    def assign_windows(
        self, element: Any, timestamp: int | None, context: Any
    ) -> Collection[GlobalWindow]:
        """The one window that all elements are in."""
        return [GlobalWindow.get()]

    def get_default_trigger(self, env: Any = None) -> Trigger:
        """The one that never fires, or the one at the end of the stream."""
        return self._default_trigger

    def get_window_serializer(self) -> GlobalWindowSerializer:
        """Of the global window."""
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        """No: nothing is ever late for a window without an end."""
        return False

    def __repr__(self) -> str:
        return "GlobalWindows()"


def _count(value: int, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentTypeError(f"{what} must be an int, not {value!r}")
    if value < 1:
        raise IllegalArgumentError(f"{what} must be at least 1, not {value}")
    return value


class _Counting(WindowAssigner[T, CountWindow]):
    def __init__(self, window_size: int) -> None:
        self.count = _count(window_size, "the size of a count window")
        self._counter = ValueStateDescriptor("window-assigner-count", Types.LONG())

    def _next(self, context: Any) -> int:
        """The number of this element among those of its key."""
        state = context.get_runtime_context().get_state(self._counter)
        number: int = state.value() or 0
        state.update(number + 1)
        return number

    def get_default_trigger(self, env: Any = None) -> Trigger:
        """Fires and empties the window when it is full."""
        return PurgingTrigger.of(CountTrigger.of(self.count))

    def get_window_serializer(self) -> CountWindowSerializer:
        """Of numbered windows."""
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        """False: windows by count know no time."""
        return False


class CountTumblingWindowAssigner(_Counting[T]):
    """Each ``window_size`` elements of a key in a window of their own."""

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner:
        """Windows of ``window_size`` elements."""
        return CountTumblingWindowAssigner(window_size)

    def assign_windows(
        self, element: Any, timestamp: int | None, context: Any
    ) -> Collection[CountWindow]:
        """The window that the next element of the key goes into."""
        return [CountWindow(self._next(context) // self.count)]

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self.count})"


class CountSlidingWindowAssigner(_Counting[T]):
    """A window of ``window_size`` elements begins with every ``window_slide``-th element."""

    def __init__(self, window_size: int, window_slide: int) -> None:
        super().__init__(window_size)
        self.count_slide = _count(window_slide, "the slide of a count window")

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner:
        """Windows of ``window_size`` elements, one every ``window_slide``."""
        return CountSlidingWindowAssigner(window_size, window_slide)

    def assign_windows(
        self, element: Any, timestamp: int | None, context: Any
    ) -> Collection[CountWindow]:
        """The windows that the next element of the key goes into, the latest first."""
        number = self._next(context)
        last = number // self.count_slide
        first = max(0, (number - self.count) // self.count_slide + 1)
        return [CountWindow(at) for at in range(last, first - 1, -1)]

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self.count}, {self.count_slide})"
