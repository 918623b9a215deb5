"""Windows in the processor, called as Spark calls it; each batch is a new task."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given, settings

from flinkish._core.state.table import StateTable
from flinkish.common import OutputTag, Row
from flinkish.common.errors import IllegalStateError, StateMigrationError
from flinkish.functions import ProcessWindowFunction
from flinkish.operators.window_definition import WindowDefinition
from flinkish.spark.keyed.batch import _KeyByKey
from flinkish.spark.keyed.plan import OperatorPlan
from flinkish.windowing import (
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from tests.models.window_operator import WindowModel
from tests.spark.fake_spark import SCHEMA, FakeSpark, plan

BASE = 1_700_000_000_000
OUT = pa.schema(
    [("key", pa.string()), ("start", pa.int64()), ("end", pa.int64()), ("n", pa.list_(pa.int64()))]
)
LATE = OutputTag("late", "key string, n bigint, ts timestamp")


class Spans(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        window = context.window()
        start, end = getattr(window, "start", BASE), getattr(window, "end", BASE)
        yield key, start - BASE, end - BASE, sorted(row.n for row in elements)


def windows(definition: WindowDefinition, directory: Path, **changes: Any) -> OperatorPlan:
    return plan(definition.with_function(Spans(), "process"), OUT, directory, **changes)


ROWS = st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 80)), min_size=1, max_size=15)
ASSIGNERS = [
    TumblingEventTimeWindows.of(10),
    SlidingEventTimeWindows.of(20, 5),
    EventTimeSessionWindows.with_gap(6),
]


@settings(max_examples=25)
@given(
    st.sampled_from(ASSIGNERS),
    st.sampled_from([0, 12]),
    st.sampled_from([None, 2]),
    st.lists(st.tuples(ROWS, st.integers(0, 20), st.booleans()), min_size=1, max_size=6),
)
def test_batches_give_what_the_model_gives(
    tmp_path_factory: pytest.TempPathFactory,
    assigner: Any,
    lateness: int,
    counts: int | None,
    batches: list[Any],
) -> None:
    """Also when a batch is run, thrown away, and run again (early firings are in its output)."""
    definition = WindowDefinition.of(assigner).with_lateness(lateness)
    if counts is not None:
        definition = definition.with_trigger(CountTrigger.of(counts))
    directory = tmp_path_factory.mktemp("tables")
    # Logs are rewritten all the time.
    operator = windows(definition, directory, compact_bytes=1, compact_pieces=3)
    model = WindowModel(assigner, lateness, counts)
    spark = FakeSpark()
    watermark = number = dropped = 0
    for rows, step, fails in [*batches, ([], 10_000, False)]:
        watermark += step
        spark.clock += 1
        model.advance(BASE + watermark - 1)
        given_rows = []
        for key, time in rows:
            model.process(key, number, BASE + time)
            given_rows.append((key, number, BASE + time))
            number += 1
        if fails:
            spark.batch(operator, given_rows, BASE + watermark, commit=False)
        found = spark.batch(operator, given_rows, BASE + watermark)
        expected = [(k, s - BASE, e - BASE, values) for k, s, e, values in model.take()]
        assert sorted(found) == expected
        dropped += spark.counters.get("late_rows", 0)
    assert dropped == len(model.late)


def test_what_a_window_costs_follows_what_changes(tmp_path: Path) -> None:
    definition = WindowDefinition.of(EventTimeSessionWindows.with_gap(1_000))
    operator = windows(definition, tmp_path, max_parallelism=1, compact_bytes=1 << 30)
    spark = FakeSpark()
    spark.batch(operator, [("a", n, BASE + n) for n in range(2_000)], 1)
    first = spark.counters["checkpoint_bytes"]
    spark.batch(operator, [("a", 1, BASE + 2_000)], 2)
    assert spark.counters["checkpoint_bytes"] < first // 10
    found = spark.batch(operator, [], BASE + 10_000)
    assert [(key, start, end, len(n)) for key, start, end, n in found] == [("a", 0, 3_000, 2_001)]
    spark.batch(operator, [], BASE + 20_000)
    assert spark.counters.get("checkpoint_bytes", 0) == 0, "nothing is left to be done"


def test_other_columns_are_not_taken_for_those_of_the_checkpoint(tmp_path: Path) -> None:
    definition = WindowDefinition.of(TumblingEventTimeWindows.of(10))
    operator = windows(definition, tmp_path, max_parallelism=1)
    spark = FakeSpark()
    spark.batch(operator, [("a", 1, BASE)], 1)
    renamed = pa.schema(
        [pa.field("m" if field.name == "n" else field.name, field.type) for field in SCHEMA]
    )
    other = windows(definition, tmp_path, max_parallelism=1, schema=renamed)
    with pytest.raises(StateMigrationError, match="window-contents"):
        spark.batch(other, [], BASE + 10)


def test_timers_on_the_clock_must_be_asked_for(tmp_path: Path) -> None:
    definition = WindowDefinition.of(TumblingEventTimeWindows.of(10)).with_trigger(
        ContinuousProcessingTimeTrigger.of(5)
    )
    with pytest.raises(IllegalStateError, match=r"window\(..., processing_time_timers=True\)"):
        FakeSpark().batch(windows(definition, tmp_path), [("a", 1, BASE)], 1)


class Rows(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        for row in elements:
            assert isinstance(row, Row)
            assert row.key == key
            assert (row["n"], row.ts.year) == (row.n, 2023)
        yield key, 0, 0, []


def test_functions_get_rows(tmp_path: Path) -> None:
    definition = WindowDefinition.of(TumblingEventTimeWindows.of(10))
    operator = plan(definition.with_function(Rows(), "process"), OUT, tmp_path)
    spark = FakeSpark()
    spark.batch(operator, [("a", 1, BASE), ("b", 2, BASE + 1)], 1)
    assert sorted(spark.batch(operator, [], BASE + 10)) == [("a", 0, 0, []), ("b", 0, 0, [])]


def test_a_batch_dataframe_of_many_keys_needs_the_rows_of_few(tmp_path: Path) -> None:
    definition = WindowDefinition.of(GlobalWindows.create()).with_trigger(CountTrigger.of(2))
    operator = windows(definition, tmp_path)
    run = operator.strategy.open_run(operator, StateTable(0))
    keyed = _KeyByKey(operator, run)
    fired = 0
    for number in range(40):  # contents of global windows are never cleaned up
        keys = [f"{number:03}-{at // 3:03}" for at in range(300)]
        columns = [keys, list(range(300)), [BASE + at for at in range(300)]]
        arrays = [
            pa.array(columns[0]),
            pa.array(columns[1], pa.int64()),
            pa.array(columns[2], pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC")),
        ]
        for result in keyed.process(pa.record_batch(arrays, schema=SCHEMA)):
            fired += sum(payload is not None for payload in result.column("payload").to_pylist())
        assert keyed._table.number_of_keys < 3_000
        keyed._table._check()
    run.close()
    assert fired == 40, "an output of each Arrow batch"
