"""Event times that a function of the row assigns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.spark.elements import ElementReader
from flinkish.spark.keyed.plan import EVENT_TIME
from flinkish.spark.mapped_frame import Batches, MapBatches

__all__ = ["with_timestamps"]


def with_timestamps(
    extract: Callable[[Any, int], int],
    columns: Sequence[str],
    read: Callable[[pa.RecordBatch], ElementReader],
) -> MapBatches:
    """The function for `mapInArrow` that adds EVENT_TIME to ``columns``.

    ``extract`` says it in ms of each element that ``read`` makes, and is called as
    TimestampAssigner.extract_timestamp is.
    """

    def assign(batches: Batches) -> Batches:
        for batch in batches:
            times = [extract(value, MIN_TIMESTAMP) for value in read(batch).elements()]
            millis = pa.array(times, pa.int64()).cast(pa.timestamp("ms", "UTC"))
            stamped = millis.cast(pa.timestamp("us", "UTC"))
            yield batch.select(list(columns)).append_column(EVENT_TIME, stamped)

    return assign
