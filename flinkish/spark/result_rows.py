"""What a keyed operator yields: rows with a payload of some output, or with counters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

__all__ = ["COUNTERS", "Result", "result_batch", "results_schema"]

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


def results_schema() -> str:
    """Columns of what an operator yields: a payload of some output, or counters."""
    return "kg int, phase int, tag string, payload binary, " + ", ".join(
        f"{name} bigint" for name in COUNTERS
    )


_RESULTS = pa.schema(
    [("kg", pa.int32()), ("phase", pa.int32()), ("tag", pa.string()), ("payload", pa.binary())]
    + [(name, pa.int64()) for name in COUNTERS]
)


@dataclass(frozen=True, slots=True)
class Result:
    """One row of what an operator yields."""

    key_group: int
    phase: int | None = None
    tag: str | None = None
    payload: bytes | None = None
    counters: dict[str, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The row by column names; a counter that was not touched is 0."""
        counted = self.counters
        return {
            "kg": self.key_group,
            "phase": self.phase,
            "tag": self.tag,
            "payload": self.payload,
            **{name: None if counted is None else counted.get(name, 0) for name in COUNTERS},
        }


def result_batch(results: Iterable[Result]) -> pa.RecordBatch:
    """Rows of results as a batch."""
    return pa.RecordBatch.from_pylist([result.to_dict() for result in results], schema=_RESULTS)
