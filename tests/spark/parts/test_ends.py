"""What partitions know of their rows: whose they are, and that none is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from flinkish.common.errors import IllegalStateError, UnsupportedOperationError
from flinkish.datastream.functions import KeyedProcessFunction
from flinkish.spark.keyed import ends, packing, versioned
from flinkish.spark.keyed.ends import BATCH_TIME, END, inputs_by_partition
from flinkish.spark.keyed.packing import packer
from flinkish.spark.keyed.placement import group_at
from flinkish.spark.keyed.plan import MARK, OperatorPlan
from flinkish.spark.query_run import RUN, run_of, told_run
from flinkish.spark.versions.directory import VersionDirectory
from tests.spark.fake_spark import SCHEMA, plan
from tests.spark.parts.test_versions import batch

OUT = pa.schema([("key", pa.string())])
PARTITIONS, GROUPS = 3, 12


class Nothing(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield (value.key,)


class Context:
    """Spark's, of a task."""

    def __init__(self, number: int = 0, batch: int = 0, run: str = "aa", **properties: str) -> None:
        self.number = number
        self._properties = {
            "streaming.sql.batchId": str(batch),
            "spark.jobGroup.id": run,
            **properties,
        }

    def partitionId(self) -> int:
        return self.number

    def getLocalProperty(self, name: str) -> str | None:
        return self._properties.get(name)


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[Context | None], None]:
    """Says in which task this is."""

    def say(context: Context | None) -> None:
        for module in (ends, packing):
            monkeypatch.setattr(module, "TaskContext", SimpleNamespace(get=lambda: context))

    say(None)
    return say


def operator(tmp_path: Path, **changes: Any) -> OperatorPlan:
    fields = {"partitions": PARTITIONS, "max_parallelism": GROUPS, "definition": "0123456789"}
    return plan(Nothing(), OUT, tmp_path, **(fields | {"event_time": None} | changes))


def rows(*keys: str) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [{"key": key, "n": 1, "ts": None} for key in keys], schema=SCHEMA
    )


def sent(made: OperatorPlan, at: Any, *tasks: pa.RecordBatch, **context: Any) -> list[Any]:
    """What tasks of these rows send."""
    found = []
    for number, own in enumerate(tasks):
        at(Context(number, **context))
        found += list(packer(made)(iter([own])))
    return found


def test_each_partition_knows_its_rows_and_their_number(tmp_path: Path, at: Any) -> None:
    made = operator(tmp_path)
    packed = sent(made, at, rows(*"abcdefghijklmnop"), rows(), rows("a"))
    shares = inputs_by_partition(packed, PARTITIONS)
    assert list(shares) == [0, 1, 2]
    for partition, share in shares.items():
        share.check(made, partition, 7)
        assert share.sent.keys() == {0, 1, 2}
        assert all(group % PARTITIONS == partition for group in share.payloads)
    payloads = [row for share in shares.values() for one in share.payloads.values() for row in one]
    assert sorted(part for _, part, _, _ in payloads).count(2) == 1
    # All of them in one task, as after coalesce(1), or each in its own: it is the same.
    for partition, share in shares.items():
        own = [
            one.filter(pa.array([partition == _partition(s) for s in one["slot"]]))
            for one in packed
        ]
        assert inputs_by_partition(own, PARTITIONS) == {partition: share}


def _partition(slot: Any) -> int:
    return group_at(slot.as_py()) % PARTITIONS


