"""Asynchronous calls between operators of a stream: results have the time of their rows."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from flinkish.common import Time, Types
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.datastream import AsyncDataStream
from flinkish.datastream.functions import AsyncFunction, AsyncRetryStrategy
from flinkish.spark import DataStream, ProcessedStream
from tests.spark.async_functions import Flaky
from tests.spark.functions import Silence
from tests.spark.support import GROUPS, Source, run, timed
from tests.spark.test_chained import TOTALS, Totals, check_chain
from tests.spark.traffic import OUT, SCHEMA, feed, random_batches


class Echo(AsyncFunction):
    """Gives back some columns of what it gets, after a while."""

    def __init__(self, *columns: str) -> None:
        self.columns = columns

    async def async_invoke(self, value: Any) -> list[Any]:
        assert not any(name.startswith("__") for name in value.as_dict())
        await asyncio.sleep(0.001 * (hash(value) % 3))
        return [tuple(value[column] for column in self.columns)]


def chain(stream: DataStream) -> ProcessedStream:
    """The operators of test_chained, with calls before and between them."""
    patience = Time.seconds(60)
    pick = Echo("key", "n")
    rows = AsyncDataStream.ordered_wait(stream, pick, patience, 50, "key string, n bigint")
    first = rows.key_by("key").process(Silence(), schema=OUT, max_parallelism=GROUPS)
    between = AsyncDataStream.unordered_wait(
        first, Echo("key", "what", "n", "at"), patience, 50, OUT
    )
    return between.key_by("n").process(Totals(), schema=TOTALS, max_parallelism=GROUPS)


def test_event_time_passes_through(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    batches = random_batches(62, batches=3, rows=60, keys=14)
    feed(source, batches)
    check_chain(run(chain(timed(source.stream(), 1000)), tmp_path / "checkpoint"), batches)


def test_streams_without_time(spark: SparkSession) -> None:
    stream = DataStream(spark.range(5).withColumnRenamed("id", "n"))
    retry = AsyncRetryStrategy.fixed_delay(3, 10)
    waited = AsyncDataStream.unordered_wait_with_retry(
        stream, Flaky(2), Time.seconds(60), retry, output_type="n bigint, attempts bigint"
    )
    assert waited.to_df().columns == ["n", "attempts"]
    assert sorted(map(tuple, waited.to_df().collect())) == [(n, 2) for n in range(5)]
    typed = AsyncDataStream.ordered_wait_with_retry(
        stream,
        Flaky(2),
        Time.seconds(60),
        retry,
        output_type=Types.ROW_NAMED(["n", "attempts"], [Types.LONG(), Types.LONG()]),
    )
    assert sorted(map(tuple, typed.to_df().collect())) == [(n, 2) for n in range(5)]


def test_operators_before_the_calls_are_known_after_them(spark: SparkSession) -> None:
    rows = DataStream(spark.createDataFrame([("a", 1)], "key string, n bigint"))
    first = rows.key_by("key").process(Silence(), schema=OUT, uid="silence")
    waited = AsyncDataStream.ordered_wait(first, Echo("key", "n"), 60_000, 50, "key string, n int")
    assert waited.explain().startswith("silence: ")
    assert repr(waited).endswith(" after silence")
    with pytest.raises(IllegalArgumentError, match="two operators of this query are called 'sil"):
        waited.key_by("n").process(Totals(), schema=TOTALS, uid="silence")


def test_what_is_refused(spark: SparkSession) -> None:
    stream = DataStream(spark.range(5))
    with pytest.raises(ArgumentTypeError, match=r"DataStream\(df\) makes one"):
        AsyncDataStream.unordered_wait(spark.range(5), Echo(), 1, output_type="n bigint")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="must be an AsyncRetryStrategy"):
        AsyncDataStream.ordered_wait_with_retry(stream, Echo(), 1, None, output_type="n bigint")  # type: ignore[arg-type]
    retry = AsyncRetryStrategy.fixed_delay(3, 10)
    with pytest.raises(IllegalArgumentError, match="retries need a timeout"):
        AsyncDataStream.ordered_wait_with_retry(stream, Echo(), 0, retry, output_type="n bigint")
