"""Rows of all key groups of a partition in one payload.

Most turns of a task have few rows, each of another key group: they are packed, unpacked and read
together, and only handed over group by group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from flinkish._core.values.codec import pack_groups, unpack_payload
from flinkish.spark.batches import joined
from flinkish.spark.keyed.operator_run import OperatorRun
from flinkish.spark.keyed.packed_columns import element_keys, element_times
from flinkish.spark.keyed.packing import NULL_KEY_GROUP, keyed_batch
from flinkish.spark.keyed.plan import AFTER_WATERMARK, OperatorPlan
from flinkish.spark.keyed.result_rows import Result

__all__ = ["PartitionRows", "pack_partitions"]

# The column with the key group of a row.
_GROUP = pa.field("__flinkish_group", pa.int32())


def pack_partitions(plan: OperatorPlan, table: pa.Table) -> Iterator[tuple[int, Any]]:
    """(partition, payload) of each partition that has rows in the table, by key group.

    Rows without a key are a payload of NULL_KEY_GROUP.
    """
    assert plan.partitions is not None
    batch, groups, lost = keyed_batch(plan, table)
    if lost is not None:
        yield NULL_KEY_GROUP, lost.serialize().to_pybytes()
    batch = batch.append_column(_GROUP, pa.array(groups, pa.int32()))
    partitions = np.where(groups < 0, groups, groups % plan.partitions)
    for partition, payload, _ in pack_groups(batch, partitions, plan.partitions):
        yield partition, payload


class PartitionRows:
    """The rows of payloads, key group by key group; of each in order of arrival or of time."""

    def __init__(self, plan: OperatorPlan, payloads: Sequence[bytes]) -> None:
        schema = plan.packed_schema.append(_GROUP)
        rows = joined([unpack_payload(payload, schema) for payload in payloads])
        groups = rows.column(_GROUP.name).to_numpy()
        if plan.timestamp_order:
            order = np.lexsort((element_times(rows), groups))
        else:
            order = np.argsort(groups, kind="stable")
        if (order[1:] < order[:-1]).any():
            rows, groups = rows.take(pa.array(order)), groups[order]
        self._reader = plan.elements(rows)
        self._times = element_times(rows) if plan.timed else None
        self._keys = element_keys(rows, plan.key_column)
        starts = np.flatnonzero(np.diff(groups, prepend=-1)).tolist()
        spans = zip(starts, [*starts[1:], len(groups)], strict=True)
        self._spans = dict(zip(groups[starts].tolist(), spans, strict=True))

    @property
    def key_groups(self) -> list[int]:
        """The key groups that have rows."""
        return list(self._spans)

    def process(self, key_group: int, run: OperatorRun) -> Iterator[Result]:
        """Hand the rows of a key group to the function, in its run."""
        start, stop = self._spans[key_group]
        times = None if self._times is None else self._times[start:stop]

        def read(first: int, last: int) -> list[Any]:
            return self._reader.elements(start + first, start + last)

        rows = self._keys.rows(run.table, start, stop)
        return run.process_elements(read, rows, times, AFTER_WATERMARK)
