"""Tasks on DataFrames: what Spark and a task do to each other."""

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import flinkish.spark as fs
from flinkish.common import OutputTag
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    SerializationError,
    UnknownColumnError,
    UnsupportedOperationError,
)
from flinkish.operators import KeyedProcessOperator, ProcessOperator
from tests.spark.patience import SOON, until
from tests.spark.support import raises
from tests.spark.task_operators import (
    ODD,
    Count,
    FailsAt,
    Heart,
    Identity,
    KillsItself,
    Later,
    Marks,
    Split,
    Threads,
)


def numbers(spark: SparkSession, count: int, partitions: int = 2) -> DataFrame:
    return spark.range(0, count, 1, partitions).withColumnRenamed("id", "n")


def values(frame: DataFrame) -> list[int]:
    return sorted(row[0] for row in frame.collect())


def test_every_row_once(spark: SparkSession) -> None:
    frame = numbers(spark, 50_000, 3)
    assert values(fs.run_task(frame, Identity(), "n bigint")) == list(range(50_000))


def test_partitions_without_rows(spark: SparkSession) -> None:
    assert values(fs.run_task(numbers(spark, 1, 4), Identity(), "n bigint")) == [0]


def test_completions_come_from_other_threads(spark: SparkSession) -> None:
    frame = fs.run_task(numbers(spark, 400), lambda: Later(0.001), "n bigint")
    assert values(frame) == list(range(400))


def test_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    stream = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 20).load()
    rows = stream.select(F.col("value").alias("n"))
    frame = fs.run_task(rows, lambda: Later(0.001), "n bigint")
    query = (
        frame.writeStream.format("memory")
        .queryName("task_stream")
        .option("checkpointLocation", str(tmp_path))
        .trigger(processingTime="100 milliseconds")
        .start()
    )
    try:
        until(lambda: query.exception() or (query.lastProgress or {"batchId": 0})["batchId"] >= 2)
        assert query.exception() is None
    finally:
        query.stop()
    seen = values(spark.table("task_stream"))
    assert seen == list(range(len(seen)))
    assert len(seen) >= 40


class Heard(Heart):
    """Beats, and leaves a file for each beat."""

    def __init__(self, directory: str) -> None:
        super().__init__(10)
        self.directory = directory

    def beat(self, timestamp: int) -> None:
        super().beat(timestamp)
        Path(self.directory, str(self.beats)).touch()


def test_timers_while_the_rows_before_it_are_slow(spark: SparkSession, tmp_path: Path) -> None:
    """The input idles for as long as Spark makes it: what comes of timers comes of that time."""

    def slowly(batches: Any) -> Any:
        for batch in batches:
            for row in range(batch.num_rows):
                until((tmp_path / str(5 * row + 5)).exists, "five more beats")
                yield batch.slice(row, 1)

    slow = numbers(spark, 4, 1).mapInArrow(slowly, "n bigint")
    beats = values(fs.run_task(slow, lambda: Heard(str(tmp_path)), "n bigint"))
    assert beats == list(range(1, len(beats) + 1))
    assert len(beats) >= 20


def test_processes_are_used_again_and_no_thread_is_left(spark: SparkSession) -> None:
    found: list[tuple[int, int]] = []
    for _ in range(6):
        found += fs.run_task(
            numbers(spark, 10), lambda: Threads(), "pid bigint, threads int"
        ).collect()
    threads: dict[int, list[int]] = {}
    for pid, count in found:
        threads.setdefault(pid, []).append(count)
    assert len(threads) < len(found), "some process ran more than one task"
    # The thread that read the input may be at its end only.
    assert all(max(counts) <= min(counts) + 1 for counts in threads.values()), threads


def pids(directory: Path, what: str) -> set[int]:
    return {int(file.stem) for file in directory.glob(f"*.{what}")}


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_limit_ends_the_task(spark: SparkSession, tmp_path: Path) -> None:
    """Spark closes the socket of a task that it wants no more of."""
    frame = fs.run_task(numbers(spark, 2_000_000, 2), Marks(str(tmp_path)), "n bigint")
    assert frame.limit(10).count() == 10
    assert len(frame.take(5)) == 5
    opened = pids(tmp_path, "opened")
    until(lambda: pids(tmp_path, "closed") == opened)
    until(lambda: not any(is_alive(pid) for pid in opened))
    assert values(fs.run_task(numbers(spark, 10), Identity(), "n bigint")) == list(range(10))


def test_a_failing_operator_names_operator_partition_and_row(spark: SparkSession) -> None:
    frame = fs.run_task(numbers(spark, 100_000, 2), FailsAt(60_000), "n bigint", name="checks")
    with raises(PythonException) as caught:
        frame.collect()
    message = str(caught.value)
    assert "ValueError: cannot stand 60000" in message
    assert "in task 'checks', partition 1, attempt 0" in message
    assert "row it had taken was number 10000, Row(n=60000)" in message
    assert values(fs.run_task(numbers(spark, 10), Identity(), "n bigint")) == list(range(10))


def test_a_value_that_does_not_fit(spark: SparkSession) -> None:
    frame = fs.run_task(numbers(spark, 3, 1), Identity(), "n string")
    with raises(PythonException, match=r"task 'Identity' was declared as n string.*n=0"):
        frame.collect()


