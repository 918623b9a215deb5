"""Rows to payloads, one key group each: what the shuffle moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from traceback import format_tb
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from flinkish._core.columns.records import RecordReader, timestamps_ms
from flinkish._core.values.codec import pack_groups, pack_payload
from flinkish._core.values.values import pack_key
from flinkish.common.errors import NullKeyError, TimestampError, UserFunctionError
from flinkish.common.keys import normalized_key
from flinkish.common.notes import add_note, spell_out_notes
from flinkish.operators.key_columns import normalized_column
from flinkish.spark.keyed.ends import EndMaker
from flinkish.spark.keyed.marks import MarkMaker
from flinkish.spark.keyed.placement import clock_slot, slot_of
from flinkish.spark.keyed.plan import (
    AFTER_WATERMARK,
    BEFORE_WATERMARK,
    EVENT_TIME,
    KEY,
    MARK,
    PHASE,
    OperatorPlan,
)
from flinkish.time import assign_to_key_group, assign_to_key_groups

__all__ = [
    "NULL_KEY_GROUP",
    "PACKED_SCHEMA",
    "SETTINGS_GROUP",
    "Batches",
    "PackRows",
    "batch_id",
    "event_times",
    "keyed_batch",
    "keys_of",
    "lost_rows",
    "pack_table",
    "packed_columns",
    "packed_rows",
    "packer",
    "tuple_keys",
]

Batches = Iterator[pa.RecordBatch]
PackRows = Callable[[OperatorPlan, pa.Table], Iterator[tuple[int, Any]]]

PACKED_SCHEMA = "slot int, phase int, part int, seq int, payload binary"
_NUMBERS = ("slot", "phase", "part", "seq")
_PACKED = pa.schema([(name, pa.int32()) for name in _NUMBERS] + [("payload", pa.binary())])

# Rows without a key travel as a group of their own, to be counted and put where they belong.
NULL_KEY_GROUP = -1

# Of this one every task sends a row, with rows of its own or without, for it to check that state
# and program agree.
SETTINGS_GROUP = -2

# For more key groups than these, only each second, third, ... batch asks all what they hold.
_ASKED_AT_ONCE = 256

# A task packs this much at a time: few, large payloads, and bounded memory.
_CHUNK_ROWS = 1_000_000
_CHUNK_BYTES = 128 * 1024 * 1024

# In tasks of a query that runs again Spark's own setting, which a program may have changed since,
# is not the number of partitions; the first of these is, where Spark has it.
_PARTITIONS = ("spark.sql.streaming.internal.stateStore.partitions", "spark.sql.shuffle.partitions")
_SPARKS_DEFAULT = "200"


def packer(
    plan: OperatorPlan, pack_rows: PackRows | None = None, number: int = 1
) -> Callable[[Batches], Batches]:
    """The function for `mapInArrow` that packs the rows of input 1 or 2 of an operator.

    ``pack_rows`` makes the payloads of a table; `pack_table` does, if nothing else is said.
    """
    pack_rows = pack_rows or pack_table

    def pack(batches: Batches) -> Batches:
        context = TaskContext.get()
        part = context.partitionId() if context else 0
        sequence = 0
        packed = _asked(plan, context, part) if plan.partitions is None else []
        mark = None if plan.partitions is None else MarkMaker(plan, number)
        ends = EndMaker(plan) if plan.is_versioned else None
        for table in _chunks(batches):
            for phase, rows in _phases(plan, table if mark is None else mark.take(table)):
                for group, payload in pack_rows(plan, rows):
                    packed.append((slot_of(group), phase, part, sequence, payload))
                    sequence += 1
            if ends is not None:
                ends.count(row[0] for row in packed)
            if packed:  # there may be marks alone
                yield packed_rows(packed)
            packed = []
        if mark is not None:
            packed += [
                (slot_of(partition), MARK, part, 0, payload)
                for payload in mark.payloads()
                for partition in range(plan.partitions or 0)
            ]
        if ends is not None:
            ends.count(row[0] for row in packed)
            packed += ends.ends(part)
        if packed:
            yield packed_rows(packed)

    pack.__name__ = f"pack {plan.uid}"  # in Spark's plans
    return pack


def _asked(
    plan: OperatorPlan, context: TaskContext | None, part: int
) -> list[tuple[int, int, int, int, Any]]:
    """Rows without a payload, for what has to be called in a batch with rows of its own or none."""
    asked: list[tuple[int, int, int, int, Any]] = [(slot_of(SETTINGS_GROUP), 0, part, 0, b"")]
    if context is not None and part == 0 and _asks(context, plan):
        asked += [(slot_of(group), 0, 0, -1, b"") for group in range(plan.max_parallelism)]
    if context is not None and plan.chained and (clock := _own_clock(context)) is not None:
        asked.append((clock, 0, part, 0, b""))
    return asked


def batch_id(context: TaskContext | None) -> int | None:
    """The number of the micro-batch that a task belongs to; None of a task of no stream."""
    found = context.getLocalProperty("streaming.sql.batchId") if context else None
    return None if found is None else int(found)


def _own_clock(context: TaskContext) -> int | None:
    """The slot of the clock that this task has to call (see `clock`): all tasks together call all.

    They are as many as the operator's partitions, since those of the operator before it are, and
    numbered in a row.
    """
    partitions = partitions_of(context)
    return clock_slot(context.partitionId() % partitions, partitions)


def partitions_of(context: TaskContext | None) -> int:
    """The number of partitions of a query's operators in Spark's state store."""
    found = (context.getLocalProperty(name) for name in _PARTITIONS if context is not None)
    return int(next(filter(None, found), _SPARKS_DEFAULT))


def _asks(context: TaskContext, plan: OperatorPlan) -> bool:
    """Whether all key groups are asked in this batch for what they hold, rows or not.

    One without rows costs a call and a look at its head, so of many groups not each batch asks.
    """
    batch = batch_id(context)
    return batch is not None and batch % -(-plan.max_parallelism // _ASKED_AT_ONCE) == 0


def packed_rows(rows: Sequence[tuple[int, int, int, int, Any]]) -> pa.RecordBatch:
    """Rows of (slot, phase, part, sequence, payload) as a batch."""
    columns = zip(*rows, strict=True)
    return pa.record_batch(
        [pa.array(column, kind.type) for column, kind in zip(columns, _PACKED, strict=True)],
        schema=_PACKED,
    )


def _chunks(batches: Batches) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= _CHUNK_ROWS or size >= _CHUNK_BYTES:
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(held)


def _phases(plan: OperatorPlan, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """Rows by the phase in which they are to be handled."""
    if plan.marked and plan.partitions is None:  # Spark itself has the watermark
        table = table.filter(pc.not_equal(table.column(PHASE), MARK))
    if not plan.chained or plan.partitions is not None:
        # Versioned by batch, rows of either phase are handled before the watermark moves.
        if table.num_rows:
            yield AFTER_WATERMARK, table
        return
    for phase in (BEFORE_WATERMARK, AFTER_WATERMARK):
        rows = table.filter(pc.equal(table.column(PHASE), phase))
        if rows.num_rows:
            yield phase, rows


def pack_table(plan: OperatorPlan, table: pa.Table) -> Iterator[tuple[int, Any]]:
    """(key group, payload) of each key group that has rows in the table."""
    batch, groups, lost = keyed_batch(plan, table)
    if lost is not None:
        yield NULL_KEY_GROUP, pack_payload(lost)
    for group, payload, _ in pack_groups(batch, groups, plan.max_parallelism):
        yield group, payload


def keyed_batch(
    plan: OperatorPlan, table: pa.Table
) -> tuple[pa.RecordBatch, np.ndarray, pa.RecordBatch | None]:
    """Rows with the columns of packed batches, their key groups, and those without a key.

    Rows without a key are still among the first, with the group NULL_KEY_GROUP.  NullKeyError if
    the plan does not allow them; TimestampError for rows without event time.
    """
    batch = table.combine_chunks().to_batches()[0]
    keys, groups = keys_of(plan, batch)
    batch = packed_columns(plan, batch, keys)
    missing = groups < 0
    if not missing.any():
        return batch, groups, None
    return batch, groups, lost_rows(plan, batch, missing)


def keys_of(plan: OperatorPlan, batch: pa.RecordBatch) -> tuple[pa.Array | None, np.ndarray]:
    """The encoded keys of rows, None if a column has them, and their key groups (int32)."""
    if plan.key_selector is not None:
        return _selected_keys(plan, batch)
    columns = [normalized_column(batch.column(name)) for name in plan.key_columns]
    single = len(columns) == 1
    groups = assign_to_key_groups(
        columns[0] if single else columns,
        plan.max_parallelism,
        plan.key_types[0] if single else plan.key_types,
        nulls="mark",
        names=plan.key_columns,
    )
    return None if single else tuple_keys(columns, groups), groups


def packed_columns(
    plan: OperatorPlan, batch: pa.RecordBatch, keys: pa.Array | None
) -> pa.RecordBatch:
    """Rows with the columns of packed batches; TimestampError for rows without event time."""
    times = event_times(plan, batch)
    packed = batch.select(plan.schema.names)
    if keys is not None:
        packed = packed.append_column(KEY, keys)
    return packed if times is None else packed.append_column(EVENT_TIME, times)


def event_times(plan: OperatorPlan, batch: pa.RecordBatch) -> pa.Array | None:
    """The event times (int64, ms) of a batch, or None when it has none; TimestampError."""
    if plan.chained:
        return batch.column(EVENT_TIME)
    if plan.event_time is None:
        return None
    column = batch.column(plan.event_time)
    if column.null_count:
        raise _no_time(plan, batch, column)
    return pa.array(timestamps_ms(column))


def lost_rows(plan: OperatorPlan, batch: pa.RecordBatch, missing: np.ndarray) -> pa.RecordBatch:
    """The rows that have no key; NullKeyError if the plan does not allow them."""
    if plan.null_keys == "fail":
        raise _null_key(plan, batch, missing)
    return batch.filter(pa.array(missing))


def _selected_keys(plan: OperatorPlan, batch: pa.RecordBatch) -> tuple[pa.Array, np.ndarray]:
    """Keys that a function of the row gives, encoded, and their key groups."""
    encoded: list[bytes | None] = []
    groups = np.empty(batch.num_rows, np.int32)
    kind = plan.key_types[0] if plan.key_types else None
    for index, row in enumerate(plan.elements(batch).elements()):
        try:
            key = normalized_key(plan.key_selector(row))
            encoded.append(None if key is None else pack_key(key))
            groups[index] = (
                NULL_KEY_GROUP
                if key is None
                else assign_to_key_group(key, plan.max_parallelism, kind)
            )
        except Exception as error:
            failed = UserFunctionError(
                f"the key selector of operator {plan.uid!r} failed on {row!r}: {error}",
                function=plan.uid,
                method="key_by",
            )
            # Of a batch Spark gives the error alone, without its cause.
            calls = "".join(format_tb(error.__traceback__)[1:])
            add_note(failed, f"{calls}{type(error).__name__}: {error}")
            spell_out_notes(failed)
            raise failed from error
    return pa.array(encoded, pa.binary()), groups


def tuple_keys(columns: list[pa.Array], groups: np.ndarray) -> pa.Array:
    """Keys of several columns, encoded; null where the group is NULL_KEY_GROUP."""
    values = zip(*(RecordReader([column], ("key",)).values(0) for column in columns), strict=True)
    return pa.array(
        [pack_key(key) if group >= 0 else None for key, group in zip(values, groups, strict=True)],
        pa.binary(),
    )


def _no_time(plan: OperatorPlan, batch: pa.RecordBatch, column: pa.Array) -> TimestampError:
    row = batch.filter(column.is_null()).slice(0, 1).select(plan.schema.names).to_pylist()[0]
    assigned = plan.event_time == EVENT_TIME
    source = "from the timestamp assigner" if assigned else f"in the column {plan.event_time!r}"
    return TimestampError(
        f"{column.null_count} rows have no event time {source}, the first of them {row!r}; filter "
        "them, or give them one"
    )


def _null_key(plan: OperatorPlan, batch: pa.RecordBatch, missing: np.ndarray) -> NullKeyError:
    row = batch.filter(pa.array(missing)).slice(0, 1).select(plan.schema.names).to_pylist()[0]
    keys = ", ".join(plan.key_columns) or "the key function"
    return NullKeyError(
        f"{int(missing.sum())} rows have no key in {keys}, the first of them {row!r}; filter them, "
        "or call process(..., null_keys='drop') or null_keys=OutputTag(...)",
        value=row,
        column=plan.key_columns[0] if plan.key_columns else None,
    )
