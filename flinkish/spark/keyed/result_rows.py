"""The results of a keyed operator: each has rows of some output, a mark, or measurements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from flinkish.spark.keyed.output_pieces import Outputs
from flinkish.spark.keyed.output_rows import write_payload

__all__ = ["COUNTERS", "GAUGES", "METRICS", "REPORTS", "Result", "result_batch", "results_schema"]

# What every call counts; sums of them are the operator's statistics.
COUNTERS = (
    "rows",
    "late_rows",
    "null_keys",
    "timers_registered",
    "timers_deleted",
    "timers_fired",
    "table_misses",
    "tables_in_memory",
    "compactions",
    "checkpoint_bytes",
    "groups_dropped",
)

# What each key group holds at the end of a batch.  A key group reports once in a batch, which
# REPORTS counts: sums are of the whole operator if there are as many reports as key groups.
GAUGES = (
    "key_groups",
    "keys",
    "event_timers",
    "processing_timers",
    "log_bytes",
    "table_bytes",
)
REPORTS = "reports"

# What the user's own counters counted, as a JSON object: see `observed`.
METRICS = "metrics"

_NUMBERS = (*COUNTERS, REPORTS, *GAUGES)


def results_schema() -> str:
    """Columns of what an operator yields: a payload of some output, or counters."""
    return "kg int, phase int, tag string, payload binary, metrics string, " + ", ".join(
        f"{name} bigint" for name in _NUMBERS
    )


_RESULTS = pa.schema(
    [("kg", pa.int32()), ("phase", pa.int32()), ("tag", pa.string()), ("payload", pa.binary())]
    + [(METRICS, pa.string())]
    + [(name, pa.int64()) for name in _NUMBERS]
)


@dataclass(frozen=True, slots=True)
class Result:
    """One row of what an operator yields: of an output it has the ``rows``, of a mark the bytes.

    Of a run that does not encode it has the ``outputs`` instead, and is no row yet.
    """

    key_group: int
    phase: int | None = None
    tag: str | None = None
    rows: pa.RecordBatch | None = None
    mark: bytes | None = None
    outputs: Outputs | None = None
    counters: dict[str, int] | None = None
    gauges: dict[str, int] | None = None
    metrics: str | None = None

    @property
    def given(self) -> pa.RecordBatch | bytes | None:
        """The rows, or the mark."""
        return self.mark if self.rows is None else self.rows

    def to_dict(self) -> dict[str, Any]:
        """The row by column names; a counter that was not touched is 0."""
        counted, held = self.counters, self.gauges
        return {
            "kg": self.key_group,
            "phase": self.phase,
            "tag": self.tag,
            "payload": self.mark if self.rows is None else write_payload(self.rows).to_pybytes(),
            METRICS: self.metrics,
            **{name: None if counted is None else counted.get(name, 0) for name in COUNTERS},
            **{name: None if held is None else held[name] for name in (REPORTS, *GAUGES)},
        }


def result_batch(results: Iterable[Result]) -> pa.RecordBatch:
    """Rows of results as a batch."""
    return pa.RecordBatch.from_pylist([result.to_dict() for result in results], schema=_RESULTS)
