"""The vectorised window operator's engines: batches of rows in, fired windows out."""

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from flinkish._core.state.table import StateTable

KINDS: Final[dict[str, int]]

@disjoint_base
class AccumulatorLayout:
    """The layout of the records of one operator."""

    @property
    def steps(self) -> tuple[tuple[str, int, bool, bool], ...]: ...
    @property
    def stride(self) -> int: ...
    @property
    def offsets(self) -> tuple[int, ...]: ...
    def __init__(self, steps: Iterable[tuple[str, int, bool, bool]]) -> None: ...

@disjoint_base
class WordColumns:
    """Columns of a batch."""

    def __init__(
        self, rows: int, columns: list[tuple[NDArray[np.uint64], NDArray[np.uint8] | None, int]]
    ) -> None: ...

@disjoint_base
class PaneCombiner:
    """Makes one record of all elements that a key has in a pane."""

    def __new__(
        cls,
        layout: AccumulatorLayout,
        *,
        size: int,
        unit: int,
        offset: int = 0,
        cycle: int = 0,
    ) -> PaneCombiner: ...
    def combine(
        self, keys: NDArray[np.uint32], times: NDArray[np.int64], columns: WordColumns
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint8]]: ...

@disjoint_base
class WindowEngine:
    """One window operator's state in a cell of a table."""

    @property
    def processed(self) -> int: ...
    @property
    def dropped(self) -> int: ...
    @property
    def fired_timers(self) -> int: ...
    @property
    def waiting(self) -> int: ...
    def process(
        self, rows: NDArray[np.uint32], times: NDArray[np.int64], columns: WordColumns
    ) -> NDArray[np.uint32]: ...
    def advance_watermark(self, watermark: int) -> None: ...
    def take(
        self,
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]: ...
    def next_event_timer(self) -> int | None: ...

@disjoint_base
class PaneWindows(WindowEngine):
    """Tumbling, sliding and cumulative windows."""

    def __new__(
        cls,
        table: StateTable,
        cell: int,
        layout: AccumulatorLayout,
        *,
        size: int,
        unit: int,
        offset: int = 0,
        cycle: int = 0,
        lateness: int = 0,
    ) -> PaneWindows: ...
    def merge(
        self, rows: NDArray[np.uint32], begins: NDArray[np.int64], records: NDArray[np.uint8]
    ) -> NDArray[np.uint32]: ...

@disjoint_base
class SessionWindows(WindowEngine):
    """Sessions with a fixed gap."""

    def __new__(
        cls,
        table: StateTable,
        cell: int,
        layout: AccumulatorLayout,
        *,
        gap: int,
        lateness: int = 0,
    ) -> SessionWindows: ...