def test_a_worker_that_is_killed(spark: SparkSession, tmp_path: Path) -> None:
    operator = KillsItself(40_000, str(tmp_path / "killed"))
    frame = fs.run_task(numbers(spark, 50_000, 2), operator, "n bigint")
    assert values(frame) == list(range(50_000))
    assert (tmp_path / "killed").exists()


def test_a_job_that_is_cancelled(spark: SparkSession, tmp_path: Path) -> None:
    """Tasks whose input idles end with their job, and the processes with them."""
    context = spark.sparkContext
    rows = numbers(spark, 2).mapInArrow(_never, "n bigint")
    frame = fs.run_task(rows, Marks(str(tmp_path)), "n bigint")
    context.setJobGroup("cancelled", "a job that is cancelled", interruptOnCancel=True)
    collecting = _collect_in_thread(frame)
    until(lambda: len(pids(tmp_path, "opened")) == 2)
    context.cancelJobGroup("cancelled")
    collecting.join(SOON)
    assert not collecting.is_alive()
    context.setLocalProperty("spark.jobGroup.id", "")
    until(lambda: not any(is_alive(pid) for pid in pids(tmp_path, "opened")))


def _never(batches: Any) -> Any:
    for batch in batches:
        time.sleep(3600)
        yield batch


def _collect_in_thread(frame: DataFrame) -> Any:
    from pyspark import InheritableThread

    def collect() -> None:
        with pytest.raises(Exception, match="cancelled"):
            frame.collect()

    thread = InheritableThread(target=collect)
    thread.start()
    return thread


def test_side_outputs(spark: SparkSession) -> None:
    results = fs.run_task(numbers(spark, 1_000), Split(), "n bigint", side_outputs=[ODD]).persist()
    assert values(results.to_df()) == list(range(0, 1_000, 2))
    odd = results.get_side_output(ODD)
    assert odd.columns == ["n", "text"]
    assert sorted(odd.collect())[:2] == [(1, "odd 1"), (3, "odd 3")]
    assert odd.count() == 500
    with pytest.raises(IllegalArgumentError, match=r"'even'.*none of them$"):
        results.get_side_output(OutputTag("even", "n bigint"))
    with pytest.raises(IllegalArgumentError, match=r"none of them; did you mean 'odd'\?$"):
        results.get_side_output(OutputTag("oddd", "n bigint"))
    results.unpersist()


def test_side_outputs_of_a_stream_come_from_one_run(spark: SparkSession, tmp_path: Path) -> None:
    stream = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    results = fs.run_task(
        stream.select(F.col("value").alias("n")), Split(), "n bigint", side_outputs=[ODD]
    )
    seen: dict[int, tuple[list[int], list[int]]] = {}

    def write(batch_id: int, main: DataFrame, odd: DataFrame) -> None:
        seen[batch_id] = values(main), values(odd)

    writer = results.foreach_batch(write, ODD).option("checkpointLocation", str(tmp_path))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    assert seen[0] == ([0, 2, 4, 6, 8], [1, 3, 5, 7, 9])


def test_keys_of_a_batch(spark: SparkSession) -> None:
    frame = numbers(spark, 3_000).select((F.col("n") % 7).alias("k"), "n")
    counts = fs.run_task(frame, Count(), "k bigint, count bigint", key_by="k")
    assert sorted(tuple(row) for row in counts.collect()) == [
        (k, len(range(k, 3_000, 7))) for k in range(7)
    ]
    pairs = frame.select("k", (F.col("n") % 2 == 0).alias("even"))
    counts = fs.run_task(
        pairs,
        lambda: KeyedProcessOperator(PairCount()),
        "pair string, count bigint",
        key_by=["k", "even"],
    )
    assert sum(row["count"] for row in counts.collect()) == 3_000
    assert counts.count() == 14


class PairCount(Count):
    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield str(ctx.get_current_key()), self.count.value()


def test_what_is_refused(spark: SparkSession) -> None:
    frame = numbers(spark, 10)
    stream = spark.readStream.format("rate").load().withColumnRenamed("value", "n")
    with pytest.raises(UnsupportedOperationError, match=r"one micro-batch.*DataStream\(df\)"):
        fs.run_task(stream, Count(), "k bigint, n bigint", key_by="n")
    with pytest.raises(UnsupportedOperationError, match=r"Count.*no keys.*key_by"):
        fs.run_task(frame, Count(), "k bigint, n bigint")
    with pytest.raises(UnknownColumnError, match="no column 'm'"):
        fs.run_task(frame, Count(), "k bigint, n bigint", key_by="m")
    with pytest.raises(ArgumentTypeError, match="a function that makes a StreamOperator"):
        fs.run_task(frame, ProcessOperator(Identity()), "n bigint")  # type: ignore[call-overload]
    with pytest.raises(IllegalArgumentError, match="output schema of task 'Identity'"):
        fs.run_task(frame, Identity(), "n bigint,, m")
    with pytest.raises(ArgumentTypeError, match="OutputTag, not by 'odd'"):
        fs.run_task(frame, Split(), "n bigint", side_outputs=["odd"])  # type: ignore[list-item]
    holds = Identity()
    holds.lock = threading.Lock()  # type: ignore[attr-defined]
    with pytest.raises(SerializationError, match=r"Identity\.lock.*open\(\)"):
        fs.run_task(frame, holds, "n bigint")
    with raises(PythonException, match="needs keys, and its input has none"):
        fs.run_task(frame, lambda: KeyedProcessOperator(Count()), "k bigint, n bigint").collect()
