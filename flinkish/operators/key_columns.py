"""Rows of keys that come as a column: no Python call a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flinkish._core.state.table import StateTable
from flinkish.common.errors import IllegalArgumentError
from flinkish.operators.base import OperatorEnvironment
from flinkish.time.key_groups import KeyGroupRange, assign_to_key_groups

__all__ = ["intern_column"]


def intern_column(
    table: StateTable,
    keys: Any,
    rows: npt.NDArray[np.uint32],
    environment: OperatorEnvironment,
    key_groups: KeyGroupRange,
) -> list[Any] | None:
    """Write the row of each key of an array to ``rows``; None when that was done.

    A list of the keys when there is no quick way for them.
    """
    is_int = isinstance(keys, np.ndarray) and keys.ndim == 1 and keys.dtype.kind == "i"
    is_text = isinstance(keys, pa.StringArray) and keys.null_count == 0
    if not is_int and not is_text:
        return list(keys.to_pylist()) if isinstance(keys, pa.Array) else _as_list(keys)
    if is_int and environment.key_type is None and len(keys) and keys.min() < 0:
        # Alone, an untyped negative int is hashed by its size, in a column by the column's type.
        return _as_list(keys)
    groups = assign_to_key_groups(keys, environment.max_parallelism, environment.key_type)
    if len(groups) and not (groups.min() in key_groups and groups.max() in key_groups):
        at = next(i for i, group in enumerate(groups.tolist()) if group not in key_groups)
        raise IllegalArgumentError(
            f"the key {keys[at]!r} belongs to key group {groups[at]}, and this subtask has the "
            f"key groups {key_groups}: send the element to the subtask of its key"
        )
    if is_int:
        table.intern_ints(np.ascontiguousarray(keys, np.int64), groups, rows)
        return None
    _, offsets, data = keys.buffers()
    ends = np.frombuffer(offsets, np.int32)[keys.offset : keys.offset + len(keys) + 1]
    table.intern_strings(ends, np.frombuffer(data or b"", np.uint8), groups, rows)
    return None


def _as_list(keys: Any) -> list[Any]:
    return list(keys.tolist()) if isinstance(keys, np.ndarray) else list(keys)
