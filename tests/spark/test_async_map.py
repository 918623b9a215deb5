"""Asynchronous calls on DataFrames."""

from pathlib import Path

import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, Observation, Row, SparkSession
from pyspark.sql import functions as F

import flinkish.spark as fs
from flinkish.common import OutputTag
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    SerializationError,
    UnknownColumnError,
)
from flinkish.functions import AsyncRetryStrategy
from tests.spark import async_functions as calls

PAIRS = "n bigint, m bigint"
HANGS = "10 seconds"  # the others take none, wherever the machine does not stand still


def numbers(spark: SparkSession, count: int, partitions: int = 2) -> DataFrame:
    return spark.range(0, count, 1, partitions).withColumnRenamed("id", "n")


def rows(frame: DataFrame) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def squares(count: int) -> list[tuple[int, int]]:
    return [(n, n * n) for n in range(count)]


@pytest.mark.parametrize("fn", [calls.square, calls.square_in_thread])
def test_a_batch(spark: SparkSession, fn: object) -> None:
    frame = fs.async_map(numbers(spark, 2_000), fn, PAIRS)
    assert rows(frame) == squares(2_000)


def test_the_order_of_a_partition(spark: SparkSession) -> None:
    frame = fs.async_map(numbers(spark, 200, 1), calls.slow_at_first, PAIRS, mode="ordered")
    assert [row.n for row in frame.collect()] == list(range(200))


