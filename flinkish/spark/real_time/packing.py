"""Rows to payloads of key groups as they come.

Each task that packs says a mark to every partition before its first row, and after rows that let
its event time move.  It is a channel of its own: the watermark of the operator is the least of all
tasks before it.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark import TaskContext

from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.spark.channels import NUMBER_BITS, Mark
from flinkish.spark.keyed.marks import MarkMaker, mark_payload
from flinkish.spark.keyed.packing import Batches, PackRows, packed_rows
from flinkish.spark.keyed.placement import slot_of
from flinkish.spark.keyed.plan import AFTER_WATERMARK, MARK, OperatorPlan
from flinkish.spark.mapped_frame import MapBatches

__all__ = ["real_time_packer"]

_Row = tuple[int, int, int, int, bytes | None]


def real_time_packer(plan: OperatorPlan, pack_rows: PackRows, number: int) -> MapBatches:
    """The function for `mapInArrow` that packs the rows of input 1 or 2 of an operator."""

    def pack(batches: Batches) -> Batches:
        context = TaskContext.get()
        task = _PackTask(plan, number, context.partitionId() if context else 0)
        yield packed_rows(task.hello())
        for batch in batches:
            if packed := task.pack(pack_rows, pa.Table.from_batches([batch])):
                yield packed_rows(packed)

    pack.__name__ = f"pack {plan.uid}"  # in Spark's plans
    return pack


class _PackTask:
    """One task's packing."""

    def __init__(self, plan: OperatorPlan, number: int, part: int) -> None:
        assert plan.partitions is not None
        self._plan = plan
        self._number = number
        self._part = part
        self._maker = MarkMaker(plan, number)
        self._said: dict[int, Mark] = {}
        self._sequence = 0
        self._slots = [slot_of(partition) for partition in range(plan.partitions)]

    def hello(self) -> list[_Row]:
        """The first rows, by which every partition knows of this task."""
        hello = self._mark(Mark(MIN_TIMESTAMP, self._number, active=False))
        return self._to_all(hello)

    def pack(self, pack_rows: PackRows, table: pa.Table) -> list[_Row]:
        """The payloads of a table's rows, and marks if its rows have moved the event time."""
        packed: list[_Row] = []
        rows = self._maker.take(table)
        if rows.num_rows:
            for group, payload in pack_rows(self._plan, rows):
                packed.append(
                    (slot_of(group), AFTER_WATERMARK, self._part, self._sequence, payload)
                )
                self._sequence += 1
        for mark in self._maker.marks():
            # A source is not idle while it has rows, also late ones and those that a filter drops.
            if self._said.get(mark.channel) != mark or (self._plan.may_idle and table.num_rows):
                self._said[mark.channel] = mark
                packed += self._to_all(self._mark(mark))
        return packed

    def _mark(self, mark: Mark) -> bytes:
        channel = mark.channel | (self._part + 1) << NUMBER_BITS
        return mark_payload(Mark(mark.time, mark.number, channel, mark.active))

    def _to_all(self, payload: bytes) -> list[_Row]:
        """A mark for every partition."""
        return [(slot, MARK, self._part, 0, payload) for slot in self._slots]
