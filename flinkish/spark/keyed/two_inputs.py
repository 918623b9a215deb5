"""Operators with two inputs: how the rows of both reach the key groups, and a run of them.

The rows of each input are packed by a plan of its own, under the same key groups; the last byte
of a payload says which input it is of.  Over batch DataFrames the rows of both are put into one
frame of `union_schema`, in which each row fills the struct of its input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, IntegerType, LongType, StructField, StructType

from flinkish._core.columns.records import RecordReader
from flinkish._core.values.codec import pack_payload, unpack_payload
from flinkish._core.values.values import pack_key
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.operators.broadcast_definition import Broadcast, KeyedBroadcast
from flinkish.spark.batches import joined
from flinkish.spark.elements import ElementReader
from flinkish.spark.internals import spark_schema
from flinkish.spark.keyed.operator_run import BLOCK, OperatorRun
from flinkish.spark.keyed.packed_columns import element_keys, element_times
from flinkish.spark.keyed.packing import (
    NULL_KEY_GROUP,
    Batches,
    PackRows,
    event_times,
    keyed_batch,
    pack_table,
    partitions_of,
)
from flinkish.spark.keyed.plan import EVENT_TIME, KEY, OperatorPlan
from flinkish.spark.keyed.result_rows import Result
from flinkish.spark.map_in_arrow import map_in_arrow

__all__ = ["INPUT", "TwoInputRun", "pack_rows_of_input", "union_frame"]

INPUT = "__flinkish_input"
ROWS = ("__flinkish_first", "__flinkish_second")

_NO_KEY = pack_key(True)


def pack_rows_of_input(plan: OperatorPlan, number: int) -> PackRows:
    """How the rows of input 1 or 2 are packed."""
    mark = bytes([number])
    pack = pack_table if plan.has_keys else (_pack_somewhere, _pack_everywhere)[number - 1]

    def pack_rows(plan: OperatorPlan, table: pa.Table) -> Iterator[tuple[int, bytes]]:
        for group, payload in pack(plan, table):
            yield group, payload + mark

    return pack_rows


def _pack_everywhere(plan: OperatorPlan, table: pa.Table) -> Iterator[tuple[int, bytes]]:
    """The rows of a table once for every key group."""
    payload = _without_keys(plan, table)
    for group in range(plan.max_parallelism):
        yield group, payload


def _pack_somewhere(plan: OperatorPlan, table: pa.Table) -> Iterator[tuple[int, bytes]]:
    """The rows of a table for one key group: that of Spark's partition.

    A task that is run again must send each row to where it was sent before, and all that is certain
    to be as it was is which rows a partition has.
    """
    context = TaskContext.get()
    part = context.partitionId() if context else 0
    yield part % plan.max_parallelism, _without_keys(plan, table)


def _without_keys(plan: OperatorPlan, table: pa.Table) -> bytes:
    """The rows of a table in one payload, all under the same key, which nobody gets to see."""
    batch = table.combine_chunks().to_batches()[0]
    times = event_times(plan, batch)
    rows = batch.select(plan.schema.names)
    rows = rows.append_column(KEY, pa.repeat(pa.scalar(_NO_KEY, pa.binary()), rows.num_rows))
    if times is not None:
        rows = rows.append_column(EVENT_TIME, times)
    return pack_payload(rows)


# --- batch DataFrames


def union_frame(frames: Sequence[DataFrame], plan: OperatorPlan) -> DataFrame:
    """The rows of both inputs, with KEY, EVENT_TIME, INPUT and a struct for the columns of each."""
    assert plan.second is not None
    structs = [
        StructField(name, spark_schema(one.schema))
        for name, one in zip(ROWS, (plan, plan.second), strict=True)
    ]
    schema = StructType(
        [
            StructField(KEY, BinaryType()),
            StructField(EVENT_TIME, LongType()),
            StructField(INPUT, IntegerType()),
            *structs,
        ]
    )
    first, second = (
        map_in_arrow(frame, _into_union(plan, number), schema)
        for number, frame in enumerate(frames, 1)
    )
    return first.union(second)


def _into_union(plan: OperatorPlan, number: int) -> Any:
    second = plan.second
    assert second is not None
    plan = plan.without_functions()
    own = plan if number == 1 else second
    types = [pa.struct(list(one.schema)) for one in (plan, second)]

    def convert(batches: Batches) -> Batches:
        for batch in batches:
            if batch.num_rows == 0:
                continue
            rows, groups, _ = keyed_batch(own, pa.Table.from_batches([batch]))
            count = rows.num_rows
            struct = pa.StructArray.from_arrays(
                [rows.column(field.name).cast(field.type) for field in own.schema],
                fields=list(own.schema),
            )
            columns = [
                _packed_keys(own, rows, groups),
                rows.column(EVENT_TIME) if own.timed else pa.nulls(count, pa.int64()),
                pa.array(np.full(count, number, np.int32)),
                *(
                    struct if at == number else pa.nulls(count, kind)
                    for at, kind in enumerate(types, 1)
                ),
            ]
            yield pa.record_batch(columns, names=[KEY, EVENT_TIME, INPUT, *ROWS])

    return convert


def _packed_keys(plan: OperatorPlan, rows: pa.RecordBatch, groups: npt.NDArray[Any]) -> pa.Array:
    """Keys as bytes; null where there is none."""
    if plan.key_column is None:
        return rows.column(KEY)
    keys = RecordReader([rows.column(plan.key_column)], ("key",)).values(0)
    return pa.array(
        [pack_key(key) if group >= 0 else None for key, group in zip(keys, groups, strict=True)],
        pa.binary(),
    )


# --- runs


class TwoInputRun(OperatorRun):
    """A function of two inputs, or a join, over the table of one key group after another."""

    def _open(self, context: TaskContext | None) -> None:
        plan = self._plan
        assert plan.second is not None
        self._inputs = (plan, plan.second)
        self._broadcast = plan.operator if isinstance(plan.operator, Broadcast) else None
        self._partitions = plan.partitions or partitions_of(context)
        super()._open(context)

    def begin(self, key_group: int, watermark: int, now: int) -> None:
        """Set the clocks, and say which copy of broadcast state is at hand."""
        super().begin(key_group, watermark, now)
        if self._broadcast is not None:
            self._broadcast.move((key_group,))

    def process(self, payloads: Iterable[bytes], phase: int) -> Iterator[Result]:
        """Hand packed rows to the function: the first input's, then the second's, or by time."""
        batches: tuple[list[pa.RecordBatch], list[pa.RecordBatch]] = ([], [])
        payloads = list(payloads)
        for payload, batch in zip(payloads, self.unpack(payloads), strict=True):
            batches[payload[-1] - 1].append(batch)
        if self._broadcast is not None:
            yield from self._hand_over_broadcast(self._broadcast, batches[1], phase)
            batches[1].clear()
        found = []
        for number, (plan, own) in enumerate(zip(self._inputs, batches, strict=True), 1):
            if own:
                rows = joined(own)
                times = _times(plan, rows)
                if self._plan.timestamp_order:
                    order = np.argsort(times, kind="stable")
                    rows, times = rows.take(pa.array(order)), times[order]
                found.append((number, rows, times))
        if not found:
            return
        numbers = np.repeat([one[0] for one in found], [len(one[2]) for one in found])
        times = np.concatenate([one[2] for one in found])
        keys = np.concatenate([self._keys_of(number, rows) for number, rows, _ in found])
        if self._plan.timestamp_order:
            order = np.argsort(times, kind="stable")
            numbers, times, keys = numbers[order], times[order], keys[order]
        readers = {number: self._inputs[number - 1].elements(rows) for number, rows, _ in found}
        yield from self._hand_over(numbers, keys, times, readers, phase)

    def process_rows(
        self, batch: pa.RecordBatch, rows: npt.NDArray[np.uint32], phase: int
    ) -> Iterator[Result]:
        """Hand the rows of a `union_frame` to the function, in their order."""
        numbers = batch.column(INPUT).to_numpy()
        times = element_times(batch)
        readers = {
            number: self._inputs[number - 1].elements(
                pa.RecordBatch.from_struct_array(
                    batch.column(name).filter(pa.array(numbers == number))
                )
            )
            for number, name in enumerate(ROWS, 1)
        }
        yield from self._hand_over(numbers, rows, times, readers, phase)

    def _keys_of(self, number: int, rows: pa.RecordBatch) -> npt.NDArray[np.uint32]:
        """The table's rows of the keys of packed rows of one input."""
        return element_keys(rows, self._inputs[number - 1].key_column).rows(self.table)

    def _hand_over(
        self,
        numbers: npt.NDArray[Any],
        rows: npt.NDArray[np.uint32],
        times: npt.NDArray[np.int64],
        readers: dict[int, ElementReader],
        phase: int,
    ) -> Iterator[Result]:
        """Elements in order; each reader has those of its input, in the same order."""
        inputs = numbers.astype(np.uint8)
        taken = dict.fromkeys(readers, 0)
        for start in range(0, len(rows), BLOCK):
            self.check()
            stop = min(start + BLOCK, len(rows))
            block = inputs[start:stop]
            found = {}
            for number, reader in readers.items():
                first = taken[number]
                taken[number] += int(np.count_nonzero(block == number))
                if taken[number] > first:
                    found[number] = reader.elements(first, taken[number])
            values, *others = found.values()
            if others:
                turns = {number: iter(own) for number, own in found.items()}
                values = [next(turns[number]) for number in block.tolist()]
            yield from self._process_block(
                values, rows[start:stop], times[start:stop], phase, block
            )

    def _hand_over_broadcast(
        self, broadcast: Broadcast, batches: list[pa.RecordBatch], phase: int
    ) -> Iterator[Result]:
        """Broadcast elements, whose output comes once a subtask, as in Flink.

        Each key group is handed them, and keeps what they make of the broadcast state.  What comes
        of them besides is kept of one key group of a partition, and of others if the function has
        looked at the state of its keys: then it is of these.
        """
        plan = self._inputs[1]
        once = isinstance(broadcast, KeyedBroadcast) and self._key_group >= self._partitions
        if once:
            yield from self.take_outputs(phase)
        for batch in batches:
            rows = plan.elements(batch).elements()
            for value, time in zip(rows, _times(plan, batch).tolist(), strict=True):
                broadcast.use_broadcast_row()
                self.engine.input = 2
                self.engine.process(value, None if time == MIN_TIMESTAMP else time)
                if once and not broadcast.visited_keys:
                    self.engine.take_output()
                elif once or self.engine.is_full:
                    yield from self.take_outputs(phase)
        self.table.clear_current_key()

    def key_rows(self, batch: pa.RecordBatch) -> npt.NDArray[np.uint32]:
        """The table's rows of the keys of a `union_frame`."""
        return element_keys(batch, None).rows(self.table)

    def unpack(self, payloads: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
        """The packed batches of payloads, of either input."""
        return (
            unpack_payload(memoryview(payload)[:-1], self._inputs[payload[-1] - 1].packed_schema)
            for payload in payloads
        )

    def route_null_keys(self, lost: Iterable[pa.RecordBatch]) -> Iterator[Result]:
        """Count rows without a key."""
        self.counts.add({"null_keys": sum(one.num_rows for one in lost)})
        yield self.counts.result(NULL_KEY_GROUP)


def _times(plan: OperatorPlan, rows: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """Event times (ms), the lowest where there is none."""
    if not plan.timed:
        return np.full(rows.num_rows, MIN_TIMESTAMP, np.int64)
    return element_times(rows)
