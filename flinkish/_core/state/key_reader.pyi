"""Columns of keys, and the rows that they have in a table."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from flinkish._core.state.table import StateTable

@disjoint_base
class KeyReader:
    """Keys of one kind, and the rows they have in tables."""

    @property
    def count(self) -> int: ...
    def __new__(
        cls,
        *,
        numbers: NDArray[np.int64] | None = None,
        offsets: NDArray[np.int32] | None = None,
        text: NDArray[np.uint8] | None = None,
        packed: bool = False,
        objects: list[Any] | None = None,
    ) -> KeyReader: ...
    def rows(
        self,
        table: StateTable,
        start: int = 0,
        stop: int | None = None,
        *,
        groups: NDArray[np.int32] | None = None,
    ) -> NDArray[np.uint32]: ...
