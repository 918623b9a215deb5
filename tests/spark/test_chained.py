"""Two operators in one query: the second sees what the first gives when Flink's would see it."""

from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from flinkish.common import Row, Types
from flinkish.common.errors import UnsupportedOperationError
from flinkish.common.timestamps import MAX_TIMESTAMP, MIN_TIMESTAMP
from flinkish.datastream.functions import KeyedProcessFunction
from flinkish.datastream.state import MapStateDescriptor, ValueStateDescriptor
from flinkish.spark import DataStream, ProcessedStream
from tests.models.keyed_process import KeyedProcessModel
from tests.spark.functions import Silence
from tests.spark.support import GROUPS, Outcome, Source, iso, run, timed, watermarks
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
        watermark = ctx.timer_service().current_watermark()
        yield value.n, value.what, ctx.timestamp(), watermark, value.at

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), "full", timestamp, self.rows.value(), self.total.value()
        self.rows.clear()
        self.total.clear()


def chain(stream: DataStream) -> ProcessedStream:
    first = stream.key_by("key").process(Silence(), schema=OUT, max_parallelism=GROUPS)
    return first.key_by("n").process(Totals(), schema=TOTALS, max_parallelism=GROUPS)


class Rings(KeyedProcessFunction):
    """Sets a timer to where a row says, which names the row's `n` when it fires."""

    def open(self, runtime_context: Any) -> None:
        self.names = runtime_context.get_map_state(
            MapStateDescriptor("names", Types.LONG(), Types.LONG())
        )

    def process_element(self, value: Any, ctx: Any) -> None:
        if value.rings is not None:
            self.names.put(value.rings, value.n)
            ctx.timer_service().register_event_time_timer(value.rings)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield (self.names.get(timestamp),)


class Watermarks(KeyedProcessFunction):
    """Shows the watermark that a row sees, and keeps what makes its key group write state."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.seen.update(value.n)
        yield value.n, ctx.timestamp(), ctx.timer_service().current_watermark()


def test_a_key_group_that_was_idle_sees_the_watermark_of_the_batch_before(
    spark: SparkSession, tmp_path: Path
) -> None:
    """As in Flink: what a timer gives comes before the watermark that has it fire, and no other."""
    source = Source(spark, tmp_path / "in", "key string, n bigint, rings bigint, ts timestamp")
    stream = timed(source.stream()).key_by("key")
    first = stream.process(Rings(), schema="n bigint", max_parallelism=GROUPS)
    chained = first.key_by("n").process(
        Watermarks(), schema="n bigint, at bigint, watermark bigint", max_parallelism=GROUPS
    )

    def batch(at: int, n: int = 0, rings: int | None = None) -> None:
        source.add([{"key": "k", "n": n, "rings": rings, "ts": iso(at)}])

    # The first rings as time passes it; keys 1 and 2 are idle from then on, 3 until it rings.
    batch(10_000, n=1, rings=15_000)
    for at in (20_000, 30_000, 40_000):
        batch(at)
    batch(50_000, n=1, rings=25_000)  # in the past: it rings with the next watermark, and is late
    batch(60_000, n=3, rings=59_500)
    assert run(chained, tmp_path / "checkpoint").rows() == [
        (1, 15_000, 9_999),
        (1, 25_000, 39_999),
        (3, 59_500, 49_999),
    ]
    # The query runs again: its clock is in the checkpoint.
    batch(70_000, n=2, rings=1_000)
    batch(80_000)
    outcome = run(chained, tmp_path / "checkpoint")
    assert outcome.rows() == [(2, 1_000, 59_999)]
    assert outcome.statistics["late_rows"] == 1


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
