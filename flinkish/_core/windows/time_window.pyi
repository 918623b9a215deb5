"""Windows of time."""

from collections.abc import Callable, Iterable
from typing import Any

from typing_extensions import disjoint_base

@disjoint_base
class Groups:
    """The MergeCallback that an assigner is given."""

    def merge(self, to_be_merged: Any, merge_result: Any) -> None: ...

@disjoint_base
class MergingWindowSet:
    """Which windows of a key there are, and in which the contents of each are kept."""

    @property
    def windows(self) -> list[Any]: ...
    @property
    def states(self) -> list[Any]: ...
    @property
    def changed(self) -> bool: ...
    def __init__(self, merge_windows: Callable[[list[Any], Any], object] | None = None) -> None: ...
    def add_window(
        self,
        window: Any,
        merge_function: Callable[[Any, list[Any], Any, list[Any]], object] | None = None,
    ) -> Any: ...
    def get_state_window(self, window: Any) -> Any: ...
    def retire_window(self, window: Any) -> None: ...

@disjoint_base
class TimeWindow:
    """The time from `start` to before `end`, in ms since the epoch (Flink: TimeWindow)."""

    @property
    def start(self) -> int:
        """The first ms of the window."""

    @property
    def end(self) -> int:
        """The ms after the last one of the window."""

    def __init__(self, start: int, end: int) -> None: ...
    def max_timestamp(self) -> int:
        """The last millisecond of the window: `end` - 1."""

    def intersects(self, other: TimeWindow) -> bool:
        """Whether the windows overlap, or touch."""

    def cover(self, other: TimeWindow) -> TimeWindow:
        """The smallest window that holds both."""

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """Start (ms) of the window of `window_size` that holds `timestamp`."""

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: Any) -> None:
        """Merge windows that overlap or touch; `callback.merge(merged, result)` for each group.

        Groups of one window are left alone.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __lt__(self, other: TimeWindow, /) -> bool: ...
    def __gt__(self, other: TimeWindow, /) -> bool: ...
    def __le__(self, other: TimeWindow, /) -> bool: ...
    def __ge__(self, other: TimeWindow, /) -> bool: ...
    def __reduce__(self) -> tuple[type[TimeWindow], tuple[int, int]]: ...

def begin_of(window: TimeWindow) -> tuple[int, int]: ...