def test_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    stream = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 100).load()
    numbered = stream.select(F.col("value").alias("n"))
    frame = fs.async_map(numbered, calls.square, PAIRS, name="square")
    query = (
        frame.writeStream.format("memory")
        .queryName("async_stream")
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert rows(spark.table("async_stream")) == squares(100)
    observed = query.recentProgress[0]["observedMetrics"]["flinkish.square"]
    assert (observed["rows"], observed["results"], observed["failed"]) == (100, 100, 0)


def test_errors_in_a_column(spark: SparkSession) -> None:
    frame = numbers(spark, 12).withColumn("text", F.lit("kept"))
    found = fs.async_map(
        frame,
        calls.picky,
        "n bigint, m bigint",
        on_error="column",
        timeout=HANGS,
    )
    assert found.schema.simpleString() == (
        "struct<n:bigint,m:bigint,error:struct<type:string,message:string,attempts:int>>"
    )
    by_number = {row.n: row for row in found.collect()}
    assert by_number[4] == Row(n=4, m=16, error=None)
    assert by_number[3] == Row(
        n=3, m=None, error=Row(type="ValueError", message="three is too much", attempts=1)
    )
    assert {n for n, row in by_number.items() if row.error is not None} == {3, 5, 7, 9}


def test_errors_that_are_dropped_are_counted(spark: SparkSession) -> None:
    observation = Observation("calls")
    found = fs.async_map(
        numbers(spark, 12),
        calls.picky,
        PAIRS,
        on_error="drop",
        timeout=HANGS,
        observation=observation,
    )
    assert [row[0] for row in rows(found)] == [0, 1, 2, 4, 6, 8, 10, 11]
    assert observation.get == {
        "rows": 12,
        "results": 8,
        "failed": 4,
        "dropped": 4,
        "timed_out": 1,
        "retried": 0,
        "saved": 0,
        "metrics": {},
    }


def test_errors_that_go_aside(spark: SparkSession) -> None:
    failed = OutputTag("failed")
    frame = numbers(spark, 12).withColumn("text", F.lit("kept"))
    found = fs.async_map(frame, calls.picky, PAIRS, on_error=failed, timeout=HANGS).persist()
    assert [row[0] for row in rows(found.to_df())] == [0, 1, 2, 4, 6, 8, 10, 11]
    aside = found.get_side_output(failed)
    assert aside.columns == ["n", "text", "error"]
    assert {row.n: (row.text, row.error.type.split(".")[-1]) for row in aside.collect()} == {
        3: ("kept", "ValueError"),
        5: ("kept", "SchemaMismatchError"),
        7: ("kept", "ArgumentTypeError"),
        9: ("kept", "AsyncTimeoutError"),
    }
    found.unpersist()
    typed = OutputTag("failed", "n bigint")
    found = fs.async_map(frame, calls.picky, PAIRS, on_error=typed, timeout=HANGS)
    assert rows(found.get_side_output(typed)) == [(3,), (5,), (7,), (9,)]


def test_an_error_fails_the_job(spark: SparkSession) -> None:
    frame = fs.async_map(numbers(spark, 5, 1), calls.picky, PAIRS, name="squares")
    with pytest.raises(PythonException) as caught:
        frame.collect()
    message = str(caught.value)
    assert "ValueError: three is too much" in message
    assert "raised in picky for Row(n=3)" in message
    assert "in task 'squares', partition 0, attempt 2" in message


def test_retries_in_every_partition(spark: SparkSession) -> None:
    retry = AsyncRetryStrategy.fixed_delay(5, 10)
    frame = fs.async_map(
        numbers(spark, 100), calls.Flaky(3), PAIRS, retry=retry, timeout="1 minute"
    )
    assert rows(frame) == [(n, 3) for n in range(100)]


def test_a_worker_that_is_killed_makes_its_calls_again(spark: SparkSession, tmp_path: Path) -> None:
    frame = numbers(spark, 200).withColumn("file", F.lit(str(tmp_path / "killed")))
    found = fs.async_map(frame, calls.dies_at, "n bigint, pid bigint", capacity=10)
    assert [row[0] for row in rows(found)] == list(range(200))
    assert (tmp_path / "killed").exists()


def test_calls_of_many_rows(spark: SparkSession) -> None:
    frame = fs.async_map(
        numbers(spark, 1_000), calls.Squares(), PAIRS, batch_size=64, batch_timeout="1 second"
    )
    assert rows(frame) == squares(1_000)


def test_connections_are_closed(spark: SparkSession, tmp_path: Path) -> None:
    frame = fs.async_map(numbers(spark, 20), calls.Client(str(tmp_path / "log")), PAIRS)
    assert frame.count() == 20
    words = sorted((tmp_path / "log").read_text().split()[::2])
    assert words == ["close", "close", "open", "open"]


def test_as_many_calls_at_once_as_the_capacity(spark: SparkSession) -> None:
    """Nobody gets an answer before 250 have asked, in each of the partitions."""
    frame = fs.async_map(
        numbers(spark, 1_000), calls.Assembly(250), PAIRS, capacity=250, timeout="5 minutes"
    )
    assert {most for _, most in rows(frame)} == {250}


def test_what_is_refused(spark: SparkSession) -> None:
    frame = numbers(spark, 1)
    retry = AsyncRetryStrategy.fixed_delay(3, 100)
    with pytest.raises(IllegalArgumentError, match="capacity must be from 1"):
        fs.async_map(frame, calls.square, PAIRS, capacity=0)
    with pytest.raises(IllegalArgumentError, match="retries need a timeout"):
        fs.async_map(frame, calls.square, PAIRS, retry=retry)
    with pytest.raises(IllegalArgumentError, match="mode must be 'ordered' or 'unordered'"):
        fs.async_map(frame, calls.square, PAIRS, mode="any")  # type: ignore[call-overload]
    with pytest.raises(IllegalArgumentError, match="on_error must be 'fail', 'drop', 'column'"):
        fs.async_map(frame, calls.square, PAIRS, on_error="ignore")  # type: ignore[call-overload]
    with pytest.raises(IllegalArgumentError, match="adds a column 'error'"):
        fs.async_map(frame, calls.square, "n bigint, error string", on_error="column")
    with pytest.raises(UnknownColumnError, match="names a column 'm'"):
        fs.async_map(frame, calls.square, PAIRS, on_error=OutputTag("failed", "m bigint"))
    with pytest.raises(IllegalArgumentError, match="'error' besides those of the input"):
        fs.async_map(
            frame.withColumn("error", F.lit(1)), calls.square, PAIRS, on_error=OutputTag("failed")
        )
    with pytest.raises(ArgumentTypeError, match="needs an AsyncFunction, an `async def`"):
        fs.async_map(frame, 7, PAIRS)
    holds = calls.Flaky(1)
    holds.session = spark  # type: ignore[attr-defined]
    with pytest.raises(SerializationError, match=r"fn\.session.*open\(\)"):
        fs.async_map(frame, holds, PAIRS)
    with pytest.raises(IllegalArgumentError, match="need a batch_size"):
        fs.async_map(frame, calls.Squares(), PAIRS)
    with pytest.raises(IllegalArgumentError, match="results of a batch have no order"):
        fs.async_map(frame, calls.Squares(), PAIRS, batch_size=5, mode="ordered")
    with pytest.raises(IllegalArgumentError, match="for calls of single rows"):
        fs.async_map(frame, calls.Squares(), PAIRS, batch_size=5, idempotency_key="n")
    with pytest.raises(UnknownColumnError, match="idempotency_key names a column 'm'"):
        fs.async_map(frame, calls.square, PAIRS, idempotency_key="m")
    stream = spark.readStream.format("rate").load()
    with pytest.raises(ArgumentTypeError, match="Observation is for batch"):
        fs.async_map(stream, calls.square, PAIRS, observation=Observation("calls"))
