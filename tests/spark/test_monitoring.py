"""What a keyed operator shows of itself: in statistics, in a query's progress, in Spark's plans."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import Observation, SparkSession
from pyspark.sql.streaming import StreamingQuery

import flinkish.spark as fs
from flinkish.common import Types
from flinkish.functions import AsyncFunction, KeyedProcessFunction, RuntimeContext
from flinkish.spark import DataStream
from flinkish.state import ValueStateDescriptor
from tests.spark.support import GROUPS, Source, iso, run, timed

SCHEMA = "key string, n long, ts timestamp"
FAR = 1_000_000


class Holding(KeyedProcessFunction):
    """Holds a value and a timer for each key, and counts what it adds; forgets a key at n = 0."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))
        group = runtime_context.get_metrics_group()
        self.added = group.add_group("money").counter("added")

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.added.inc(value.n)
        if value.n == 0:
            self.sum.clear()
            ctx.timer_service().delete_event_time_timer(FAR)
            return
        ctx.timer_service().register_event_time_timer(FAR)
        self.sum.update((self.sum.value() or 0) + value.n)
        yield value.key, self.sum.value()


def rows(keys: range, n: int) -> list[dict[str, Any]]:
    return [{"key": f"k{key}", "n": n, "ts": iso(1_000)} for key in keys]


def test_gauges_count_groups_without_rows_and_survive_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    stream = (
        timed(source.stream())
        .key_by("key")
        .process(Holding(), schema="key string, sum long", uid="holding", max_parallelism=GROUPS)
    )
    source.add(rows(range(40), 2))
    first = run(stream, tmp_path / "checkpoint").statistics
    assert (first["keys"], first["event_timers"]) == (40, 40)
    assert first["processing_timers"] == 0
    assert 1 < first["key_groups"] <= GROUPS
    assert first["log_bytes"] > 0
    assert first["table_bytes"] > 0
    assert first["metrics.money.added"] == 80
    # One key of one key group: all the others have neither rows nor due timers.
    source.add(rows(range(1), 3))
    again = run(stream, tmp_path / "checkpoint")
    second = again.statistics
    assert (second["keys"], second["event_timers"]) == (40, 40)
    assert second["key_groups"] == first["key_groups"]
    assert second["log_bytes"] > first["log_bytes"]
    assert second["metrics.money.added"] == 3
    observed = again.query.lastProgress["observedMetrics"]["flinkish.holding"]
    assert observed["keys"] in (40, None)
    source.add(rows(range(30), 0))
    third = run(stream, tmp_path / "checkpoint").statistics
    assert third["event_timers"] == 10


def test_a_batch_counts_a_functions_own(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([("a", 1), ("a", 2), ("b", 4)], "key string, n long")
    stream = DataStream(frame).key_by("key").process(Adding(), schema="key string")
    assert len(stream.to_df().collect()) == 3
    statistics = stream.statistics()
    assert statistics["metrics.sum"] == 7
    assert statistics["rows"] == 3
    assert "keys" not in statistics


class Adding(KeyedProcessFunction):
    """Adds up in a counter."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_metrics_group().counter("sum")

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.sum.inc(value.n)
        yield (value.key,)


def test_plans_name_the_operators(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    source.add(rows(range(2), 1))
    stream = (
        timed(source.stream())
        .key_by("key")
        .process(Holding(), schema="key string, sum long", uid="holding", max_parallelism=GROUPS)
    )
    writer = stream.to_df().writeStream.format("noop").trigger(availableNow=True)
    query: StreamingQuery = writer.option("checkpointLocation", str(tmp_path / "c")).start()
    query.awaitTermination()
    capfd.readouterr()
    query.explain()
    plan = capfd.readouterr().out
    assert "MapInArrow pack holding(" in plan
    assert "MapInArrow output of holding(" in plan
    assert "flinkish.holding" in plan


class Paid(AsyncFunction):
    """Squares a number, and counts what that costs."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.cost = runtime_context.get_metrics_group().counter("cost")

    async def async_invoke(self, value: Any) -> list[Any]:
        self.cost.inc(value.n)
        return [(value.n * value.n,)]


def test_calls_of_a_stream_count_their_cost(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "in", "n long")
    for batch in (range(3), range(3, 5)):
        source.add({"n": n} for n in batch)
    frame = fs.async_map(source.stream(), Paid(), "m long", name="paid")
    writer = frame.writeStream.format("noop").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    query.awaitTermination()
    counted = fs.statistics(query)["paid"]
    assert {name: n for name, n in counted.items() if n} == {
        "rows": 5,
        "results": 5,
        "metrics.cost": 10,
    }


def test_calls_of_a_batch_count_their_cost(
    spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    observation = Observation("paid")
    frame = spark.range(5).withColumnRenamed("id", "n")
    called = fs.async_map(frame, Paid(), "m long", name="paid", observation=observation)
    called.explain()
    assert "MapInArrow paid(" in capfd.readouterr().out
    assert len(called.collect()) == 5
    assert observation.get["metrics"] == {"cost": 10}


class Counting(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield (value.key,)


def test_a_union_of_operators_without_names_counts_each(
    spark: SparkSession, tmp_path: Path
) -> None:
    streams, called = [], []
    for number in (1, 2):
        source = Source(spark, tmp_path / f"in{number}", SCHEMA)
        source.add(rows(range(number), 1))
        keyed = timed(source.stream()).key_by("key")
        stream = keyed.process(Counting(), schema="key string", max_parallelism=GROUPS)
        streams.append(stream)
        called.append(fs.async_map(source.stream().select("n"), Paid(), "m long"))
    frames = [stream.to_df().selectExpr("length(key) AS m") for stream in streams]
    union = frames[0].union(frames[1]).union(called[0]).union(called[1])
    writer = union.writeStream.format("noop").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    query.awaitTermination()
    assert [stream.statistics(query)["rows"] for stream in streams] == [1, 2]
    counted = fs.statistics(query)
    assert len(counted) == 4
    assert sorted(found["rows"] for found in counted.values()) == [1, 1, 2, 2]


def test_a_batch_union_of_operators_without_names_counts_each(spark: SparkSession) -> None:
    frames = [spark.createDataFrame([("a",)] * n, "key string") for n in (1, 2)]
    streams = [
        DataStream(frame).key_by("key").process(Counting(), schema="key string") for frame in frames
    ]
    assert streams[0].to_df().union(streams[1].to_df()).count() == 3
    assert [stream.statistics()["rows"] for stream in streams] == [1, 2]
    once = streams[0].to_df()
    assert once.union(once).count() == 2


def test_two_operators_of_one_uid_are_refused_by_its_name(spark: SparkSession) -> None:
    frames = [spark.createDataFrame([("a",)] * n, "key string") for n in (1, 2)]
    first, second = (
        DataStream(frame).key_by("key").process(Counting(), schema="key string", uid="twice")
        for frame in frames
    )
    with pytest.raises(AnalysisException, match=r"DUPLICATED_METRICS_NAME.*flinkish\.twice"):
        first.to_df().union(second.to_df()).collect()
