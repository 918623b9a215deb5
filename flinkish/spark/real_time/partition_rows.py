"""Rows of all key groups of a partition, together.

Most turns of a task have few rows, each of another key group: they are packed, unpacked and read
together, and only handed over group by group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from flinkish._core.values.codec import pack_groups, unpack_payload
from flinkish.spark.batches import joined
from flinkish.spark.keyed.operator_run import OperatorRun
from flinkish.spark.keyed.packed_columns import element_keys, element_times
from flinkish.spark.keyed.packing import NULL_KEY_GROUP, keyed_batch
from flinkish.spark.keyed.plan import AFTER_WATERMARK, OperatorPlan
from flinkish.spark.keyed.result_rows import Result

__all__ = ["PartitionRows", "Process", "in_group_order", "pack_partitions"]

# Hands the rows of a key group to the function, in its run.
Process: TypeAlias = Callable[[OperatorRun], Iterator[Result]]

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


def in_group_order(groups: np.ndarray, times: np.ndarray | None) -> np.ndarray:
    """The numbers of rows by key group; of each in order of arrival, or of time if it is given."""
    return np.argsort(groups, kind="stable") if times is None else np.lexsort((times, groups))


class PartitionRows:
    """Packed rows with their key groups (int32), at least one row.

    They are handed over run by run, each of rows of one key group that follow each other.
    """

    def __init__(self, plan: OperatorPlan, rows: pa.RecordBatch, groups: np.ndarray) -> None:
        self._reader = plan.elements(rows)
        self._times = element_times(rows) if plan.timed else None
        self._keys = element_keys(rows, plan.key_column)
        starts = [0, *(np.flatnonzero(groups[1:] != groups[:-1]) + 1).tolist()]
        self._groups = groups[starts].tolist()
        self._spans = list(zip(starts, [*starts[1:], len(groups)], strict=True))

    @classmethod
    def of(cls, plan: OperatorPlan, payloads: Sequence[bytes]) -> PartitionRows:
        """The rows of payloads of `pack_partitions`."""
        schema = plan.packed_schema.append(_GROUP)
        rows = joined([unpack_payload(payload, schema) for payload in payloads])
        groups = rows.column(_GROUP.name).to_numpy()
        times = element_times(rows) if plan.timestamp_order else None
        order = in_group_order(groups, times)
        if (order[1:] < order[:-1]).any():
            rows, groups = rows.take(pa.array(order)), groups[order]
        return cls(plan, rows, groups)

    def runs(self) -> Iterator[tuple[int, Process]]:
        """The key group of each run, and the function that hands it to the operator's run."""
        for key_group, span in zip(self._groups, self._spans, strict=True):
            yield key_group, partial(self._process, *span)

    def _process(self, start: int, stop: int, run: OperatorRun) -> Iterator[Result]:
        times = None if self._times is None else self._times[start:stop]

        def read(first: int, last: int) -> list[Any]:
            return self._reader.elements(start + first, start + last)

        rows = self._keys.rows(run.table, start, stop)
        return run.process_elements(read, rows, times, AFTER_WATERMARK)
