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
from flinkish.spark.channels import CHANNEL, OF_OPERATOR, Channel, Mark
from flinkish.spark.keyed.ends import END
from flinkish.spark.keyed.marks import MarkMaker, highest_times, mark_payload, mark_row, read_mark
from flinkish.spark.keyed.packing import packer
from flinkish.spark.keyed.placement import group_at
from flinkish.spark.keyed.plan import EVENT_TIME, MARK, PHASE, OperatorPlan
from flinkish.spark.versions.progress import Progress
from tests.spark.fake_spark import SCHEMA, plan

OUT = pa.schema([("n", pa.int64())])
NEVER = MIN_TIMESTAMP
TIMES = st.integers(-(10**12), 10**12)


def operator(**changes: Any) -> OperatorPlan:
    return plan(
        None, OUT, Path("nowhere"), **({"partitions": 3, "channels": (Channel(100),)} | changes)
    )


def rows(*times_ms: int) -> pa.RecordBatch:
    times = pa.array([ms * 1000 for ms in times_ms], pa.timestamp("us", "UTC"))
    count = len(times_ms)
    return pa.record_batch([pa.array(["k"] * count), pa.array([1] * count), times], schema=SCHEMA)


def sent(made: OperatorPlan, *batches: pa.RecordBatch) -> list[tuple[int, bytes]]:
    """The marks that a task sends, with the partition that each goes to."""
    packed = [row for batch in packer(made)(iter(batches)) for row in batch.to_pylist()]
    packed = [row for row in packed if row["phase"] != END]
    assert packed[-1]["phase"] == MARK, "after all rows"
    return [(group_at(row["slot"]), row["payload"]) for row in packed if row["phase"] == MARK]


def test_a_task_sends_its_highest_time_to_every_partition() -> None:
    made = operator()
    assert sent(made, rows(5, 30, 20), rows(7)) == [(at, mark_payload(Mark(30))) for at in range(3)]
    assert sent(made) == [(at, mark_payload(Mark(NEVER, active=False))) for at in range(3)]
    timeless = operator(event_time=None, channels=())
    assert {payload for _, payload in sent(timeless, rows(5))} == {
        mark_payload(Mark(NEVER, active=False))
    }


def test_a_task_that_got_no_mark_sends_none() -> None:
    """A mark of the lowest time would hold the watermark back: others have the marks."""
    made = operator(chained=True, marked=True, event_time=EVENT_TIME)
    row = rows(99).append_column(EVENT_TIME, pa.array([99]))
    row = row.append_column(PHASE, pa.array([1], pa.int32()))
    packed = [row for batch in packer(made)(iter([row])) for row in batch.to_pylist()]
    assert [one["phase"] for one in packed] != []
    assert MARK not in [one["phase"] for one in packed]
    (ends,) = packer(made)(iter([]))
    assert set(ends.column("phase").to_pylist()) == {END}


def test_a_task_whose_rows_are_marks_alone_passes_the_mark_on() -> None:
    made = operator(chained=True, marked=True, event_time=EVENT_TIME)
    mark = mark_row(mark_payload(Mark(41)), SCHEMA)
    assert {payload for _, payload in sent(made, mark)} == {mark_payload(Mark(41))}


def test_a_mark_goes_through_as_a_row() -> None:
    made = operator(chained=True, marked=True, event_time=EVENT_TIME)
    mark = mark_row(mark_payload(Mark(41)), SCHEMA)
    assert mark.column(PHASE).to_pylist() == [MARK]
    row = (
        rows(99)
        .append_column(EVENT_TIME, pa.array([99]))
        .append_column(PHASE, pa.array([1], pa.int32()))
    )
    maker = MarkMaker(made, 2)
    left = maker.take(pa.Table.from_batches([row, mark.cast(row.schema)]))
    assert left.num_rows == 1
    assert maker.payloads() == [mark_payload(Mark(41, 2))], (
        "rows say nothing of time between operators"
    )


def moved(made: OperatorPlan, before: int, *marks: Mark) -> Progress:
    """Where an operator comes to from a watermark by marks."""
    progress = Progress(before, [before, NEVER])
    channels = [one.channels if one.timed else () for one in made.inputs]
    progress.move(channels, [read_mark(mark_payload(mark)) for mark in marks], 0)
    return progress


