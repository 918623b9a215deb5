"""Keyed functions over batch DataFrames: key by key, in the order of time, to the end of time."""

import random
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from flinkish.common import OutputTag, Row
from flinkish.common.timestamps import MAX_TIMESTAMP, MIN_TIMESTAMP
from flinkish.datastream.functions import KeyedProcessFunction
from flinkish.spark import DataStream
from tests.models.keyed_process import KeyedProcessModel
from tests.spark.functions import LATE, ODD, Silence
from tests.spark.support import by_key, timed

OUT = "key string, what string, n bigint, at bigint"
NOBODY = OutputTag("nobody", "key string, n int, ts timestamp")


def frame(spark: SparkSession, rows: list[tuple[str | None, int, int]]) -> DataFrame:
    stamped = [(key, n, datetime.fromtimestamp(at / 1000, timezone.utc)) for key, n, at in rows]
    return spark.createDataFrame(stamped, "key string, n int, ts timestamp").repartition(3, "n")


def expected(rows: list[tuple[str, int, int]]) -> list[tuple[str, Any]]:
    """(tag, value) of each key by itself: all its rows, then the end of time."""
    found = []
    for key in {row[0] for row in rows}:
        model = KeyedProcessModel(Silence(), lambda row: row.key)
        mine = sorted((row for row in rows if row[0] == key), key=lambda row: row[2])
        given = model.batch([(Row(key=key, n=n), at) for key, n, at in mine], MIN_TIMESTAMP)
        given += model.batch([], MAX_TIMESTAMP)
        found += [(tag, value) for tag, value, _ in given]
    return found


@pytest.mark.parametrize("keys", ["column", "function"])
def test_keys_one_by_one(spark: SparkSession, keys: str) -> None:
    chance = random.Random(51)
    # Times are all different, or the order of rows would be Spark's choice.
    times = chance.sample(range(1_000_000), 1500)
    rows = [(f"k{chance.randrange(200)}", number, at) for number, at in enumerate(times)]
    rows += [("big", number, 2_000_000 + number) for number in range(500)]
    setting = "spark.sql.execution.arrow.maxRecordsPerBatch"
    spark.conf.set(setting, "64")  # keys go on from one Arrow batch to the next
    try:
        key: Any = "key" if keys == "column" else lambda row: row.key
        stream = timed(frame(spark, rows)).key_by(key).process(Silence(), schema=OUT)
        found = [tuple(row) for row in stream.to_df().collect()]
        counted = stream.statistics()
        late = stream.get_side_output(LATE).to_df().count()
        odd = [tuple(row) for row in stream.get_side_output(ODD).to_df().collect()]
    finally:
        spark.conf.unset(setting)
    wanted = expected(rows)
    assert by_key(found) == by_key(value for tag, value in wanted if tag == "")
    assert by_key(odd) == by_key(value for tag, value in wanted if tag == "odd")
    assert late == 0
    assert counted["rows"] == len(rows)
    assert counted["late_rows"] == counted["null_keys"] == 0
    assert counted["timers_fired"] == sum(value[1] == "timer" for _, value in wanted)


class Keys(KeyedProcessFunction):
    """Counts; shows the key as the function sees it."""

    def open(self, runtime_context: Any) -> None:
        from flinkish.datastream.state import ValueStateDescriptor

        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield repr(ctx.get_current_key()), self.count.value()


KEYS = {
    "int": [1, -7, 2**31 - 1],
    "bigint": [1, -(2**63), 2**62],
    "smallint": [1, -2, 3],
    "string": ["", "ä", "key"],
    "binary": [b"", b"\0\xff", b"key"],
    "boolean": [True, False],
    "double": [0.5, -1e300],
    "date": [date(2026, 3, 1), date(1960, 1, 1)],
    "timestamp": [datetime(2026, 3, 1, 12, 30, 0, 5, timezone.utc)],
    "timestamp_ntz": [datetime(1999, 3, 1, 12, 30)],
    "decimal(20,2)": [Decimal("1.5"), Decimal("-12345678901234567.89")],
}


