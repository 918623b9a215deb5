"""Columns of packed rows, as the compiled modules take them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.operators.key_columns import key_reader
from flinkish.spark.keyed.plan import EVENT_TIME, KEY

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from flinkish._core.state.key_reader import KeyReader

__all__ = ["element_keys", "element_times"]


def element_keys(rows: pa.RecordBatch, column: str | None) -> KeyReader:
    """The keys of packed rows: a column of theirs or, without one, encoded in one of its own."""
    return key_reader(rows.column(column or KEY), packed=column is None)


def element_times(rows: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """The event times (ms) of packed rows; without one the lowest, which engines know as none."""
    column = rows.column(EVENT_TIME)
    if column.null_count:
        column = pc.fill_null(column, MIN_TIMESTAMP)
    times: npt.NDArray[np.int64] = column.to_numpy()
    return times
