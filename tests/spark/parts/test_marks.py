"""Marks of the watermark: what tasks send, and how far an operator moves by them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.spark import internals
from flinkish.spark.keyed.marks import MarkMaker, combined, mark_payload, mark_row, moved
from flinkish.spark.keyed.packing import packer
from flinkish.spark.keyed.placement import group_at
from flinkish.spark.keyed.plan import EVENT_TIME, MARK, PHASE, OperatorPlan
from tests.spark.fake_spark import SCHEMA, plan

OUT = pa.schema([("n", pa.int64())])
NEVER = MIN_TIMESTAMP
TIMES = st.integers(-(10**12), 10**12)


def operator(**changes: Any) -> OperatorPlan:
    return plan(None, OUT, Path("nowhere"), **({"partitions": 3, "trails_by": 100} | changes))


def rows(*times_ms: int) -> pa.RecordBatch:
    times = pa.array([ms * 1000 for ms in times_ms], pa.timestamp("us", "UTC"))
    count = len(times_ms)
    return pa.record_batch([pa.array(["k"] * count), pa.array([1] * count), times], schema=SCHEMA)


def sent(made: OperatorPlan, *batches: pa.RecordBatch) -> list[tuple[int, bytes]]:
    """The marks that a task sends, with the partition that each goes to."""
    packed = [row for batch in packer(made)(iter(batches)) for row in batch.to_pylist()]
    assert packed[-1]["phase"] == MARK, "after all rows"
    return [(group_at(row["slot"]), row["payload"]) for row in packed if row["phase"] == MARK]


def test_a_task_sends_its_highest_time_to_every_partition() -> None:
    made = operator()
    assert sent(made, rows(5, 30, 20), rows(7)) == [(at, mark_payload(30, 1)) for at in range(3)]
    assert sent(made) == [(at, mark_payload(NEVER, 1)) for at in range(3)]
    timeless = operator(event_time=None, trails_by=None)
    assert {payload for _, payload in sent(timeless, rows(5))} == {mark_payload(NEVER, 1)}


def test_a_task_that_got_no_mark_sends_none() -> None:
    """A mark of the lowest time would hold the watermark back: others have the marks."""
    made = operator(chained=True, marked=True, event_time=EVENT_TIME)
    row = rows(99).append_column(EVENT_TIME, pa.array([99]))
    row = row.append_column(PHASE, pa.array([1], pa.int32()))
    packed = [row for batch in packer(made)(iter([row])) for row in batch.to_pylist()]
    assert [one["phase"] for one in packed] != []
    assert MARK not in [one["phase"] for one in packed]
    assert list(packer(made)(iter([]))) == []


def test_a_task_whose_rows_are_marks_alone_passes_the_mark_on() -> None:
    made = operator(chained=True, marked=True, event_time=EVENT_TIME)
    mark = mark_row(mark_payload(41, 1), SCHEMA)
    assert {payload for _, payload in sent(made, mark)} == {mark_payload(41, 1)}


def test_a_mark_goes_through_as_a_row() -> None:
    made = operator(chained=True, marked=True, event_time=EVENT_TIME)
    mark = mark_row(mark_payload(41, 1), SCHEMA)
    assert mark.column(PHASE).to_pylist() == [MARK]
    row = (
        rows(99)
        .append_column(EVENT_TIME, pa.array([99]))
        .append_column(PHASE, pa.array([1], pa.int32()))
    )
    maker = MarkMaker(made, 2)
    left = maker.take(pa.Table.from_batches([row, mark.cast(row.schema)]))
    assert left.num_rows == 1
    assert maker.payload() == mark_payload(41, 2), "rows say nothing of time between operators"


@given(st.lists(TIMES, min_size=1), TIMES)
def test_a_source_moves_to_the_highest_time_less_what_it_trails_by(
    times: list[int], before: int
) -> None:
    made = operator()
    found = moved(made, [before, NEVER], [mark_payload(time, 1) for time in times])
    assert found == [max(before, max(times) - 101), NEVER]
    assert combined(made, found) == found[0]


@given(st.lists(TIMES, min_size=1), TIMES)
def test_after_an_operator_it_is_the_least_of_its_tasks(times: list[int], before: int) -> None:
    made = operator(chained=True, trails_by=None)
    marks = [mark_payload(time, 1) for time in times]
    assert moved(made, [before, NEVER], marks) == [max(before, min(times)), NEVER]


def test_two_inputs() -> None:
    """The lower of both; one without event time does not hold the other back."""
    both = operator(second=operator(trails_by=0))
    marks = [mark_payload(1000, 1), mark_payload(500, 2), mark_payload(700, 2)]
    found = moved(both, [NEVER, NEVER], marks)
    assert found == [899, 699]
    assert combined(both, found) == 699
    assert combined(both, moved(both, [NEVER, NEVER], marks[:1])) == NEVER
    timeless = operator(second=operator(event_time=None, trails_by=None))
    assert combined(timeless, moved(timeless, [NEVER, NEVER], marks)) == 899


def test_no_rows_move_nothing() -> None:
    made = operator()
    assert moved(made, [7, NEVER], []) == [7, NEVER]
    assert moved(made, [7, NEVER], [mark_payload(NEVER, 1)] * 3) == [7, NEVER]


@pytest.mark.parametrize(("rest", "whole"), [(b"", False), (b"\xff\xff\xff\xfc", True)])
def test_input_that_was_cut_short_is_told_by_the_missing_marker(rest: bytes, whole: bool) -> None:
    def main(infile: io.BufferedReader) -> bool | None:
        return internals.input_is_whole()

    assert main(io.BufferedReader(io.BytesIO(rest))) is whole  # type: ignore[arg-type]


def test_outside_of_a_worker_nothing_is_known_of_the_input() -> None:
    assert internals.input_is_whole() is None
