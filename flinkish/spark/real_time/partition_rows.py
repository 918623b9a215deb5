"""Rows of all key groups of a partition, together.

Most turns of a task have few rows, each of another key group: they are packed, unpacked, read and
handed over together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from flinkish._core.state.key_reader import KeyReader
from flinkish._core.values.codec import pack_groups, pack_payload, unpack_payload
from flinkish.spark.batches import joined
from flinkish.spark.keyed.packed_columns import element_keys, element_times
from flinkish.spark.keyed.packing import NULL_KEY_GROUP, keyed_batch
from flinkish.spark.keyed.plan import OperatorPlan

__all__ = ["PartitionRows", "in_group_order", "pack_partitions"]

# The column with the key group of a row.
_GROUP = pa.field("__flinkish_group", pa.int32())


def pack_partitions(plan: OperatorPlan, table: pa.Table) -> Iterator[tuple[int, Any]]:
    """(partition, payload) of each partition that has rows in the table, by key group.

    Rows without a key are a payload of NULL_KEY_GROUP.
    """
    assert plan.partitions is not None
    batch, groups, lost = keyed_batch(plan, table)
    if lost is not None:
        yield NULL_KEY_GROUP, pack_payload(lost)
    batch = batch.append_column(_GROUP, pa.array(groups, pa.int32()))
    partitions = np.where(groups < 0, groups, groups % plan.partitions)
    for partition, payload, _ in pack_groups(batch, partitions, plan.partitions):
        yield partition, payload


def in_group_order(groups: np.ndarray, times: np.ndarray | None) -> np.ndarray:
    """The numbers of rows by key group; of each in order of arrival, or of time if it is given."""
    return np.argsort(groups, kind="stable") if times is None else np.lexsort((times, groups))


class PartitionRows:
    """Rows, at least one, as they are handed over.

    They have their keys, their event times (ms) and their key groups (int32).
    """

    def __init__(
        self,
        plan: OperatorPlan,
        rows: pa.RecordBatch,
        keys: KeyReader,
        times: np.ndarray | None,
        groups: np.ndarray,
    ) -> None:
        self._reader = plan.elements(rows)
        self.keys = keys
        self.times = times
        self.groups = groups

    @classmethod
    def of(cls, plan: OperatorPlan, payloads: Sequence[bytes]) -> PartitionRows:
        """The rows of payloads of `pack_partitions`."""
        schema = plan.packed_schema.append(_GROUP)
        rows = joined([unpack_payload(payload, schema) for payload in payloads])
        groups = rows.column(_GROUP.name).to_numpy()
        times = element_times(rows) if plan.timed else None
        order = in_group_order(groups, times if plan.timestamp_order else None)
        if (order[1:] < order[:-1]).any():
            rows, groups = rows.take(pa.array(order)), groups[order]
            times = None if times is None else times[order]
        return cls(plan, rows, element_keys(rows, plan.key_column), times, groups)

    def __len__(self) -> int:
        return len(self.groups)

    def elements(self, start: int, stop: int) -> list[Any]:
        """Elements ``start`` to ``stop``."""
        return self._reader.elements(start, stop)
