"""Rows of a table by keys that it may know already, and the end of rows that hold nothing."""

from typing import Any

import numpy as np
import numpy.typing as npt

from flinkish._core.state_table import StateTable

def use_key(table: StateTable, key: Any) -> bool: ...
def find_rows(table: StateTable, keys: list[Any], rows: npt.NDArray[np.uint32]) -> list[int]: ...
def forget_empty_rows(table: StateTable) -> int: ...
