"""Chains, unions and elements of declared types in streams, with both ways to keep state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from flinkish.common import Duration, Types, WatermarkStrategy
from flinkish.common.errors import (
    UnsupportedOperationError,
)
from flinkish.datastream.state import MapStateDescriptor
from flinkish.functions.aggregates import Sum
from flinkish.spark import DataStream, ProcessedStream, StateSettings
from flinkish.windowing import TumblingEventTimeWindows
from tests.spark.element_functions import (
    Counts,
    Ignores,
    Join,
    Rules,
    Spread,
)
from tests.spark.functions import Silence
from tests.spark.support import GROUPS, Outcome, Source, iso, run, timed
from tests.spark.test_chained import TOTALS, Totals
from tests.spark.traffic import OUT, SCHEMA, feed, random_batches

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
PARTITIONS = "spark.sql.shuffle.partitions"


@pytest.fixture
def five_partitions(spark: SparkSession) -> Iterator[None]:
    """More partitions than tasks before a shuffle have marks for."""
    before = spark.conf.get(PARTITIONS)
    spark.conf.set(PARTITIONS, "5")
    yield
    spark.conf.set(PARTITIONS, before)


class Assigned:
    """The second field of an element, in seconds."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1]) * 1000


def silence(stream: DataStream, state: StateSettings, uid: str | None = None) -> ProcessedStream:
    return stream.key_by("key").process(
        Silence(), schema=OUT, max_parallelism=GROUPS, state=state, uid=uid
    )


def totals(stream: DataStream, state: StateSettings) -> ProcessedStream:
    return stream.key_by("n").process(Totals(), schema=TOTALS, max_parallelism=GROUPS, state=state)


def rows_of(outcome: Outcome) -> Counter[Any]:
    return Counter(map(repr, outcome.rows()))


@pytest.mark.filterwarnings("ignore:_every_other.* as it runs:UserWarning")
@pytest.mark.parametrize("backend", ["store", "versioned"])
def test_a_chain_between_operators_changes_nothing_but_elements(
    spark: SparkSession, tmp_path: Path, backend: Any
) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    feed(source, random_batches(11, batches=3, rows=60, keys=14))
    state = StateSettings(table_dir=str(tmp_path / "tables"), backend=backend)

    def kept(stream: DataStream) -> DataStream:
        same = stream.map(lambda row: row).flat_map(lambda row: [row, row])
        return same.filter(
            _every_other(),
        ).map(lambda row: row, schema=stream.to_df().schema)

    plain = totals(silence(timed(source.stream(), 1000), state), state)
    expected = run(plain, tmp_path / "plain")
    first = kept(timed(source.stream(), 1000))
    chained = totals(kept(silence(first, state)), state)
    found = run(chained, tmp_path / "chained")
    assert rows_of(found) == rows_of(expected)
    assert len(found.batches) == len(expected.batches)
    for name in ("rows", "late_rows", "timers_registered", "timers_fired"):
        assert found.statistics[name] == expected.statistics[name], name


