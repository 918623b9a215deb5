"""Contents of windows."""

from collections.abc import Callable, Iterable
from typing import Any

from typing_extensions import disjoint_base

from flinkish._core.state.table import StateTable

@disjoint_base
class WindowContents:
    """What windows keep, in one cell of each window's row; a base class."""

    def __init__(
        self, table: StateTable, cell: int, names: Iterable[str] | None = None
    ) -> None: ...
    def no_contents(self) -> Exception: ...

class ElementContents(WindowContents):
    """All elements of a window."""

@disjoint_base
class FoldedContents(WindowContents):
    """One value that stands for all elements of a window; a base class."""

class ReducedContents(FoldedContents):
    """The elements of a window, reduced to one."""

    def __init__(
        self,
        table: StateTable,
        cell: int,
        names: Iterable[str] | None,
        reduce: Callable[[Any, Any], Any],
    ) -> None: ...

@disjoint_base
class AggregatedContents(FoldedContents):
    """The accumulator of an AggregateFunction over the elements of a window."""

    def __init__(
        self, table: StateTable, cell: int, names: Iterable[str] | None, function: Any
    ) -> None: ...
