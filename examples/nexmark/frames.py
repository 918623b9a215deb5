"""The events as DataFrames: batch, stream, files of parquet; and the side table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import generator
import pyarrow as pa
from generator import Nexmark
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

# Spark's workers need not be able to import the generator: it travels with the function.
cloudpickle.register_pickle_by_value(generator)

KINDS = {
    "person": "id long, name string, email string, credit_card string, city string, "
    "state string, ts timestamp",
    "auction": "id long, item string, description string, initial_bid long, reserve long, "
    "ts timestamp, expires timestamp, seller long, category long",
    "bid": "auction long, bidder long, price long, channel string, url string, ts timestamp",
}
SIDE_ROWS = 10_000


def batch(
    spark: SparkSession, nexmark: Nexmark, kind: str, events: int, *, partitions: int
) -> DataFrame:
    """The events of a kind among the first ``events`` of the stream, in their order."""
    numbers = spark.range(0, events, 1, partitions).withColumnRenamed("id", "value")
    return _made(numbers, nexmark, kind)


def stream(spark: SparkSession, nexmark: Nexmark, kind: str, *, per_batch: int) -> DataFrame:
    """The endless stream of a kind; each micro-batch takes ``per_batch`` events of all kinds.

    Spark counts the events and remembers how far it came, so a batch that is lost is made again.
    """
    numbers = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", per_batch)
        .option("numPartitions", spark.sparkContext.defaultParallelism)
        .load()
        .select("value")
    )
    return _made(numbers, nexmark, kind)


def write_parquet(
    spark: SparkSession, nexmark: Nexmark, events: int, folder: Path, *, files: int
) -> None:
    """The first ``events`` events, a folder per kind, in ``files`` files in order of arrival."""
    for kind in KINDS:
        made = batch(spark, nexmark, kind, events, partitions=files)
        made.write.mode("overwrite").parquet(str(folder / kind))


def side_table(spark: SparkSession) -> DataFrame:
    """What q13 enriches bids by."""
    return spark.range(SIDE_ROWS).selectExpr("id AS key", "concat('side ', id) AS value")


def _made(numbers: DataFrame, nexmark: Nexmark, kind: str) -> DataFrame:
    return numbers.mapInArrow(_maker(nexmark, kind), KINDS[kind])


def _maker(
    nexmark: Nexmark, kind: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for numbers in batches:
            yield nexmark.of_kind(kind, numbers.column(0).to_numpy())

    return make
