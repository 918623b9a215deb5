"""Vectorised windows on batch DataFrames.

Nothing is late in a batch, and every window fires once at the end (Flink:
BatchExecutionInternalTimeService).  Rows are combined into records of panes before they are
shuffled, where elements of a pane cannot differ.  The input is sorted by key; the keys that a
record batch ends are fired and forgotten, so a task holds the windows of the keys of one record
batch and of the key that goes on in the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from flinkish._core.state.key_rows import forget_empty_rows
from flinkish._core.state.table import StateTable
from flinkish.common.timestamps import MAX_TIMESTAMP, MIN_TIMESTAMP
from flinkish.spark.keyed.columns.packing import combine_rows, fixed_records, named_keys
from flinkish.spark.keyed.columns.plan import PANE_BEGIN, RECORD, vector_of
from flinkish.spark.keyed.columns.run import VectorRun
from flinkish.spark.keyed.packing import keyed_batch
from flinkish.spark.keyed.plan import AFTER_WATERMARK, OperatorPlan
from flinkish.spark.keyed.result_rows import result_batch, results_schema
from flinkish.spark.map_in_arrow import map_in_arrow

__all__ = ["run_windows"]

Batches = Iterator[pa.RecordBatch]


def run_windows(frame: DataFrame, plan: OperatorPlan) -> DataFrame:
    """The operator's results over a batch DataFrame, in the columns of the streaming operator's."""
    vector = vector_of(plan)
    # Late is nothing, and each window fires once: lateness would only hold state.
    spec = replace(vector.spec, lateness=0)
    plan = replace(plan, operator=replace(vector, spec=spec, late_tag=None))
    # Rows without a key travel as they are, to be counted and put where they belong.
    combines = spec.combines and plan.null_keys == "fail"
    if combines:
        fields = [frame.schema[name] for name in plan.key_columns]
        fields += [StructField(PANE_BEGIN, LongType()), StructField(RECORD, BinaryType())]
        frame = map_in_arrow(frame, _combine(plan.without_functions()), StructType(fields))
    ordered = plan.spread(frame, *plan.key_columns).sortWithinPartitions(*plan.key_columns)
    return map_in_arrow(ordered, _run(plan, combines), results_schema())


def _combine(plan: OperatorPlan) -> Callable[[Batches], Batches]:
    def combine(batches: Batches) -> Batches:
        for batch in batches:
            if batch.num_rows == 0:
                continue
            combined = combine_rows(plan, batch)
            yield pa.RecordBatch.from_arrays(
                [
                    *combined.keys,
                    pa.array(combined.begins),
                    fixed_records(combined.records).cast(pa.binary()),
                ],
                [*plan.key_columns, PANE_BEGIN, RECORD],
            )

    return combine


def _run(plan: OperatorPlan, combined: bool) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        opened = VectorRun(plan, StateTable(0))
        with opened:
            windows = _KeysInTurn(plan, opened, combined)
            for batch in batches:
                opened.check()
                if batch.num_rows:
                    yield from windows.process(batch)
            yield from windows.fire()

    return run


class _KeysInTurn:
    """Handles sorted rows, or records of panes; the last key of a batch may go on in the next."""

    def __init__(self, plan: OperatorPlan, run: VectorRun, combined: bool) -> None:
        self._plan = plan
        self._run = run
        self._combined = combined
        self._table = run.table

    def process(self, batch: pa.RecordBatch) -> Batches:
        """Take sorted rows; fire for all keys but the last."""
        if self._combined:
            batch = named_keys(self._plan, batch)
        else:
            batch, groups, lost = keyed_batch(self._plan, pa.Table.from_batches([batch]))
            if lost is not None:
                yield result_batch(self._run.route_null_keys([lost]))
                batch = batch.filter(pa.array(groups >= 0))
        if batch.num_rows == 0:
            return
        rows = self._run.key_rows(batch)
        others = np.flatnonzero(rows != rows[-1])
        last = int(others[-1]) + 1 if len(others) else 0
        if last:
            yield from self._take(batch.slice(0, last), rows[:last])
            yield from self.fire()
            # The row of the last key went with those that hold nothing.
            batch = batch.slice(last)
            rows = self._run.key_rows(batch)
        yield from self._take(batch, rows)

    def _take(self, batch: pa.RecordBatch, rows: npt.NDArray[np.uint32]) -> Batches:
        self._table.watermark = MIN_TIMESTAMP
        if self._combined:
            self._run.merge_panes(batch, rows)
        else:
            for result in self._run.process_rows(batch, rows, AFTER_WATERMARK):
                yield result_batch([result])

    def fire(self) -> Batches:
        """The end of time for every key that is held."""
        for result in self._run.advance(MAX_TIMESTAMP, 0, AFTER_WATERMARK):
            yield result_batch([result])
        forget_empty_rows(self._table)
        yield result_batch([self._run.counts.result(0)])