def test_types_of_keys(spark: SparkSession) -> None:
    """Every type in one action: an operator for each, united."""
    united = None
    for kind, keys in KEYS.items():
        at = datetime(2026, 1, 1, tzinfo=timezone.utc)
        rows = [(key, at) for key in keys for _ in range(3)]
        data = timed(spark.createDataFrame(rows, f"key {kind}, ts timestamp"))
        counted = data.key_by("key").process(Keys(), schema="key string, n bigint", uid=kind)
        out = counted.to_df().selectExpr(f"'{kind}' as kind", "*")
        united = out if united is None else united.union(out)
    two = timed(spark.createDataFrame([(1, "x", at)] * 3, "a int, b string, ts timestamp"))
    pair = two.key_by("a", "b").process(Keys(), schema="key string, n bigint", uid="pair")
    chosen = two.key_by(lambda row: (row.b, row.a, 1.5)).process(
        Keys(), schema="key string, n bigint", uid="chosen"
    )
    for kind, out in (("pair", pair), ("chosen", chosen)):
        united = united.union(out.to_df().selectExpr(f"'{kind}' as kind", "*"))
    found = {(row.kind, row.key, row.n) for row in united.coalesce(1).collect()}
    wanted = {(kind, repr(key), 3) for kind, keys in KEYS.items() for key in keys}
    wanted |= {("pair", repr((1, "x")), 3), ("chosen", repr(("x", 1, 1.5)), 3)}
    assert found == wanted


def test_rows_without_a_key(spark: SparkSession) -> None:
    rows: list[tuple[str | None, int, int]] = [("a", 1, 1), (None, 2, 2), (None, 3, 3), ("a", 4, 4)]
    keyed = timed(frame(spark, rows)).key_by("key")
    dropped = keyed.process(Silence(), schema=OUT, null_keys="drop")
    assert {row.key for row in dropped.to_df().collect()} == {"a"}
    assert dropped.statistics()["null_keys"] == 2
    assert dropped.statistics()["rows"] == 2

    def key(row: Any) -> Any:
        return row.key

    for keys in ("key", key):
        routed = (
            timed(frame(spark, rows)).key_by(keys).process(Silence(), schema=OUT, null_keys=NOBODY)
        )
        found = routed.get_side_output(NOBODY).to_df().collect()
        assert sorted(row.n for row in found) == [2, 3]
        assert {row.ts.timestamp() * 1000 for row in found} == {2, 3}


def test_nothing_comes_of_nothing(spark: SparkSession) -> None:
    stream = timed(frame(spark, [])).key_by("key").process(Silence(), schema=OUT)
    assert stream.to_df().collect() == []
    assert stream.statistics()["rows"] == 0


class NoTime(KeyedProcessFunction):
    """Has no event time, unless it is told."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value.key, ctx.timestamp()


def test_streams_without_event_time(spark: SparkSession) -> None:
    stream = DataStream(frame(spark, [("a", 1, 1)])).key_by("key")
    rows = stream.process(NoTime(), schema="key string, at bigint").to_df().collect()
    assert list(map(tuple, rows)) == [("a", None)]


def test_two_outputs_in_one_action(spark: SparkSession) -> None:
    rows = [(f"k{n % 5}", n, 100_000 + n * 1000) for n in range(40)]
    stream = timed(frame(spark, rows)).key_by("key").process(Silence(), schema=OUT)
    both = stream.to_df().select("key").union(stream.get_side_output(ODD).to_df().select("key"))
    wanted = expected(rows)
    assert both.count() == len(wanted)


class Heartbeat(KeyedProcessFunction):
    """Each timer registers the next one, for ever, on both clocks."""

    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 60_000)
        ctx.timer_service().register_processing_time_timer(60_000)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(timestamp + 60_000)
        ctx.timer_service().register_processing_time_timer(timestamp + 60_000)
        yield ctx.get_current_key(), timestamp


def test_timers_that_register_the_next_at_the_end_of_time(spark: SparkSession) -> None:
    """Flink: B.28; they are ignored, so the operator ends."""
    stream = timed(frame(spark, [("a", 1, 5_000), ("b", 1, 7_000)])).key_by("key")
    beats = stream.process(Heartbeat(), schema="key string, at bigint", processing_time_timers=True)
    found = sorted(tuple(row) for row in beats.to_df().collect())
    assert found == [("a", 60_000), ("a", 65_000), ("b", 60_000), ("b", 67_000)]
