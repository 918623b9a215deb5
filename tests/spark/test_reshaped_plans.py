"""Plans that user code reshapes above an operator, and programs that run a part of it.

Spark's context of a task then says another partition, another run or none.  The state is whole all
the same, or the batch fails.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from flinkish.common import Types
from flinkish.datastream.functions import KeyedProcessFunction
from flinkish.datastream.state import ValueStateDescriptor
from flinkish.spark import DataStream, StateSettings
from tests.spark.support import Source

SCHEMA = "key string, n int"
COUNTED = "key string, n int, subtask int"
KEYS = "abcdefghijkl"
PARTITIONS = 4


class Count(KeyedProcessFunction):
    """How often a key has come, and which subtask counts it; fails once, at the third "f"."""

    def __init__(self, failed: str) -> None:
        self.failed = failed

    def open(self, runtime_context: Any) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if (ctx.get_current_key(), count) == ("f", 3) and not os.path.exists(self.failed):
            open(self.failed, "x").close()
            raise RuntimeError("an attempt that has written other partitions fails")
        yield ctx.get_current_key(), count, self.subtask


class Query:
    """A query that counts keys, each of which every batch has, in PARTITIONS partitions."""

    backend: Any = "versioned"

    def __init__(self, spark: SparkSession, tmp_path: Path) -> None:
        self.spark, self.tmp_path = spark, tmp_path
        self.in_partitions(PARTITIONS)
        self.source = Source(spark, tmp_path / "in", SCHEMA)
        self.rows: list[tuple[int, Any]] = []
        self.failed = tmp_path / "failed"

    def counts(self, uid: str = "counts") -> Any:
        state = StateSettings(backend=self.backend, table_dir=str(self.tmp_path / "tables"))
        keyed = DataStream(self.source.stream()).key_by("key")
        return keyed.process(
            Count(str(self.failed)), schema=COUNTED, uid=uid, max_parallelism=12, state=state
        )

    def in_partitions(self, partitions: int) -> None:
        self.partitions = partitions
        self.spark.conf.set("spark.sql.shuffle.partitions", partitions)

    def add(self, batches: int) -> None:
        for _ in range(batches):
            self.source.add([{"key": key, "n": 1} for key in KEYS])

    def start(self, writer: Any) -> None:
        writer = writer.option("checkpointLocation", str(self.tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()

    def write(self, frame: DataFrame, batch: int) -> None:
        self.rows += [(batch, row) for row in frame.collect()]

    def check(self, batches: int) -> None:
        """Each key is counted once a batch, each by the subtask of its partition."""
        found = sorted((row.key, batch, row.n) for batch, row in self.rows)
        assert found == sorted((key, at, at + 1) for key in KEYS for at in range(batches))
        tasks = {(row.key, row.subtask) for _, row in self.rows}
        assert len(tasks) == len(KEYS)
        assert {task for _, task in tasks} == set(range(self.partitions))


@pytest.fixture
def query(spark: SparkSession, tmp_path: Path) -> Iterator[Query]:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    yield Query(spark, tmp_path)
    spark.conf.set("spark.sql.shuffle.partitions", before or "2")


def test_fewer_tasks_than_partitions(query: Query) -> None:
    """A task that runs several partitions, under one number of Spark's, writes each as its own."""
    for batches, tasks in enumerate((3, 2, 1, 8), 1):
        query.add(1)
        frame = query.counts().to_df().coalesce(tasks)
        query.start(frame.writeStream.foreachBatch(query.write))
        query.check(batches)
    assert query.failed.exists()


def test_tasks_that_are_numbered_after_others(query: Query) -> None:
    """In a union of DataFrames, whose tasks a coalesce puts together besides."""
    query.add(2)
    other = Source(query.spark, query.tmp_path / "other", SCHEMA)
    other.add([])
    nothing = other.stream().selectExpr("key", "n", "n as subtask").where("key is null")
    frame = nothing.union(query.counts().to_df())
    query.start(frame.writeStream.foreachBatch(query.write))
    query.add(1)
    frame = nothing.union(query.counts().to_df()).coalesce(2)
    query.start(frame.writeStream.foreachBatch(query.write))
    query.check(3)


