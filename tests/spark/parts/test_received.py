"""Rows that travelled as they are, and payloads: a task gets the same of both."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.common.errors import NullKeyError, TimestampError
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.spark.channels import NUMBER_BITS, Mark
from flinkish.spark.keyed.packing import packed_rows
from flinkish.spark.keyed.placement import slot_of
from flinkish.spark.keyed.plan import OperatorPlan
from flinkish.spark.real_time.arrivals import PAD, with_rows
from flinkish.spark.real_time.partition_rows import pack_partitions
from flinkish.spark.real_time.partitioned import HIGHEST, TASK
from flinkish.spark.real_time.received import TASKS, Received, received
from flinkish.time import assign_to_key_group
from tests.spark.fake_spark import SCHEMA, plan
from tests.spark.parts.live_task import OUT, Counts, numbered
from tests.spark.parts.test_partition_rows import handed_over

PARTITIONS = 2
GROUPS = 8

Sent = tuple[
    str | None, int, int | None, int
]  # key, number, ms and task, the last below 0 in a mark


def operator(**changes: Any) -> OperatorPlan:
    fields: dict[str, Any] = {"partitions": PARTITIONS, "max_parallelism": GROUPS}
    return plan(Counts(), OUT, Path("tables"), **(fields | changes))


def travelled(sent: list[Sent]) -> pa.RecordBatch:
    """Rows and marks as Java code sends them, with the highest time that their task has had."""
    highest: dict[int, int] = {}
    told = []
    for _, _, ms, task in sent:
        one = task if task >= 0 else -1 - task
        if ms is not None and task >= 0:
            highest[one] = max(highest.get(one, ms), ms)
        told.append(highest.get(one))
    columns = [
        pa.array([key for key, _, _, _ in sent], pa.string()),
        pa.array([None if task < 0 else number for _, number, _, task in sent], pa.int64()),
        pa.array(
            [None if ms is None or task < 0 else ms * 1000 for _, _, ms, task in sent],
            pa.timestamp("us", "UTC"),
        ),
        pa.array([_number(task) for _, _, _, task in sent], pa.int64()),
        pa.array(told, pa.int64()),
    ]
    return pa.record_batch(columns, [*SCHEMA.names, TASK, HIGHEST])


def _number(task: int) -> int:
    return numbered(task) if task >= 0 else -1 - numbered(-1 - task)


def packed(made: OperatorPlan, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows as payloads."""
    kept = np.array(batch.column(TASK).to_pylist(), np.int64) >= 0
    table = pa.Table.from_batches([batch]).filter(pa.array(kept)).select(SCHEMA.names)
    payloads = pack_partitions(made, table)
    sent = packed_rows([(slot_of(place), 1, 0, 0, payload) for place, payload in payloads])
    return sent.append_column(TASKS, pa.array([3] * sent.num_rows, pa.int32()))


def handed(found: Received) -> dict[int, list[tuple[int, ...]]]:
    """The times and numbers of the rows of each key group, in their order."""
    rows: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    if found.rows is not None:
        for group, *row in handed_over(found.rows):
            rows[group].append(tuple(row))
    return rows


def own(made: OperatorPlan, key: str | None) -> bool:
    """Whether the key is of partition 0, as null is taken here."""
    return key is None or assign_to_key_group(key, GROUPS) % PARTITIONS == 0


ROWS = st.tuples(
    st.sampled_from(["a", "b", "c", "d", "e", "f", "g", None]),
    st.integers(0, 9),
    st.integers(0, 50),
    st.integers(0, 2),
)
MARKS = st.tuples(st.none(), st.just(0), st.none(), st.integers(-3, -1))


@given(st.lists(st.one_of(ROWS, MARKS), min_size=1), st.booleans())
def test_both_ways_give_the_same_rows(sent: list[Sent], by_time: bool) -> None:
    made = operator(null_keys="drop", timestamp_order=by_time)
    mine = [one for one in sent if own(made, one[0])]
    if all(task < 0 for _, _, _, task in mine):
        return
    batch = travelled(mine)
    cut = batch.num_rows // 2
    one = received(made, [batch.slice(0, cut), batch.slice(cut)])
    other = received(made, [packed(made, batch)])
    assert handed(one) == handed(other)
    assert [lost.to_pylist() for lost in one.lost] == [lost.to_pylist() for lost in other.lost]


def test_marks_say_how_far_each_task_has_come() -> None:
    key = next(key for key in "abcdefgh" if own(operator(), key))
    sent: list[Sent] = [
        (None, 0, None, -1),
        (key, 1, 5, 0),
        (key, 2, 3, 0),
        (None, 0, None, -3),
        (key, 3, 9, 1),
        (None, 0, None, -1),
    ]
    found = received(operator(), [travelled(sent)])
    marks: dict[int, list[tuple[int, bool]]] = {}
    for one in found.marks:
        marks.setdefault((one.channel >> NUMBER_BITS) - 1, []).append((one.time or 0, one.active))
    assert {task: max(times) for task, times in marks.items()} == {
        0: (5, True),
        1: (9, True),
        2: (MIN_TIMESTAMP, False),
    }
    alone = received(operator(), [travelled([(None, 0, None, -2)])])
    assert alone.marks == [Mark(MIN_TIMESTAMP, 1, 2 << NUMBER_BITS, active=False)]
    assert alone.rows is None
    assert (found.tasks, alone.tasks) == (3, 3)


def test_rows_without_key_or_time_are_refused() -> None:
    with pytest.raises(NullKeyError, match="1 rows have no key in key"):
        received(operator(), [travelled([(None, 1, 5, 0)])])
    with pytest.raises(TimestampError, match="1 rows have no event time in the column 'ts'"):
        received(operator(), [travelled([("a", 1, None, 0)])])


def test_pads_alone_are_nothing() -> None:
    padded = travelled([("a", 1, 5, 0)]).append_column(PAD, pa.array([b"pad"]))
    assert received(operator(), list(with_rows([padded]))) == Received()
