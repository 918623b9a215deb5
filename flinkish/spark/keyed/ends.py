"""Ends: rows in which tasks say how many rows they have sent to a partition of an operator.

From its rows an operator learns which partition they belong to, and whether all have arrived.
Spark's task numbers do not tell: above a `coalesce` one task runs several partitions, all under
its own number, and in a union of DataFrames task numbers continue from one part to the next.

Invariants:
  E1  Each row carries a slot that Spark's hash maps to partition p of N, so every row says which
      partition it belongs to.
  E2  Each task that packs rows sends an end to each partition, even if it sent no rows there.  An
      end says how many rows and marks the task has sent there, to which operator with how many
      partitions, and in which batch and run.
  E3  Spark's planner puts the time of the batch into the rows, so rows of another batch, which a
      program kept in a DataFrame and runs again in this one, are recognised.
  E4  A partition is complete if the ends of the tasks 0 to M - 1 are there, with as many rows of
      each as its end says, and Spark's own end marker has been seen, which shows that no task
      comes after the last of them.
  E5  If there is no row at all, no task has packed any, so all N partitions are empty, and which
      is which makes no difference: each takes the number of its task.  If all N numbers are below
      N and no task uses its number twice, each partition is worked on once.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from flinkish.common.errors import IllegalStateError
from flinkish.spark.keyed.placement import group_at, slot_of
from flinkish.spark.keyed.plan import MARK, OperatorPlan
from flinkish.spark.query_run import run_of

__all__ = ["BATCH_TIME", "END", "EndMaker", "Payloads", "Share", "inputs_by_partition"]

# Not a phase but the mark of an end, whose ``seq`` is the number of rows that were sent.
END = 3

# The column with the time (ms) of the batch, which Spark's planner puts into packed rows.
BATCH_TIME = "__flinkish_batch_time"

Payloads = dict[int, list[tuple[int, int, int, bytes]]]

_MISSING = (
    "partition {0} of operator {1!r} has not got all rows that were sent to it: {2}. Spark's plan "
    "reads only part of the operator's input, so this attempt does not count: start the query "
    "with spark.sql.adaptive.streaming.stateless.enabled=false, as flinkish.spark.configure does"
)
_ANOTHER_BATCH = (
    "operator {0!r} got rows of {1}, and its task belongs to {2}: a DataFrame of an earlier "
    "micro-batch was kept and is run again; persist it while its batch lasts, or write it and read "
    "it from there"
)
_ANOTHER_OPERATOR = "operator {0!r} got rows that were sent to {1}, and it is {2}"


@dataclass(frozen=True)
class _Target:
    """Where a task sends rows: an operator, with the task's own batch and run."""

    uid: str
    definition: str
    partitions: int
    batch: str | None
    run: str | None

    @classmethod
    def of(cls, plan: OperatorPlan) -> _Target:
        assert plan.partitions is not None
        context = TaskContext.get()
        batch = context.getLocalProperty("streaming.sql.batchId") if context else None
        run = run_of(context) if context else None
        return cls(plan.uid, plan.definition, plan.partitions, batch, run)

    def pack(self) -> bytes:
        return json.dumps(
            [self.uid, self.definition, self.partitions, self.batch, self.run]
        ).encode()

    @classmethod
    def unpack(cls, payload: bytes) -> _Target:
        return cls(*json.loads(payload))

    @property
    def operator(self) -> str:
        return f"{self.uid!r} ({self.definition[:8]}) of {self.partitions} partitions"

    @property
    def when(self) -> str:
        return f"batch {self.batch} of run {self.run}"


class EndMaker:
    """Counts the rows that a task sends to each partition, and makes the task's ends."""

    def __init__(self, plan: OperatorPlan) -> None:
        self._plan = plan
        self._sent: Counter[int] = Counter()

    def count(self, slots: Iterable[int]) -> None:
        """Count rows and marks that are sent under these slots."""
        assert self._plan.partitions is not None
        self._sent.update(group_at(slot) % self._plan.partitions for slot in slots)

    def ends(self, part: int) -> list[tuple[int, int, int, int, bytes]]:
        """The ends of the task of this number, a row for each partition."""
        payload = _Target.of(self._plan).pack()
        return [
            (slot_of(partition), END, part, self._sent[partition], payload)
            for partition in range(self._plan.partitions or 0)
        ]


@dataclass
class Share:
    """The rows that have come to a partition: payloads by key group, and marks."""

    payloads: Payloads = field(default_factory=lambda: defaultdict(list))
    marks: list[bytes] = field(default_factory=list)
    times: set[int] = field(default_factory=set)
    got: Counter[int] = field(default_factory=Counter)  # rows and marks, by task
    sent: Counter[int] = field(default_factory=Counter)  # as ends say, by task
    targets: set[bytes] = field(default_factory=set)

    def add(self, slot: int, phase: int, part: int, sequence: int, payload: bytes) -> None:
        """Take a row; a row without a payload only wakes the operator."""
        if phase == END:
            self.sent[part] += sequence
            self.targets.add(payload)
        elif phase == MARK:
            self.got[part] += 1
            self.marks.append(payload)
        elif payload:
            self.got[part] += 1
            self.payloads[group_at(slot)].append((phase, part, sequence, payload))

    def check(self, plan: OperatorPlan, partition: int, batch_time: int) -> None:
        """IllegalStateError unless the partition is complete, in the batch of this time (E2-E4)."""
        here = _Target.of(plan)
        for there in map(_Target.unpack, self.targets):
            if there.operator != here.operator:
                raise IllegalStateError(
                    _ANOTHER_OPERATOR.format(plan.uid, there.operator, here.operator)
                )
            if there.when != here.when:
                raise IllegalStateError(_ANOTHER_BATCH.format(plan.uid, there.when, here.when))
        if self.times - {batch_time}:
            there_at = ", ".join(f"the batch at {time} ms" for time in sorted(self.times))
            here_at = f"{here.when}, at {batch_time} ms"
            raise IllegalStateError(_ANOTHER_BATCH.format(plan.uid, there_at, here_at))
        tasks = 1 + max([*self.sent, *self.got], default=-1)
        for part in range(tasks):
            if part not in self.sent:
                what = f"upstream task {part} has sent no end"
            elif self.got[part] != self.sent[part]:
                what = f"{self.got[part]} of {self.sent[part]} rows of upstream task {part} arrived"
            else:
                continue
            raise IllegalStateError(_MISSING.format(partition, plan.uid, what))


def inputs_by_partition(batches: Iterable[pa.RecordBatch], partitions: int) -> dict[int, Share]:
    """Packed rows by the partition that they were sent to (E1); none if no task has packed any."""
    shares: dict[int, Share] = defaultdict(Share)
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in ("slot", "phase", "part", "seq")]
        payloads: Any = batch.column("payload")
        times = set()
        if BATCH_TIME in batch.schema.names:
            times = set(batch.column(BATCH_TIME).unique().to_pylist())
        for row, (slot, phase, part, sequence) in enumerate(zip(*columns, strict=True)):
            share = shares[group_at(slot) % partitions]
            share.add(slot, phase, part, sequence, payloads[row].as_py())
            share.times |= times
    return dict(sorted(shares.items()))
