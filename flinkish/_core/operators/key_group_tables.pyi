"""Tables of many key groups, by turns in the table of one engine."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from flinkish._core.operators.keyed_process import KeyedProcess
from flinkish._core.state.key_reader import KeyReader
from flinkish._core.state.table import StateTable

@disjoint_base
class OpenTable:
    """The contents of a key group while another one is at hand."""

@disjoint_base
class KeyGroupTables:
    """The tables of key groups, of which one at a time, that at hand, is laid into ``table``."""

    @property
    def table(self) -> StateTable: ...
    @property
    def at_hand(self) -> int: ...
    @property
    def event(self) -> int: ...
    @property
    def processing(self) -> int: ...
    def __init__(self, table: StateTable, *, served: bool) -> None: ...
    def use(self, key_group: int) -> None: ...
    def look(self) -> None: ...
    def due(self, watermark: int, now: int) -> list[int]: ...
    def take_ends(self) -> list[tuple[int, int, int]]: ...
    def process(
        self,
        engine: KeyedProcess,
        values: list[Any],
        keys: KeyReader,
        first: int,
        timestamps: NDArray[np.int64] | None,
        groups: NDArray[np.int32],
        start: int = 0,
    ) -> int: ...
