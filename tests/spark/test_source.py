"""Source functions as streaming sources of Spark."""

import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import flinkish.spark as fs
from flinkish.common import Types
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError, SerializationError
from flinkish.functions import SourceFunction
from tests.processes import LONGEST_S
from tests.spark.functions import Silence
from tests.spark.sources import FailsAt, Forgetful, Numbers, Paced
from tests.spark.support import raises, start, timed
from tests.waiting import until

SCHEMA = "n bigint, text string"


class Sink:
    """Keeps the numbers of each batch; a batch that comes again replaces the first."""

    def __init__(self) -> None:
        self.batches: dict[int, list[int]] = {}

    def write(self, frame: DataFrame, batch: int) -> None:
        self.batches[batch] = [row.n for row in frame.collect()]

    @property
    def numbers(self) -> list[int]:
        return [number for batch in sorted(self.batches) for number in self.batches[batch]]


def run_until(spark: SparkSession, sink: Sink, checkpoint: Path, name: str, count: int) -> None:
    """Run a query until so many numbers have come; StreamingQueryException if it fails before."""
    writer = spark.readStream.format(name).load().writeStream.foreachBatch(sink.write)
    query = start(writer.option("checkpointLocation", str(checkpoint)))
    try:
        until(lambda: query.awaitTermination(0.05) or len(sink.numbers) >= count, seconds=LONGEST_S)
    finally:
        query.stop()


def forget_commit(checkpoint: Path, batch: int) -> None:
    """As if the query had been killed in this batch."""
    (checkpoint / "commits" / f"{batch}").unlink(missing_ok=True)  # stopped before it
    (checkpoint / "commits" / f".{batch}.crc").unlink(missing_ok=True)


def test_a_query_goes_on_where_it_was(spark: SparkSession, tmp_path: Path) -> None:
    sink, out = Sink(), tmp_path / "out"
    # However late the first run is stopped, it does not come to the end.
    source = Paced(300, str(out), each=250, pause_s=0.01)
    fs.register_source(spark, source, SCHEMA, name="numbers-in-parts")
    run_until(spark, sink, tmp_path / "checkpoint", "numbers-in-parts", 50)
    before = dict(sink.batches)
    out.mkdir()
    (out / "stopped.json").touch()
    run_until(spark, sink, tmp_path / "checkpoint", "numbers-in-parts", 300)
    assert sink.numbers == list(range(300))
    assert len(sink.batches) > len(before) > 0


def test_a_batch_that_was_not_finished_is_made_again(spark: SparkSession, tmp_path: Path) -> None:
    sink, checkpoint = Sink(), tmp_path / "checkpoint"
    fs.register_source(spark, Numbers(40, hold=4), SCHEMA, name="numbers-again")
    run_until(spark, sink, checkpoint, "numbers-again", 40)
    last = max(sink.batches)
    forget_commit(checkpoint, last)
    first = dict(sink.batches)
    del sink.batches[last]
    run_until(spark, sink, checkpoint, "numbers-again", 40)
    assert sink.batches == first


def test_a_source_that_cannot_repeat_itself(spark: SparkSession, tmp_path: Path) -> None:
    sink, checkpoint = Sink(), tmp_path / "checkpoint"
    source = Forgetful(20, str(tmp_path / "started"))
    fs.register_source(spark, source, SCHEMA, name="forgetful")
    run_until(spark, sink, checkpoint, "forgetful", 20)
    forget_commit(checkpoint, max(sink.batches))
    sink.batches.clear()
    with raises(StreamingQueryException, match=r"emitted \d+ records when batch"):
        run_until(spark, sink, checkpoint, "forgetful", 20)


def test_a_source_that_fails(spark: SparkSession, tmp_path: Path) -> None:
    fs.register_source(spark, FailsAt(100, 5), SCHEMA, name="fails")
    sink = Sink()
    with raises(StreamingQueryException, match="'fails' failed in run: cannot read 5"):
        run_until(spark, sink, tmp_path / "checkpoint", "fails", 100)
    assert sink.numbers == list(range(len(sink.numbers)))
    assert len(sink.numbers) <= 5


def test_times_and_operators(spark: SparkSession, tmp_path: Path) -> None:
    fs.register_source(
        spark,
        Numbers(60, pause_s=0.01),
        Types.ROW_NAMED(["n", "key"], [Types.LONG(), Types.STRING()]),
        name="numbers-in-time",
        timestamp_column="ts",
    )
    frame = spark.readStream.format("numbers-in-time").load()
    assert frame.dtypes == [("n", "bigint"), ("key", "string"), ("ts", "timestamp")]
    alerts: list[Any] = []
    done = threading.Event()

    def write(batch: DataFrame, _: int) -> None:
        alerts.extend(batch.collect())
        if any(row.what == "timer" for row in alerts):
            done.set()

    schema = "key string, what string, count bigint, at bigint"
    stream = timed(frame).key_by("key").process(Silence(), schema=schema)
    writer = stream.to_df().writeStream.foreachBatch(write)
    query = start(writer.option("checkpointLocation", str(tmp_path / "checkpoint")))
    try:
        assert done.wait(LONGEST_S)
    finally:
        query.stop()
    assert {row.at % 1000 for row in alerts} == {0, Silence.PATIENCE % 1000}


def test_bad_sources(spark: SparkSession) -> None:
    class Plain(SourceFunction):
        def run(self, ctx: Any) -> None:
            pass

        def cancel(self) -> None:
            pass

    locked = Numbers(1)
    locked.guard = threading.Lock()  # type: ignore[attr-defined]
    with pytest.raises(ArgumentTypeError, match="Plain is no CheckpointedFunction"):
        fs.register_source(spark, Plain(), SCHEMA)
    with pytest.raises(ArgumentTypeError, match="takes a SourceFunction, not 'numbers'"):
        fs.register_source(spark, "numbers", SCHEMA)  # type: ignore[arg-type]
    with pytest.raises(SerializationError, match="guard"):
        fs.register_source(spark, locked, SCHEMA)
    with pytest.raises(IllegalArgumentError, match="has a column 'n' already"):
        fs.register_source(spark, Numbers(1), SCHEMA, timestamp_column="n")
