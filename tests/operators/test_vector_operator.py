"""The operator of windows from columns: elements and batches, late ones, snapshots, refusals."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from flinkish.common import OutputTag, StreamRecord, Types, Watermark
from flinkish.common.errors import (
    IllegalArgumentError,
    SchemaMismatchError,
    StateMigrationError,
    TimestampError,
    UnsupportedOperationError,
)
from flinkish.functions.aggregates import Avg, Count, DistinctCount, First, Last, Max, Min, Sum
from flinkish.operators.vector_operator import VectorWindowOperator
from flinkish.testing import KeyedOneInputStreamOperatorTestHarness
from flinkish.windowing import (
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

SCHEMA = pa.schema([("key", pa.string()), ("n", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
LATE = OutputTag("late", Types.PICKLED_BYTE_ARRAY())


def opened(
    assigner: Any = None, aggregates: Any = None, **settings: Any
) -> KeyedOneInputStreamOperatorTestHarness:
    windows = assigner or TumblingEventTimeWindows.of(10)
    computed = aggregates or (Count(), Sum("n"))
    operator = VectorWindowOperator(windows, computed, SCHEMA, "key", **settings)
    harness = KeyedOneInputStreamOperatorTestHarness(operator, lambda row: row["key"])
    harness.open()
    return harness


def row(key: str, n: int | None) -> dict[str, Any]:
    return {"key": key, "n": n, "at": None}


def records(harness: Any) -> list[Any]:
    """Values of the output as tuples, with their timestamps."""
    return [
        (*record.value, record.timestamp)
        for record in harness.get_output()
        if isinstance(record, StreamRecord)
    ]


def test_elements_one_by_one() -> None:
    with opened() as harness:
        harness.process_element(row("a", 1), 1)
        harness.process_element(row("b", None), 2)
        harness.process_element(row("a", 3), 9)
        harness.process_watermark(9)
        assert records(harness) == [("a", 0, 10, 2, 4, 9), ("b", 0, 10, 1, None, 9)]
        assert harness.get_output()[-1] == Watermark(9)
        assert harness.num_event_time_timers() == harness.num_keyed_state_entries() == 0
        assert harness.get_metric("numRecordsIn") == 3


def test_a_late_element_fires_within_the_lateness_and_is_sent_aside_after_it() -> None:
    """C.6, C.7, C.18."""
    with opened(allowed_lateness=20, late_tag=LATE) as harness:
        harness.process_element(row("a", 1), 1)
        harness.process_watermark(28)
        harness.process_element(row("a", 2), 2)
        harness.process_element(row("a", 3), 3)
        harness.process_watermark(29)
        harness.process_element(row("a", 4), 4)
        assert [(count, total) for _, _, _, count, total, _ in records(harness)] == [
            (1, 1),
            (2, 3),
            (3, 6),
        ]
        assert [(r.value.n, r.timestamp) for r in harness.get_side_output(LATE)] == [(4, 4)]
        assert harness.get_metric("numLateRecordsDropped") == 1


def test_a_snapshot_goes_on_elsewhere() -> None:
    """C.17."""
    with opened(SlidingEventTimeWindows.of(60, 5)) as harness:
        for at in range(0, 100, 3):
            harness.process_element(row("abc"[at % 3], at), at)
        harness.process_watermark(50)
        snapshot = harness.snapshot()
        fired = len(records(harness))
        harness.process_watermark(10_000)
        expected = records(harness)[fired:]
    operator = VectorWindowOperator(
        SlidingEventTimeWindows.of(60, 5), (Count(), Sum("n")), SCHEMA, "key"
    )
    restored = KeyedOneInputStreamOperatorTestHarness(operator, lambda row: row["key"])
    restored.initialize_state(snapshot)
    restored.open()
    restored.process_watermark(10_000)
    assert sorted(records(restored)) == sorted(expected)
    restored.close()


def test_state_of_other_windows_is_refused() -> None:
    with opened() as harness:
        harness.process_element(row("a", 1), 1)
        snapshot = harness.snapshot()
    operator = VectorWindowOperator(
        TumblingEventTimeWindows.of(20), (Count(), Sum("n")), SCHEMA, "key"
    )
    other = KeyedOneInputStreamOperatorTestHarness(operator, lambda row: row["key"])
    with pytest.raises(StateMigrationError, match="window-panes"):
        other.initialize_state(snapshot)


class Columns:
    """An output that takes columns."""

    def __init__(self) -> None:
        self.taken: list[Any] = []

    def emit(self, element: Any) -> None:
        self.taken.append(element)

    def emit_side(self, tag: Any, record: Any) -> None:
        raise AssertionError("columns were asked for")

    def emit_columns(self, tag: Any, batch: pa.RecordBatch, timestamps: Any) -> None:
        self.taken.append((tag, batch.to_pylist(), timestamps.tolist()))


def test_columns_in_and_out() -> None:
    output = Columns()
    operator = VectorWindowOperator(
        EventTimeSessionWindows.with_gap(5),
        [Min("n"), Max("n"), Avg("n"), First("n").alias("opening"), Last("at")],
        SCHEMA,
        "key",
    )
    operator.setup(output)
    operator.initialize_state()
    operator.open()
    times = np.array([1, 4, 20], np.int64)
    instants = pa.array(times * 1000).cast(SCHEMA.field("at").type)
    batch = pa.record_batch([["a", "a", "a"], [7, 2, 5], instants], schema=SCHEMA)
    operator.process_batch(batch, times)
    operator.process_watermark(Watermark(15))
    (tag, (fired,), stamps), watermark = output.taken
    assert tag is None
    assert stamps == [8]
    assert watermark == Watermark(15)
    assert list(fired) == [
        *("key", "window_start", "window_end"),
        *("min_n", "max_n", "avg_n", "opening", "last_at"),
    ]
    assert list(fired.values())[:7] == ["a", 1, 9, 2, 7, 4.5, 7]
    assert fired["last_at"].microsecond == 4000
    operator.close()


def test_bad_input() -> None:
    with opened() as harness:
        with pytest.raises(TimestampError, match="no timestamp"):
            harness.process_element(row("a", 1))
        with pytest.raises(ValueError, match=r"within 2\*\*60 of 1970"):
            harness.process_element(row("a", 1), 2**61)
        batch = pa.record_batch([pa.array(["a"])], names=["key"])
        with pytest.raises(SchemaMismatchError, match="takes"):
            harness.operator.process_batch(batch, np.array([1], np.int64))
        with pytest.raises(TimestampError, match="has no timestamp"):
            harness.operator.process_batch(
                pa.record_batch([["a"], [1], [None]], schema=SCHEMA),
                np.array([-(2**63)], np.int64),
            )
    with pytest.raises(UnsupportedOperationError, match="GlobalWindows needs each element"):
        opened(GlobalWindows.create())
    with pytest.raises(UnsupportedOperationError, match="fixed number of bytes"):
        opened(aggregates=[DistinctCount("n")])
    with pytest.raises(UnsupportedOperationError, match="of no column"):
        opened(aggregates=[Sum("m")])
    with pytest.raises(IllegalArgumentError, match="name of a column"):
        Sum(None)  # type: ignore[arg-type]


def test_a_sum_that_does_not_fit_is_refused_and_a_mean_of_it_is_not() -> None:
    with opened(aggregates=[Sum("n")]) as harness:
        for _ in range(2):
            harness.process_element(row("a", 2**63 - 1), 1)
        with pytest.raises(SchemaMismatchError, match="does not fit a bigint"):
            harness.process_watermark(9)
    with opened(aggregates=[Avg("n")]) as harness:
        for _ in range(2):
            harness.process_element(row("a", 2**63 - 1), 1)
        harness.process_watermark(9)
        assert records(harness)[0][3] == 2.0**63
