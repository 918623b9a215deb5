"""A row that reaches a worker while the next one is not there yet.

    prompt_program.py FOLDER

The rows come from a worker that gives the second one after another worker has had the first.  It
prints what came, as Spark sends batches and compressed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import flinkish.spark as fs
from flinkish.spark.mapped_frame import Batches
from flinkish.spark.real_time.arrivals import rows_of
from flinkish.spark.real_time.prompt import as_they_come
from tests.waiting import PATIENCE


def main(folder: Path) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for name, value in fs.REAL_TIME_AT_START.items():
        builder = builder.config(name, value)
    spark = fs.configure(builder.getOrCreate(), real_time=True)
    for codec in ("none", "zstd"):
        spark.conf.set("spark.sql.execution.arrow.compression.codec", codec)
        print(codec, _rows(spark, folder / codec))


def _rows(spark: SparkSession, met: Path) -> list[int]:
    """What came of two rows; the second is made when the first has been met."""

    def rows(batches: Batches) -> Batches:
        list(batches)
        yield pa.record_batch({"n": pa.array([1], pa.int64())})
        end = time.monotonic() + PATIENCE
        while not met.exists():
            if time.monotonic() > end:
                raise TimeoutError("the first row has not come to the second worker")
            time.sleep(0.01)
        yield pa.record_batch({"n": pa.array([2], pa.int64())})

    def meet(batches: Batches) -> Batches:
        for batch in map(rows_of, batches):
            if batch.num_rows:
                met.touch()
                yield batch

    frame = spark.range(1).coalesce(1).mapInArrow(rows, "n bigint")
    return [row.n for row in as_they_come(frame).mapInArrow(meet, "n bigint").collect()]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