@given(st.lists(TIMES, min_size=1), TIMES)
def test_a_source_moves_to_the_highest_time_less_what_it_trails_by(
    times: list[int], before: int
) -> None:
    found = moved(operator(), before, *map(Mark, times))
    assert found.watermark == max(before, max(times) - 101)


@given(st.lists(TIMES, min_size=1), TIMES)
def test_after_an_operator_it_is_the_least_of_its_tasks(times: list[int], before: int) -> None:
    made = operator(chained=True, channels=(OF_OPERATOR,))
    assert moved(made, before, *map(Mark, times)).watermark == max(before, min(times))


def test_two_inputs() -> None:
    """The lower of both; one without event time does not hold the other back."""
    both = operator(second=operator(channels=(Channel(0),)))
    marks = [Mark(1000), Mark(500, 2), Mark(700, 2)]
    found = moved(both, NEVER, *marks)
    assert (found.watermarks, found.watermark) == ([899, 699], 699)
    assert moved(both, NEVER, *marks[:1]).watermark == NEVER
    timeless = operator(second=operator(event_time=None, channels=()))
    assert moved(timeless, NEVER, *marks).watermark == 899


def test_no_rows_move_nothing() -> None:
    assert moved(operator(), 7).watermark == 7
    assert moved(operator(), 7, *[Mark(NEVER, active=False)] * 3).watermark == 7


def channelled(batch: pa.RecordBatch, *channels: int | None) -> pa.RecordBatch:
    return batch.append_column(CHANNEL, pa.array(channels, pa.int64()))


def marks_of(maker: MarkMaker) -> list[Mark]:
    return sorted((read_mark(one) for one in maker.payloads()), key=lambda mark: mark.channel)


def test_the_highest_times_of_a_batch_and_of_a_table_are_the_same() -> None:
    """Functions without keys read batches, packing reads tables."""
    batch = channelled(rows(5, 30, 0), 0, 1 << 16, 0)
    for one in (batch, pa.Table.from_batches([batch])):
        assert highest_times(one, "ts", channelled=True) == {0: 5, 1 << 16: 30}
        assert highest_times(one, "ts", channelled=False) == {0: 30}


def test_a_task_sends_a_mark_for_each_channel_of_its_rows() -> None:
    maker = MarkMaker(operator(channelled=True, channels=(Channel(0), Channel(0))), 1)
    maker.take(pa.Table.from_batches([channelled(rows(5, 30, 0), 0, 1 << 16, 1)]))
    maker.take(pa.Table.from_batches([channelled(rows(4, 31), 0, 1 << 16)]))
    assert marks_of(maker) == [Mark(5, 1, 0), Mark(0, 1, 1), Mark(31, 1, 1 << 16)]
    assert MarkMaker(operator(channelled=True), 1).payloads() == [], "others have the marks"


def test_marks_of_operators_and_rows_of_sources_come_in_one_stream() -> None:
    """Rows without a channel are those whose marks say all."""
    made = operator(
        chained=True, marked=True, channelled=True, event_time=EVENT_TIME, channels=(OF_OPERATOR,)
    )
    batch = channelled(rows(1, 1, 1, 1), None, 0, 1, 2)
    batch = batch.append_column(EVENT_TIME, pa.array([99, 41, 77, None]))
    batch = batch.append_column(PHASE, pa.array([1, MARK, 1, MARK], pa.int32()))
    maker = MarkMaker(made, 2)
    assert maker.take(pa.Table.from_batches([batch])).num_rows == 2
    assert marks_of(maker) == [Mark(41, 2, 0), Mark(77, 2, 1), Mark(None, 2, 2, active=False)]


@pytest.mark.parametrize(("rest", "whole"), [(b"", False), (b"\xff\xff\xff\xfc", True)])
def test_input_that_was_cut_short_is_told_by_the_missing_marker(rest: bytes, whole: bool) -> None:
    def main(infile: io.BufferedReader) -> bool | None:
        return internals.input_is_whole()

    assert main(io.BufferedReader(io.BytesIO(rest))) is whole  # type: ignore[arg-type]


def test_outside_of_a_worker_nothing_is_known_of_the_input() -> None:
    assert internals.input_is_whole() is None
