"""Checks of a user's function before it is sent to the workers of a stream."""

from __future__ import annotations

import warnings
from typing import Any

from flinkish.operators.function_fields import changed_in_place
from flinkish.spark.pickling import check_picklable

__all__ = ["check_function", "warn_of_fields"]

_RESTARTS = (
    "{0} sets {1} as it runs: in a query over a streaming DataFrame functions are unpickled and "
    "opened for each micro-batch, so {1} then has the value of __init__ or open() again. Keep it "
    "in state after key_by, or write the job as a StreamExecutionEnvironment program, where "
    "function objects keep their fields from micro-batch to micro-batch"
)


def check_function(function: Any, what: str, *, restarts: bool) -> None:
    """SerializationError if it cannot be pickled; calls `warn_of_fields` if it ``restarts``."""
    check_picklable(function, what)
    if restarts:
        warn_of_fields(function)


def warn_of_fields(function: Any) -> None:
    """Warn of fields that a function sets as it runs, and that are lost after a micro-batch."""
    for field, method in changed_in_place(function).items():
        warnings.warn(_RESTARTS.format(method, repr(field)), stacklevel=1)