class _every_other:
    """Keeps the first of two equal elements that follow each other."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, value: Any) -> bool:
        self.count += 1
        return self.count % 2 == 1


@pytest.mark.parametrize("backend", ["store", "versioned"])
def test_time_passes_by_elements_that_a_filter_drops(
    spark: SparkSession, tmp_path: Path, backend: Any
) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    for ms in (1000, 9000, 9500):
        source.add([{"key": "k", "n": ms, "ts": iso(ms)}])
    state = StateSettings(table_dir=str(tmp_path / "tables"), backend=backend)
    early = timed(source.stream()).filter(lambda row: row.n == 1000)
    windows = early.key_by("key").window(
        TumblingEventTimeWindows.of(2000), max_parallelism=GROUPS, state=state
    )
    assert [row[-1] for row in run(windows.aggregate(Sum("n")), tmp_path / "c").rows()] == [1000]


def test_typed_streams_of_all_kinds_of_operators(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "in", "name string, n bigint")
    for batch in ([("a", 1), ("b", 2)], [("a", 2), ("a", 9)]):
        source.add([{"name": name, "n": n} for name, n in batch])

    def typed() -> DataStream:
        pairs = DataStream(source.stream(), PAIR)
        strategy: Any = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(0))
        return pairs.filter(lambda pair: True).assign_timestamps_and_watermarks(
            strategy.with_timestamp_assigner(Assigned())
        )

    small: Any = {"max_parallelism": GROUPS, "state": StateSettings(table_dir=str(tmp_path / "t"))}
    rolling = typed().key_by(lambda pair: pair[0], Types.STRING()).sum(1, **small)
    assert sorted(run(rolling, tmp_path / "sum").rows()) == [
        ("a", 1),
        ("a", 3),
        ("a", 12),
        ("b", 2),
    ]
    keyed = typed().key_by(lambda pair: pair[0])
    spread = keyed.window(TumblingEventTimeWindows.of(4000), **small).process(
        Spread(), Types.TUPLE([Types.STRING(), Types.LIST(PAIR), Types.LONG()])
    )
    found = [
        (key, [tuple(one) for one in every], at)
        for key, every, at in run(spread, tmp_path / "w").rows()
    ]
    assert sorted(found) == [("a", [("a", 1), ("a", 2)], 0), ("b", [("b", 2)], 0)]
    columns = typed().key_by("name").window(TumblingEventTimeWindows.of(4000), **small)
    assert "by columns" in columns.aggregate(Sum("n")).explain()
    joined = keyed.interval_join(typed().key_by(lambda pair: pair[0])).between(-1000, 1000)
    pairs = joined.process(Join(), Types.TUPLE([PAIR, PAIR]), **small)
    assert Counter(tuple(map(tuple, row)) for row in run(pairs, tmp_path / "j").rows()) == {
        (("a", 1), ("a", 1)): 1,
        (("a", 1), ("a", 2)): 1,
        (("a", 2), ("a", 1)): 1,
        (("a", 2), ("a", 2)): 1,
        (("a", 9), ("a", 9)): 1,
        (("b", 2), ("b", 2)): 1,
    }
    rules = typed().map(lambda pair: pair[1], Types.LONG())
    descriptor = MapStateDescriptor("rules", Types.STRING(), Types.STRING())
    connected = typed().connect(rules.broadcast(descriptor))
    counted = connected.process(Rules(), Types.STRING(), state=small["state"], max_parallelism=2)
    seen = {row for (row,) in run(counted, tmp_path / "b").rows()}
    assert seen == {"value tuple", "rule int"}


def test_united_streams_have_the_lower_watermark(spark: SparkSession, tmp_path: Path) -> None:
    fast, slow = (Source(spark, tmp_path / name, SCHEMA) for name in ("fast", "slow"))
    fast.add([{"key": "k", "n": 1, "ts": iso(1000)}, {"key": "k", "n": 2, "ts": iso(90_000)}])
    slow.add([{"key": "k", "n": 4, "ts": iso(1500)}])
    slow.add([{"key": "k", "n": 8, "ts": iso(1700)}])
    slow.add([{"key": "k", "n": 16, "ts": iso(50_000)}])
    slow.add([{"key": "k", "n": 16, "ts": iso(50_000)}])
    state = StateSettings(table_dir=str(tmp_path / "tables"))
    # One of the two goes through a chain.
    other = timed(slow.stream()).filter(lambda row: True)
    both = timed(fast.stream()).union(other)
    windows = both.key_by("key").window(
        TumblingEventTimeWindows.of(2000), max_parallelism=GROUPS, state=state
    )
    outcome = run(windows.aggregate(Sum("n")), tmp_path / "c")
    fired = {batch: outputs[""] for batch, outputs in outcome.batches.items() if outputs[""]}
    assert min(fired) == 3, "the slow one comes past 2000 with batch 2, which the next one sees"
    assert fired[3][0][-1] == 13
    versioned = StateSettings(table_dir=str(tmp_path / "tables"), backend="versioned")
    windows = both.key_by("key").window(
        TumblingEventTimeWindows.of(2000), max_parallelism=GROUPS, state=versioned
    )
    outcome = run(windows.aggregate(Sum("n")), tmp_path / "d")
    fired = {batch: outputs[""] for batch, outputs in outcome.batches.items() if outputs[""]}
    assert min(fired) == 2, "with versioned state time passes in the batch itself"
    assert fired[2][0][-1] == 13
    with pytest.raises(UnsupportedOperationError, match="unite the streams before"):
        both.union(silence(both, state).map(lambda row: row, schema=SCHEMA))


@pytest.mark.usefixtures("five_partitions")
@pytest.mark.parametrize("backend", ["store", "versioned"])
def test_outputs_of_operators_are_united(spark: SparkSession, tmp_path: Path, backend: Any) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    feed(source, random_batches(13, batches=2, rows=30, keys=6))
    state = StateSettings(table_dir=str(tmp_path / "tables"), backend=backend)
    rows = timed(source.stream(), 1000)
    plain = silence(rows, state)
    expected = rows_of(run(totals(plain, state), tmp_path / "plain"))
    # Each key goes to one of two operators, with the watermark of all.
    halves = [silence(rows.filter(OfHalf(half)), state, f"half-{half}") for half in (0, 1)]
    both = totals(halves[0].union(halves[1]), state)
    assert rows_of(run(both, tmp_path / "both")) == expected
    twice = plain.filter(lambda row: True)
    if backend == "versioned":
        with pytest.raises(UnsupportedOperationError, match=r"'Silence-1' twice"):
            plain.union(twice)
        with pytest.raises(UnsupportedOperationError, match=r"'Silence-1' twice"):
            plain.key_by("n").connect(twice.key_by("n")).process(
                Ignores(), Types.LONG(), state=state
            )
        frames = rows.to_df().select("key").union(plain.to_df().select("key"))
        _written(frames, tmp_path / "frames")
        frames = rows.to_df().select("key").union(plain.to_df().repartition(3).select("key"))
        _written(frames, tmp_path / "apart")
    else:
        plain.union(twice)


def _written(frame: DataFrame, checkpoint: Path) -> None:
    writer = frame.writeStream.foreachBatch(lambda rows, batch: rows.count())
    writer.option("checkpointLocation", str(checkpoint)).trigger(
        availableNow=True
    ).start().awaitTermination()


class OfHalf:
    """Of the keys one half or the other."""

    def __init__(self, half: int) -> None:
        self.half = half

    def __call__(self, row: Any) -> bool:
        return sum(map(ord, str(row.key))) % 2 == self.half


@pytest.mark.parametrize("backend", ["store", "versioned"])
def test_two_operators_before_one_of_two_inputs(
    spark: SparkSession, tmp_path: Path, backend: Any
) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    feed(source, random_batches(17, batches=3, rows=30, keys=6))
    state = StateSettings(table_dir=str(tmp_path / "tables"), backend=backend)
    rows = timed(source.stream(), 1000)
    one, other = (silence(rows, state, name).key_by("n") for name in ("one", "other"))
    both = one.connect(other).process(
        Counts(), "n bigint, one bigint, other bigint", max_parallelism=GROUPS, state=state
    )
    found = run(both, tmp_path / "both")
    last = {n: (first, second) for n, first, second in found.rows()}
    expected = Counter(row[2] for row in run(silence(rows, state), tmp_path / "one").rows())
    assert last == {n: (count, count) for n, count in expected.items()}
