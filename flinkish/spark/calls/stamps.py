"""Event time on its way through asynchronous calls: results have the time of their row.

A record's stamp is its time in ms.  After a keyed operator it is twice that, and one more for
what was made after the watermark: results must come to the next operator in the phase in which
their rows were made.  Rows without a time have the lowest stamps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.types import IntegerType, LongType, StructField, TimestampType

from flinkish._core.columns.records import timestamps_ms
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.spark.keyed.plan import EVENT_TIME, PHASE

__all__ = ["Stamped"]


@dataclass(frozen=True)
class Stamped:
    """``column`` holds the event time of the rows; ``chained`` ones come of a keyed operator."""

    column: str
    chained: bool

    @property
    def names(self) -> list[str]:
        """The columns after those of the results."""
        return [EVENT_TIME, PHASE] if self.chained else [EVENT_TIME]

    @property
    def fields(self) -> list[StructField]:
        """The same, as Spark's."""
        if self.chained:
            return [StructField(EVENT_TIME, LongType()), StructField(PHASE, IntegerType())]
        return [StructField(EVENT_TIME, TimestampType())]

    def stamps(self, batch: pa.RecordBatch) -> list[int | None]:
        """The stamps of the rows of a batch."""
        column = batch.column(self.column)
        if not self.chained:
            return list(timestamps_ms(column, null_value=MIN_TIMESTAMP).tolist())
        times = column.fill_null(MIN_TIMESTAMP // 2).to_numpy()
        phases = batch.column(PHASE).to_numpy(zero_copy_only=False)
        return list((times * 2 + phases).tolist())

    def time_of(self, stamp: int) -> int | None:
        """The event time (ms) of a stamp; None of a row without one."""
        if self.chained:
            stamp >>= 1
            return None if stamp == MIN_TIMESTAMP // 2 else stamp
        return None if stamp == MIN_TIMESTAMP else stamp

    def columns(self, stamps: npt.NDArray[Any]) -> list[pa.Array]:
        """Stamps of results as columns."""
        stamps = stamps.astype(np.int64)
        if not self.chained:
            times = pa.array(stamps, mask=stamps == MIN_TIMESTAMP)
            return [times.cast(pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC"))]
        times = stamps >> 1
        return [
            pa.array(times, mask=times == MIN_TIMESTAMP // 2),
            pa.array((stamps & 1).astype(np.int32)),
        ]
