"""Vectorised windows on batch DataFrames.

Nothing is late in a batch, and every window fires once at the end (B.28).  Rows come sorted by
key; the keys that a record batch ends are fired and forgotten, so a task holds the windows of the
keys of one record batch and of the key that goes on in the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from flinkish._core.key_rows import forget_empty_rows
from flinkish._core.state_table import StateTable
from flinkish.common.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from flinkish.spark.operator_run import Result, result_batch
from flinkish.spark.packing import keyed_batch
from flinkish.spark.plan import AFTER_WATERMARK, OperatorPlan
from flinkish.spark.vector_run import VectorRun

__all__ = ["run_windows"]

Batches = Iterator[pa.RecordBatch]


def run_windows(plan: OperatorPlan) -> Callable[[Batches], Batches]:
    """The function for `mapInArrow` over rows that are sorted by key."""

    def run(batches: Batches) -> Batches:
        windows = _KeysInTurn(plan)
        try:
            for batch in batches:
                yield from windows.process(batch)
            yield from windows.fire()
        except Exception as error:
            windows.run.explain(error)
            raise

    return run


class _KeysInTurn:
    def __init__(self, plan: OperatorPlan) -> None:
        assert plan.vector is not None
        # Late is nothing, and each window fires once: all other lateness would only hold state.
        spec = replace(plan.vector.spec, lateness=0)
        self._plan = replace(plan, vector=replace(plan.vector, spec=spec))
        self._table = StateTable(0)
        self.run = VectorRun(self._plan, self._table)

    def process(self, batch: pa.RecordBatch) -> Batches:
        """Take sorted rows; fire for all keys but the last."""
        if batch.num_rows == 0:
            return
        batch, groups, lost = keyed_batch(self._plan, pa.Table.from_batches([batch]))
        if lost is not None:
            yield result_batch(self.run.route_null_keys([lost]))
            batch = batch.filter(pa.array(groups >= 0))
        if batch.num_rows == 0:
            return
        self._table.watermark = MIN_TIMESTAMP
        rows = self.run.key_rows(batch)
        last = int(np.flatnonzero(rows != rows[-1])[-1]) + 1 if (rows != rows[-1]).any() else 0
        if last:
            self.run.process_rows(batch.slice(0, last), rows[:last])
            yield from self.fire()
            rest = batch.slice(last)
            self.run.process_rows(rest, self.run.key_rows(rest))
        else:
            self.run.process_rows(batch, rows)

    def fire(self) -> Batches:
        """The end of time for every key that is held."""
        self.run.advance(MAX_TIMESTAMP, 0)
        results = self.run.take_outputs(AFTER_WATERMARK)
        forget_empty_rows(self._table)
        self._table.watermark = MIN_TIMESTAMP
        results.append(Result(0, counters=self.run.take_counters()))
        yield result_batch(results)
