"""Rows of a table by keys that it may know already, and the end of rows that hold nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from flinkish._core.state.table import StateTable

def gather_keys(
    table: StateTable, rows: NDArray[np.uint32]
) -> tuple[NDArray[np.uint8], NDArray[np.int32], NDArray[np.uint8]]: ...
def at_row(
    table: StateTable,
    key: object,
    key_group: int,
    namespace: object,
    function: Callable[..., Any],
    *args: Any,
) -> Any: ...
def visit_keys(table: StateTable, cell: int, function: Callable[[Any], object]) -> None: ...
def use_key(table: StateTable, key: Any) -> bool: ...
def find_rows(table: StateTable, keys: list[Any], rows: npt.NDArray[np.uint32]) -> list[int]: ...
def forget_empty_rows(table: StateTable) -> int: ...
def forget_scoped_rows(table: StateTable) -> int: ...
