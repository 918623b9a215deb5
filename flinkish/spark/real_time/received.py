"""The input of a task of an operator: rows by key group, those without a key, and marks."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from flinkish._core.values.codec import unpack_payload
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.operators.key_columns import key_reader
from flinkish.spark.batches import joined
from flinkish.spark.channels import NUMBER_BITS, Mark
from flinkish.spark.keyed.marks import read_mark
from flinkish.spark.keyed.packing import (
    NULL_KEY_GROUP,
    event_times,
    keys_of,
    lost_rows,
    packed_columns,
)
from flinkish.spark.keyed.placement import group_at
from flinkish.spark.keyed.plan import MARK, OperatorPlan
from flinkish.spark.real_time.partition_rows import PartitionRows, in_group_order
from flinkish.spark.real_time.partitioned import HIGHEST, TASK, task_of

__all__ = ["TASKS", "Received", "received"]

# The column of packed rows that says how many tasks the stage has that they were packed in.
TASKS = "__flinkish_tasks"

_FEW = 64  # rows


@dataclass
class Received:
    """Rows of several key groups or payloads by key group, rows without a key, and marks.

    They come from so many ``tasks``; None if they do not say.
    """

    rows: PartitionRows | None = None
    payloads: dict[int, list[bytes]] = field(default_factory=dict)
    lost: list[pa.RecordBatch] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    tasks: int | None = None


def received(plan: OperatorPlan, batches: list[pa.RecordBatch]) -> Received:
    """Batches with rows: these as payloads of `packing`, or as they are, of `partitioned`."""
    if not batches:
        return Received()
    if TASK in batches[0].schema.names:
        return _rows(plan, joined(batches))
    return _payloads(plan, batches)


def _rows(plan: OperatorPlan, batch: pa.RecordBatch) -> Received:
    numbers, highest = batch.column(TASK).to_numpy(), batch.column(HIGHEST)
    last = {number: row for row, number in enumerate(numbers.tolist())}
    # The times of a task do not fall.
    found = Received(tasks=task_of(int(numbers[0]))[1])
    found.marks = [_mark(task_of(one)[0], highest[row].as_py()) for one, row in last.items()]
    keys, groups = keys_of(plan, batch)
    if groups.min() < 0:  # rows without a key, and marks, which have none
        if len(without := np.flatnonzero((numbers >= 0) & (groups < 0))):
            lost = packed_columns(plan, *_taken(batch, keys, without))
            found.lost.append(lost_rows(plan, lost, np.ones(len(without), np.bool_)))
        order = np.flatnonzero(groups >= 0)
        if not len(order):
            return found
        (batch, keys), groups = _taken(batch, keys, order), groups[order]
    times = event_times(plan, batch)
    at = None if times is None else times.to_numpy()
    if plan.timestamp_order or batch.num_rows > _FEW:  # to sort a few would cost more
        order = in_group_order(groups, at if plan.timestamp_order else None)
        (batch, keys), groups = _taken(batch, keys, order), groups[order]
        at = None if at is None else at[order]
    column = batch.column(plan.key_column) if keys is None else keys
    reader = key_reader(column, packed=keys is not None)
    found.rows = PartitionRows(plan, batch, reader, at, groups)
    return found


def _taken(
    batch: pa.RecordBatch, keys: pa.Array | None, order: np.ndarray
) -> tuple[pa.RecordBatch, pa.Array | None]:
    """Some rows with their keys, in this order."""
    if len(order) == batch.num_rows and not (order[1:] < order[:-1]).any():
        return batch, keys
    chosen = pa.array(order)
    return batch.take(chosen), None if keys is None else keys.take(chosen)


def _mark(task: int, time: int | None) -> Mark:
    channel = task + 1 << NUMBER_BITS
    return Mark(MIN_TIMESTAMP if time is None else time, 1, channel, active=time is not None)


def _payloads(plan: OperatorPlan, batches: list[pa.RecordBatch]) -> Received:
    found = Received()
    payloads: dict[int, list[bytes]] = defaultdict(list)
    for batch in batches:
        found.tasks = batch.column(TASKS)[0].as_py()
        columns = [batch.column(name).to_pylist() for name in ("slot", "phase", "payload")]
        for slot, phase, payload in zip(*columns, strict=True):
            if phase == MARK:
                found.marks.append(read_mark(payload))
            else:
                payloads[group_at(slot)].append(payload)
    lost = payloads.pop(NULL_KEY_GROUP, [])
    found.lost = [unpack_payload(payload, plan.packed_schema) for payload in lost]
    if not plan.strategy.shares_payloads:
        found.payloads = payloads
    elif payloads:
        own = [one for several in payloads.values() for one in several]
        found.rows = PartitionRows.of(plan, own)
    return found