@pytest.mark.parametrize("backend", ["versioned", "store"])
def test_user_code_within_foreach_batch(query: Query, backend: str) -> None:
    """Whatever it does with the rows, the operator has run to its end before, once."""
    query.backend = backend
    context = query.spark.sparkContext
    history = query.spark.createDataFrame([], COUNTED)

    def nothing(main: DataFrame) -> None:
        pass

    def first(main: DataFrame) -> None:
        main.first()

    def group(main: DataFrame) -> None:
        context.setJobGroup("mine", "my own jobs")
        main.limit(2).collect()

    def union(main: DataFrame) -> None:
        assert history.union(main).coalesce(1).count() == len(KEYS)

    def threads(main: DataFrame) -> None:
        found: list[int] = []
        several = [
            threading.Thread(target=lambda: found.append(main.repartition(3).count()))
            for _ in range(2)
        ]
        for one in several:
            one.start()
        for one in several:
            one.join()
        assert found == [len(KEYS)] * 2

    def parts(main: DataFrame) -> None:
        main.coalesce(1).createOrReplaceTempView("reshaped")
        spark = main.sparkSession
        found = spark.sql("SELECT /*+ COALESCE(1) */ a.key FROM reshaped a, reshaped b LIMIT 3")
        assert len(found.collect()) == 3

    acts: list[Callable[[DataFrame], None]] = [nothing, first, group, union, threads, parts]
    acts = acts[: 3 if backend == "store" else None]  # whose batches take longer

    def write(batch: int, main: DataFrame) -> None:
        if batch < len(acts):
            acts[batch](main)
        if batch in (1, len(acts)):
            query.write(main, batch)

    for batches in (2, len(acts) - 2, 1):  # a run of the query each
        query.add(batches)
        query.start(query.counts().foreach_batch(write))
    counts = {(batch, row.n) for batch, row in query.rows}
    assert counts == {(1, 2), (len(acts), len(acts) + 1)}
    assert len(query.rows) == 2 * len(KEYS)


def test_rows_of_an_earlier_batch(query: Query) -> None:
    """A DataFrame that was kept, and is run again in a later batch, would count its rows there."""
    query.in_partitions(2)
    query.add(2)
    kept: list[DataFrame] = []

    def write(frame: DataFrame, batch: int) -> None:
        if batch == 1:
            kept[0].count()
        kept.append(frame)
        query.write(frame, batch)

    with pytest.raises(Exception, match=r"an earlier micro-batch was kept and is run again"):
        query.start(query.counts().to_df().writeStream.foreachBatch(write))
    query.start(query.counts().to_df().writeStream.foreachBatch(query.write))
    query.check(2)


def test_a_sink_that_reads_a_part(query: Query) -> None:
    """Spark commits the batch; the next one says what is missing, and how to go on."""
    query.in_partitions(2)
    query.add(2)
    with pytest.raises(Exception, match=r"wrote no state in batch 0.*commits/0"):
        query.start(query.counts().to_df().writeStream.foreachBatch(lambda frame, _: frame.first()))
    for gone in ("commits/0", "commits/.0.crc", "offsets/1", "offsets/.1.crc"):
        (query.tmp_path / "checkpoint" / gone).unlink()
    query.start(query.counts().to_df().writeStream.foreachBatch(query.write))
    query.check(2)


def test_offsets_that_are_written_late(query: Query) -> None:
    query.in_partitions(2)
    query.add(1)
    writer = query.counts().to_df().writeStream.format("noop")
    writer = writer.option("asyncProgressTrackingEnabled", "true")
    writer = writer.option("_asyncProgressTrackingOverrideSinkSupportCheck", "true")
    writer = writer.option("checkpointLocation", str(query.tmp_path / "checkpoint"))
    with pytest.raises(Exception, match=r"has the option asyncProgressTrackingEnabled"):
        writer.start().awaitTermination()
    assert not list((query.tmp_path / "checkpoint").rglob("*.state"))
