"""The counts of an operator's run, as one row more among those that it gives.

The row is the last of its task.  It is null but for two columns that other rows have null: NUMBERS
(COUNTERS, then REPORTS and GAUGES) and METRICS, the user's own as a JSON object.
"""

from __future__ import annotations

import json
from collections import Counter

import pyarrow as pa

from flinkish.spark.keyed.result_rows import COUNTERS, GAUGES, REPORTS, Result
from flinkish.spark.mapped_frame import Batches, MapBatches

__all__ = ["COUNTED", "NUMBERS", "OWN", "Counts", "counting"]

NUMBERS = "__flinkish_numbers"
OWN = "__flinkish_metrics"

# The places of the numbers.
COUNTED = (*COUNTERS, REPORTS, *GAUGES)


class Counts:
    """The counts of a task.

    The run and `counting` have the same one, also after they travelled together to a worker.
    """

    def __init__(self) -> None:
        self._numbers: Counter[str] = Counter()
        self._own: Counter[str] = Counter()

    def add(self, result: Result) -> None:
        """Add the counters and gauges of a result."""
        for counted in (result.counters, result.gauges):
            self._numbers.update(counted or {})
        if result.metrics is not None:
            self._own.update(json.loads(result.metrics))

    def row(self, schema: pa.Schema) -> pa.RecordBatch:
        """The row, in columns of a schema that ends with NUMBERS and OWN."""
        numbers = [self._numbers[name] for name in COUNTED]
        own = json.dumps(self._own) if self._own else None
        said = {NUMBERS: [numbers], OWN: [own]}
        return pa.RecordBatch.from_arrays(
            [pa.array(said.get(one.name, [None]), one.type) for one in schema], schema.names
        )


def counting(function: MapBatches, schema: pa.Schema, counts: Counts) -> MapBatches:
    """A function for `mapInArrow` that adds the row to what another gives.

    The schema has its columns, then NUMBERS and OWN.
    """
    added = [schema.field(name) for name in (NUMBERS, OWN)]

    def run(batches: Batches) -> Batches:
        for batch in function(batches):
            for one in added:
                batch = batch.append_column(one, pa.nulls(batch.num_rows, one.type))
            yield batch
        yield counts.row(schema)

    run.__name__ = function.__name__  # in Spark's plans
    return run
