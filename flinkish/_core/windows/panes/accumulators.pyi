"""Accumulators of built-in aggregates."""

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

KINDS: Final[dict[str, int]]

@disjoint_base
class AccumulatorLayout:
    """What the records of one operator hold."""

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
