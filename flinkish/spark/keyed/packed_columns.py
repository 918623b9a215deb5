"""Columns of packed rows, as the compiled modules take them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.spark.keyed.plan import EVENT_TIME

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["element_times"]


def element_times(rows: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """The event times (ms) of packed rows; without one the lowest, which engines know as none."""
    column = rows.column(EVENT_TIME)
    if column.null_count:
        column = pc.fill_null(column, MIN_TIMESTAMP)
    times: npt.NDArray[np.int64] = column.to_numpy()
    return times
