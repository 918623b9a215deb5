"""Batches of Arrow columns as records, and event times as epoch milliseconds."""

from collections.abc import Iterable, Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt
import pyarrow

from flinkish._core.values.row import Row

@final
class RecordReader:
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def num_rows(self) -> int: ...
    def __init__(
        self,
        source: pyarrow.RecordBatch | Sequence[pyarrow.Array[Any]],
        names: Iterable[str] | None = None,
    ) -> None: ...
    def __len__(self) -> int: ...
    def values(self, column: int | str, start: int = 0, stop: int | None = None) -> list[Any]: ...
    def rows(self, start: int = 0, stop: int | None = None) -> list[Row]: ...
    def tuples(self, start: int = 0, stop: int | None = None) -> list[tuple[Any, ...]]: ...

def timestamps_ms(
    column: pyarrow.Array[Any], *, null_value: int | None = None
) -> npt.NDArray[np.int64]: ...