@pytest.mark.parametrize("lost", ["a row", "a mark", "an end", "the first task"])
def test_what_is_missing_is_noticed(tmp_path: Path, at: Any, lost: str) -> None:
    made = operator(tmp_path, event_time="ts")
    timed = rows("a").set_column(2, "ts", pa.array([1], pa.timestamp("us", "UTC")))
    packed = pa.Table.from_batches(sent(made, at, timed, timed))
    phase, part = packed["phase"], packed["part"]
    first = pc.equal(part, 0)
    gone = {
        "a row": pc.and_(first, pc.less(phase, MARK)),
        "a mark": pc.and_(first, pc.equal(phase, MARK)),
        "an end": pc.and_(first, pc.equal(phase, END)),
        "the first task": first,
    }[lost]
    left = packed.filter(pc.invert(gone)).to_batches()
    shares = inputs_by_partition(left, PARTITIONS)
    (one,) = packed.filter(gone)["slot"][:1]
    hurt = {_partition(one)} if lost == "a row" else {0, 1, 2}
    for partition, share in shares.items():
        if partition not in hurt:
            share.check(made, partition, 7)
            continue
        with pytest.raises(IllegalStateError, match="has not got all rows that were sent to it"):
            share.check(made, partition, 7)


@pytest.mark.parametrize(
    ("there", "why"),
    [
        ({"batch": 1}, "got rows of batch 1 of run aa, and its task belongs to batch 2 of run aa"),
        ({"run": "bb"}, "rows of batch 2 of run bb, and its task belongs to batch 2 of run aa"),
    ],
)
def test_rows_of_another_batch_or_run(tmp_path: Path, at: Any, there: Any, why: str) -> None:
    made = operator(tmp_path)
    packed = sent(made, at, rows("a"), **({"batch": 2, "run": "aa"} | there))
    at(Context(batch=2))
    with pytest.raises(IllegalStateError, match=why):
        inputs_by_partition(packed, PARTITIONS)[0].check(made, 0, 7)


def test_rows_that_were_planned_in_another_batch(tmp_path: Path, at: Any) -> None:
    made = operator(tmp_path)
    packed = [
        one.append_column(BATCH_TIME, pa.array([10] * one.num_rows))
        for one in sent(made, at, rows("a"))
    ]
    share = inputs_by_partition(packed, PARTITIONS)[0]
    share.check(made, 0, 10)
    with pytest.raises(IllegalStateError, match=r"rows of the batch at 10 ms, .* at 20 ms"):
        share.check(made, 0, 20)


def test_rows_for_another_operator(tmp_path: Path, at: Any) -> None:
    made = operator(tmp_path)
    share = inputs_by_partition(sent(made, at, rows("a")), PARTITIONS)[0]
    for other in (replace(made, uid="x"), replace(made, partitions=2)):
        with pytest.raises(IllegalStateError, match="got rows that were sent to 'operator'"):
            share.check(other, 0, 7)


def test_tasks_without_any_input(tmp_path: Path, at: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No task has packed: each takes its own number, once."""
    made = operator(tmp_path)
    monkeypatch.setattr(versioned, "input_is_whole", lambda: True)
    here = batch(tmp_path, 0)

    def run(number: int, attempt: int) -> None:
        at(Context(number))
        own = replace(here, partition=number, attempt=attempt)
        monkeypatch.setattr(versioned, "current_batch", lambda _: own)
        list(versioned.version_runner(made)(iter([])))

    run(0, 5)
    run(1, 6)
    run(1, 9)  # another attempt of the task
    with pytest.raises(UnsupportedOperationError, match="task 1 has written its state already"):
        run(1, 9)
    with pytest.raises(UnsupportedOperationError, match=r"number 3, from 0, of 3 partitions"):
        run(3, 7)
    names = VersionDirectory(str(tmp_path), made.uid).names(1)
    assert sorted((one.partition, one.attempt) for one in names) == [(0, 5), (1, 6), (1, 9)]


def test_the_run_that_the_driver_has_told() -> None:
    """Whatever the job group is; but what a thread inherited from another query is nothing."""
    told = {RUN: told_run("q", "r"), "sql.streaming.queryId": "q"}
    assert run_of(Context(run="mine", **told)) == "r"  # type: ignore[arg-type]
    other = told | {"sql.streaming.queryId": "another"}
    assert run_of(Context(run="group", **other)) == "group"  # type: ignore[arg-type]
    assert run_of(Context(run="group")) == "group"  # type: ignore[arg-type]
