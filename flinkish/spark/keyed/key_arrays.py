"""Columns of keys in the form that the hash and the state table take."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["normalized_column", "text_buffers"]


def normalized_column(column: pa.Array) -> pa.Array:
    """A column of keys with 0.0 for -0.0; see `flinkish.common.keys`."""
    if not pa.types.is_floating(column.type):
        return column
    # -0.0 + 0.0 is 0.0, and nothing else changes.
    return pc.add(column, pa.scalar(0.0, column.type))


def text_buffers(column: pa.Array, kind: pa.DataType) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and bytes of an array of text or binary without nulls."""
    if column.type != kind:
        column = column.cast(kind)
    _, offsets, data = column.buffers()
    view = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    return view, np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8)
