"""Columns of packed rows, as the compiled modules take them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.spark.keyed.plan import EVENT_TIME

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["element_times", "normalized_column", "text_buffers"]


def element_times(rows: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """The event times (ms) of packed rows; without one the lowest, which engines know as none."""
    column = rows.column(EVENT_TIME)
    if column.null_count:
        column = pc.fill_null(column, MIN_TIMESTAMP)
    times: npt.NDArray[np.int64] = column.to_numpy()
    return times


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
