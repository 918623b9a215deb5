"""Event times that a function of the row assigns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from flinkish._core.columns.records import RecordReader
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.spark.keyed.plan import EVENT_TIME

__all__ = ["with_timestamps"]


def with_timestamps(
    extract: Callable[[Any, int], int],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for `mapInArrow` that adds EVENT_TIME: what ``extract`` says of each row, in ms.

    It is called as TimestampAssigner.extract_timestamp is.
    """

    def assign(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            times = [extract(row, MIN_TIMESTAMP) for row in RecordReader(batch).rows()]
            millis = pa.array(times, pa.int64()).cast(pa.timestamp("ms", "UTC"))
            yield batch.append_column(EVENT_TIME, millis.cast(pa.timestamp("us", "UTC")))

    return assign
