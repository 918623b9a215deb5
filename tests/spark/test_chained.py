"""Two operators in one query: the second sees what the first gives when Flink's would see it."""

from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from flinkish.common import Row, Types
from flinkish.common.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from flinkish.common.errors import UnsupportedOperationError
from flinkish.datastream.functions import KeyedProcessFunction
from flinkish.datastream.state import ValueStateDescriptor
from flinkish.spark import DataStream, ProcessedStream
from tests.models.keyed_process import KeyedProcessModel
from tests.spark.functions import Silence
from tests.spark.support import GROUPS, Outcome, Source, run, timed, watermarks
from tests.spark.traffic import OUT, SCHEMA, feed, random_batches

NAMES = ("key", "what", "n", "at")
TOTALS = "n bigint, what string, at bigint, rows bigint, total bigint"


class Totals(KeyedProcessFunction):
    """Adds up until a bucket of time is full; the order of rows makes no difference to it."""

    def open(self, runtime_context: Any) -> None:
        self.rows = runtime_context.get_state(ValueStateDescriptor("rows", Types.LONG()))
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.rows.update((self.rows.value() or 0) + 1)
        self.total.update((self.total.value() or 0) + value.at)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() // 3000 * 3000 + 3000)
        yield value.n, value.what, ctx.timestamp(), 0, value.at

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), "full", timestamp, self.rows.value(), self.total.value()
        self.rows.clear()
        self.total.clear()


def chain(stream: DataStream) -> ProcessedStream:
    first = stream.key_by("key").process(Silence(), schema=OUT, max_parallelism=GROUPS)
    return first.key_by("n").process(Totals(), schema=TOTALS, max_parallelism=GROUPS)


def rows_of(given: list[tuple[str, Any, int | None]]) -> list[tuple[Any, int | None]]:
    named = [(dict(zip(NAMES, value, strict=True)), at) for tag, value, at in given if tag == ""]
    return [(Row(**value), at) for value, at in named]


def check_chain(outcome: Outcome, batches: list[list[dict[str, Any]]]) -> None:
    """Each micro-batch gave what two models, one behind the other, give."""
    first = KeyedProcessModel(Silence(), lambda row: row.key)
    second = KeyedProcessModel(Totals(), lambda row: row.n)
    marks = watermarks([[row["at"] for row in rows] for rows in batches], 1000)
    for number, (rows, mark) in enumerate(zip([*batches, []], marks, strict=True)):
        watermark = MIN_TIMESTAMP if mark is None else mark
        # What the first gives on the way to the watermark reaches the second before it.
        before = rows_of(first.batch([], watermark))
        after = rows_of(
            first.batch([(Row(key=row["key"], n=row["n"]), row["at"]) for row in rows], watermark)
        )
        for value, at in before:
            second.element(value, at)
        wanted = second.batch(after, watermark)
        found = Counter(outcome.batches[number][""])
        assert found == Counter(value for _, value, _ in wanted), f"batch {number}"
    assert second.counts["timers_fired"] > 5
    assert outcome.statistics["timers_fired"] == second.counts["timers_fired"]
    assert outcome.statistics["rows"] == second.counts["rows"]


def test_streams(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    batches = random_batches(61, batches=4, rows=60, keys=14)
    feed(source, batches)
    check_chain(run(chain(timed(source.stream(), 1000)), tmp_path / "checkpoint"), batches)


def test_batches(spark: SparkSession) -> None:
    rows = [(f"k{n % 7}", n, 1000 * n + n % 3) for n in range(100)]
    stamped = [(key, n, datetime.fromtimestamp(at / 1000, timezone.utc)) for key, n, at in rows]
    frame = spark.createDataFrame(stamped, "key string, n bigint, ts timestamp")
    found = Counter(map(tuple, chain(timed(frame)).to_df().collect()))

    between = []
    for key in {key for key, _, _ in rows}:
        first = KeyedProcessModel(Silence(), lambda row: row.key)
        mine = [(Row(key=key, n=n), at) for name, n, at in rows if name == key]
        between += rows_of(first.batch(mine, MIN_TIMESTAMP) + first.batch([], MAX_TIMESTAMP))
    wanted: Counter[Any] = Counter()
    for n in {value.n for value, _ in between}:
        second = KeyedProcessModel(Totals(), lambda row: row.n)
        mine = [(value, at) for value, at in between if value.n == n]
        given = second.batch(mine, MIN_TIMESTAMP) + second.batch([], MAX_TIMESTAMP)
        wanted.update(value for _, value, _ in given)
    assert found == wanted


def test_nothing_follows_processing_time(spark: SparkSession) -> None:
    ticks = spark.readStream.format("rate").load()
    first = (
        timed(ticks, column="timestamp")
        .key_by("value")
        .process(Silence(), schema=OUT, processing_time_timers=True)
    )
    with pytest.raises(UnsupportedOperationError, match="passes no watermark on"):
        first.key_by("n").process(Totals(), schema=TOTALS)
