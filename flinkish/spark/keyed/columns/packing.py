"""Rows to records of panes before they are shuffled: what the vectorised operator's packing does.

A record says what all elements of a key in a pane come to, so the shuffle moves one row a key and
pane of each chunk, and the operator merges as many.  Whether a pane is late the operator decides,
as for a row: it knows the watermark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flinkish._core.values.codec import pack_groups, pack_payload
from flinkish.operators.key_columns import normalized_column
from flinkish.spark.channels import CHANNEL
from flinkish.spark.keyed.columns.plan import PANE_BEGIN, RECORD, vector_of
from flinkish.spark.keyed.packing import (
    NULL_KEY_GROUP,
    PackRows,
    event_times,
    lost_rows,
    pack_table,
    tuple_keys,
)
from flinkish.spark.keyed.plan import EVENT_TIME, KEY, PHASE, OperatorPlan
from flinkish.time import assign_to_key_groups

__all__ = [
    "CombinedRows",
    "combine_rows",
    "fixed_records",
    "named_keys",
    "pack_panes",
    "pack_rows_of",
    "pane_schema",
    "unread_columns",
]


def pack_rows_of(plan: OperatorPlan) -> PackRows:
    """How the rows of an operator's input are packed."""
    return pack_panes if vector_of(plan).combines else pack_table


def unread_columns(columns: Sequence[str], plan: OperatorPlan) -> list[str]:
    """The columns that nobody reads, and that therefore need not travel."""
    read = {*plan.schema.names, *plan.key_columns, plan.event_time}
    if plan.chained or plan.marked:
        read |= {EVENT_TIME, PHASE}
    if plan.channelled:
        read.add(CHANNEL)
    return [name for name in columns if name not in read]


def pane_schema(plan: OperatorPlan) -> pa.Schema:
    """The columns of payloads of records: the key, when the pane begins (ms), the record."""
    stride = vector_of(plan).aggregates_of(plan.schema).layout.stride
    key = plan.key_column
    return pa.schema(
        [
            plan.schema.field(key) if key is not None else pa.field(KEY, pa.binary()),
            pa.field(PANE_BEGIN, pa.int64()),
            pa.field(RECORD, pa.binary(stride)),
        ]
    )


@dataclass(frozen=True)
class CombinedRows:
    """Records of the panes of some rows: the columns of the key, begins (ms), and records.

    ``lost`` are rows without a key, in the columns in which rows travel; None when all have one.
    """

    keys: list[pa.Array]
    begins: npt.NDArray[np.int64]
    records: npt.NDArray[np.uint8]
    lost: pa.RecordBatch | None


def combine_rows(plan: OperatorPlan, batch: pa.RecordBatch) -> CombinedRows:
    """Combine a batch; NullKeyError and TimestampError as for rows that travel."""
    vector = vector_of(plan)
    times = event_times(plan, batch)
    assert times is not None
    columns = [normalized_column(batch.column(name)) for name in plan.key_columns]
    numbers, missing = _key_numbers(columns)
    lost = None
    if missing is not None:
        lost = lost_rows(plan, _as_packed(plan, batch, times), missing)
        there = pa.array(~missing)
        batch, times, numbers = batch.filter(there), times.filter(there), numbers[~missing]
        columns = [column.filter(there) for column in columns]
    aggregates = vector.aggregates_of(plan.schema)
    firsts, begins, records = vector.spec.combiner(aggregates).combine(
        numbers, times.to_numpy(), aggregates.words_of(batch)
    )
    keys = [column.take(pa.array(firsts)) for column in columns]
    return CombinedRows(keys, begins, records, lost)


def pack_panes(plan: OperatorPlan, table: pa.Table) -> Iterator[tuple[int, Any]]:
    """(key group, payload of records) of each key group that has rows in the table."""
    combined = combine_rows(plan, table.combine_chunks().to_batches()[0])
    if combined.lost is not None:
        yield NULL_KEY_GROUP, pack_payload(combined.lost)
    columns = combined.keys
    groups = _groups_of(plan, columns)
    panes = pa.record_batch(
        [
            columns[0] if len(columns) == 1 else tuple_keys(columns, groups),
            pa.array(combined.begins),
            fixed_records(combined.records),
        ],
        schema=pane_schema(plan),
    )
    for group, payload, _ in pack_groups(panes, groups, plan.max_parallelism):
        yield group, payload


def named_keys(plan: OperatorPlan, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Records with their keys in several columns, with these in the one that payloads have."""
    if plan.key_column is not None:
        return batch
    columns = [batch.column(name) for name in plan.key_columns]
    keys = tuple_keys(columns, np.zeros(len(batch), np.int32))
    return batch.select([PANE_BEGIN, RECORD]).append_column(KEY, keys)


def _as_packed(plan: OperatorPlan, batch: pa.RecordBatch, times: pa.Array) -> pa.RecordBatch:
    """Rows with the columns in which rows travel, without their keys."""
    rows = batch.select(plan.schema.names)
    if plan.key_column is None:
        rows = rows.append_column(KEY, pa.nulls(len(rows), pa.binary()))
    return rows.append_column(EVENT_TIME, times)


def _key_numbers(
    columns: Sequence[pa.Array],
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_] | None]:
    """A number for each key of a batch, and which rows have none (None: all have)."""
    numbers = np.zeros(len(columns[0]), np.int64)
    missing = None
    for column in columns:
        encoded = column.dictionary_encode()
        places = encoded.indices
        if places.null_count:
            nulls = places.is_null().to_numpy(zero_copy_only=False)
            missing = nulls if missing is None else missing | nulls
            places = places.fill_null(0)
        numbers = numbers * (len(encoded.dictionary) + 1) + places.to_numpy()
        if len(columns) > 1:
            # Dense again, so that several columns never leave 32 bits.
            numbers = pa.array(numbers).dictionary_encode().indices.to_numpy().astype(np.int64)
    return numbers.astype(np.uint32), missing


def _groups_of(plan: OperatorPlan, columns: list[pa.Array]) -> npt.NDArray[np.int32]:
    single = len(columns) == 1
    return assign_to_key_groups(
        columns[0] if single else columns,
        plan.max_parallelism,
        plan.key_types[0] if single else plan.key_types,
        names=plan.key_columns,
    )


def fixed_records(records: npt.NDArray[np.uint8]) -> pa.Array:
    """Records as an array of binary of their size."""
    kind = pa.binary(records.shape[1])
    return pa.Array.from_buffers(kind, len(records), [None, pa.py_buffer(records)])
