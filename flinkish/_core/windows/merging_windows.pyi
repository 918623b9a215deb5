"""The windows of one key that merge."""

from collections.abc import Callable
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
