"""Vectorised windows in the processor, called as Spark calls it; each batch is a new task."""

from datetime import datetime
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given, settings

from flinkish.common import OutputTag
from flinkish.functions.aggregates import (
    Avg,
    BuiltInAggregates,
    Count,
    First,
    Last,
    Max,
    Min,
    Sum,
)
from flinkish.operators.vector_window import WindowSpec
from flinkish.spark.keyed.columns.plan import VectorPlan
from flinkish.spark.keyed.plan import OperatorPlan
from flinkish.windowing import (
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from tests.models.vector_windows import ModelWindows
from tests.spark.fake_spark import SCHEMA, FakeSpark, plan

AGGREGATES = (Count(), Sum("n"), Avg("n"), Min("n"), Max("n"), First("n"), Last("n"))
LATE = OutputTag("late", "key string, n bigint, ts timestamp")
BASE = 1_700_000_000_000
ASSIGNERS = [
    TumblingEventTimeWindows.of(10),
    SlidingEventTimeWindows.of(20, 5),
    SlidingEventTimeWindows.of(20, 7, 3),
    CumulativeEventTimeWindows.of(20, 5),
    EventTimeSessionWindows.with_gap(6),
]


def windows(
    assigner: WindowAssigner,
    directory: Path,
    lateness: int = 0,
    late: OutputTag | None = None,
    **changes: Any,
) -> OperatorPlan:
    vector = VectorPlan(WindowSpec.of(assigner, lateness), AGGREGATES, late)
    keys = changes.get("key_columns", ("key",))
    return plan(vector, vector.output(keys, SCHEMA), directory, **changes)


def plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row of output with its window in ms from BASE on."""
    key, begin, end, *results = row
    return (key, millis(begin), millis(end), tuple(results))


def millis(at: datetime) -> int:
    return round(at.timestamp() * 1000) - BASE


ROWS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(-3, 3), st.integers(0, 80)),
    min_size=1,
    max_size=15,
)


@settings(max_examples=40)
@given(
    st.sampled_from(ASSIGNERS),
    st.sampled_from([0, 12]),
    st.booleans(),
    st.lists(st.tuples(ROWS, st.integers(0, 20)), min_size=1, max_size=6),
)
def test_batches_give_what_the_window_operator_gives(
    tmp_path_factory: pytest.TempPathFactory,
    assigner: WindowAssigner,
    lateness: int,
    keeps_late: bool,
    batches: list[Any],
) -> None:
    directory = tmp_path_factory.mktemp("tables")
    operator = windows(assigner, directory, lateness, LATE if keeps_late else None)
    model = ModelWindows(assigner, BuiltInAggregates(AGGREGATES), lateness)
    spark = FakeSpark()
    watermark = dropped = 0
    for rows, step in [*batches, ([], 10_000)]:
        watermark += step
        spark.clock += 1
        model.advance(BASE + watermark - 1)
        for key, n, time in rows:
            model.process(key, {"n": n}, BASE + time)
        taken = (LATE.tag_id, SCHEMA) if keeps_late and len(batches) % 2 else None
        found = spark.batch(
            operator,
            [(key, n, BASE + time) for key, n, time in rows],
            BASE + watermark,
            take=taken,
        )
        dropped += spark.counters.get("late_rows", 0)
        if taken is None:
            expected = [(k, b - BASE, e - BASE, r) for k, b, e, r in model.output]
            assert sorted(map(plain, found)) == sorted(expected)
        else:
            late = [(key, value["n"], time - BASE) for key, value, time in model.late]
            assert sorted((key, n, millis(at)) for key, n, at in found) == sorted(late)
            model.late.clear()
            dropped = 0
        model.output.clear()
    assert dropped == len(model.late)


def test_rows_travel_as_records_of_panes(tmp_path: Path) -> None:
    operator = windows(TumblingEventTimeWindows.of(10), tmp_path, max_parallelism=1)
    spark = FakeSpark()
    spark.batch(operator, [("a", n, BASE + 5) for n in range(1000)], 1)
    assert spark.counters["rows"] == 1000
    found = spark.batch(operator, [], BASE + 10)
    total = sum(range(1000))
    assert list(map(plain, found)) == [("a", 0, 10, (1000, total, 499.5, 0, 999, 0, 999))]


def test_keys_of_several_columns_and_rows_without_one(tmp_path: Path) -> None:
    assigner = TumblingEventTimeWindows.of(10)
    operator = windows(
        assigner,
        tmp_path,
        key_columns=("key", "n"),
        key_types=(None, "long"),
        null_keys="drop",
    )
    spark = FakeSpark()
    rows = [("a", 1, 1), ("a", 2, 1), ("a", 1, 2), (None, 1, 3), ("b", None, 4)]
    spark.batch(operator, [(key, n, BASE + at) for key, n, at in rows], 1)
    assert spark.counters["null_keys"] == 2
    found = spark.batch(operator, [], BASE + 10)
    assert sorted((key, n, count) for key, n, _, _, count, *_ in found) == [
        ("a", 1, 2),
        ("a", 2, 1),
    ]


def test_only_columns_that_are_read_travel() -> None:
    wide = SCHEMA.append(pa.field("text", pa.string()))
    vector = VectorPlan(WindowSpec.of(TumblingEventTimeWindows.of(10)), (Sum("n"),))
    assert vector.columns(("key",), wide) == ["key", "n"]
    late = VectorPlan(vector.spec, vector.aggregates, LATE)
    assert late.columns(("key",), wide) == wide.names
