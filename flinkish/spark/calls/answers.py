"""The outcomes of asynchronous calls: plain vocabulary.

A result that does not fit its columns is an error of its row like any other, and that shows only
where values become columns.  So results keep the row they were made of until then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from flinkish.spark.keyed.result_rows import METRICS

__all__ = [
    "COUNTERS",
    "COUNTS",
    "COUNTS_COLUMN",
    "ERROR",
    "ERROR_TYPE",
    "Answer",
    "Counts",
    "Failure",
    "OnError",
    "keep_failure",
]

OnError = Literal["fail", "drop", "column"]

# An error that is kept: the name of its column, and what is in it.
ERROR = "error"
ERROR_TYPE = pa.struct([("type", pa.string()), ("message", pa.string()), ("attempts", pa.int32())])

# What each task counts; sums of them are observed by Spark.
COUNTERS = ("rows", "results", "failed", "dropped", "timed_out", "retried", "saved")
COUNTS_COLUMN = "__flinkish_counts"
# The counters of users are a JSON object, see `observed`.
COUNTS = pa.struct([*((name, pa.int64()) for name in COUNTERS), (METRICS, pa.string())])


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a row has no results, for good."""

    error: BaseException
    attempts: int


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a task, by the names in COUNTERS, and the user's own counters."""

    counts: dict[str, int]
    own: dict[str, int]


Answer = tuple[Any, Any, int, int | None]
"""A row, or a list of those that were one call; what became of it, a list of values or a Failure;
the number of attempts; its stamp.
"""


def keep_failure(row: Any, error: BaseException, attempts: int) -> list[Failure]:
    """An error as the result of its row."""
    return [Failure(error, attempts)]
