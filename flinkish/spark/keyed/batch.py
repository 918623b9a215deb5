"""Keyed operators on batch DataFrames: key after key, each in timestamp order.

As in Flink's batch mode (BatchExecutionInternalTimeService) the watermark is the lowest while rows
of a key are handled; after its last row it is the highest, every timer of the key fires, and its
state is forgotten.
Timers that ``on_timer`` registers at that point are ignored with a warning.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from flinkish._core.state.key_rows import forget_scoped_rows
from flinkish._core.state.table import StateTable
from flinkish.common.timestamps import MAX_TIMESTAMP, MIN_TIMESTAMP
from flinkish.spark.keyed.operator_run import OperatorRun
from flinkish.spark.keyed.packing import keyed_batch
from flinkish.spark.keyed.plan import AFTER_WATERMARK, EVENT_TIME, KEY, OperatorPlan
from flinkish.spark.keyed.result_rows import Result, result_batch, results_schema
from flinkish.spark.keyed.two_inputs import INPUT, union_frame
from flinkish.spark.map_in_arrow import map_in_arrow

__all__ = ["run_both", "run_rows"]

Batches = Iterator[pa.RecordBatch]

_LOG = logging.getLogger(__name__)
_NO_ROW = 0xFFFFFFFF
_FEW = 1_024  # rows below which looking for those of windows is not worth it


def run_rows(frame: DataFrame, plan: OperatorPlan) -> DataFrame:
    """The operator's results over a batch DataFrame, in the columns of the streaming operator's.

    Spark sorts, spilling to disk what does not fit, so a task holds the state of one key.
    """
    keys = list(plan.key_columns)
    if plan.key_selector is not None:
        added = [StructField(KEY, BinaryType())]
        added += [StructField(EVENT_TIME, LongType())] if plan.timed else []
        fields = [field for field in frame.schema.fields if field.name in plan.schema.names]
        frame = map_in_arrow(frame, _select_keys(plan), StructType([*fields, *added]))
        keys = [KEY]
    times = [EVENT_TIME if plan.key_selector is not None else plan.event_time]
    order = [*keys, *(name for name in times if plan.timed and name is not None)]
    ordered = plan.spread(frame, *keys).sortWithinPartitions(*order)
    return map_in_arrow(ordered, _run_keys(plan), results_schema())


def run_both(frame: DataFrame, second: DataFrame, plan: OperatorPlan) -> DataFrame:
    """The same of two inputs.

    Their rows come to a key in the order of their times, the first input's first.
    """
    both = union_frame((frame, second), plan)
    ordered = plan.spread(both, KEY).sortWithinPartitions(KEY, EVENT_TIME, INPUT)
    return map_in_arrow(ordered, _run_keys(plan), results_schema())


def _select_keys(plan: OperatorPlan) -> Callable[[Batches], Batches]:
    """Run the key function, so that Spark can sort by what it gives."""
    plan = plan.without_functions()

    def select(batches: Batches) -> Batches:
        for batch in batches:
            yield keyed_batch(plan, pa.Table.from_batches([batch]))[0]

    return select


def _run_keys(plan: OperatorPlan) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        with plan.strategy.open_run(plan, StateTable(0)) as opened:
            keyed = _KeyByKey(plan, opened)
            for batch in batches:
                yield from keyed.process(batch)
            yield from keyed.finish()

    run.__name__ = f"run {plan.uid}"  # in Spark's plans
    return run


class _KeyByKey:
    """Handles sorted rows; the last key of a batch may go on in the next one."""

    def __init__(self, plan: OperatorPlan, run: OperatorRun) -> None:
        self._plan = plan
        self._run = run
        self._table = run.table
        self._rows_kept = _FEW
        self._current = _NO_ROW
        self._now = int(time.time() * 1000)
        run.engine.timers.quiesces = True

    def process(self, batch: pa.RecordBatch) -> Batches:
        if batch.num_rows == 0:
            return
        plan = self._plan
        if plan.key_selector is None and plan.second is None:
            batch, groups, lost = keyed_batch(plan, pa.Table.from_batches([batch]))
            missing = groups < 0
        else:
            missing = batch.column(KEY).is_null().to_numpy(zero_copy_only=False)
            lost = batch.filter(pa.array(missing)) if missing.any() else None
        if lost is not None:
            yield result_batch(self._run.route_null_keys([lost]))
            batch = batch.filter(pa.array(~missing))
        rows = self._run.key_rows(batch)
        starts = np.flatnonzero(np.diff(rows, prepend=_NO_ROW))
        for start, stop in zip(starts, [*starts[1:], len(rows)], strict=True):
            if rows[start] != self._current:
                yield from self._end_key()
                self._current = rows[start]
                self._table.watermark = MIN_TIMESTAMP
                self._table.processing_time = self._now
            part = batch.slice(start, stop - start)
            yield from _each(self._run.process_rows(part, rows[start:stop], AFTER_WATERMARK))
        yield from self._results()

    def finish(self) -> Batches:
        yield from self._end_key()
        yield from self._results()
        if ignored := self._run.engine.timers.ignored:
            _LOG.warning(
                "operator %r: %d timers that were registered after the last element of their key, "
                "at the end of time, are ignored, as in Flink's batch mode",
                self._plan.uid,
                ignored,
            )

    def _end_key(self) -> Batches:
        """The end of time for the current key, and of its state."""
        if self._current == _NO_ROW:
            return
        yield from _each(self._run.advance(MAX_TIMESTAMP, MAX_TIMESTAMP, AFTER_WATERMARK))
        self._table.forget(self._current)
        self._current = _NO_ROW
        # Rows of windows are left, of this key and those before; looking for them costs each row
        # of the table, so it is done when there are twice as many as the last time.
        if self._table.number_of_keys > 2 * self._rows_kept:
            forget_scoped_rows(self._table)
            self._rows_kept = max(self._table.number_of_keys, _FEW)

    def _results(self) -> Batches:
        yield from _each(self._run.take_outputs(AFTER_WATERMARK))
        yield result_batch([self._run.counts.result(0)])


def _each(results: Iterable[Result]) -> Batches:
    """Each result as a batch of its own, which Spark may take before the next is made."""
    return (result_batch([result]) for result in results)
