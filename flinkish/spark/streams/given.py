"""The arguments that users hand to streams, checked at the call."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from flinkish.common.errors import ArgumentTypeError
from flinkish.common.methods import require_methods
from flinkish.functions import ProcessFunction
from flinkish.spark.streams.porting import PortingHints

__all__ = ["check_frame", "check_process_function"]


def check_frame(frame: Any) -> None:
    """ArgumentTypeError for what is no DataFrame of Spark."""
    if isinstance(frame, DataFrame):
        return
    if isinstance(frame, PortingHints):
        remedy = "that is a stream already"
    elif hasattr(frame, "__dataframe__") or isinstance(frame, (list, tuple, dict)):
        remedy = "make one with spark.createDataFrame(...), or read one with spark.readStream"
    else:
        remedy = "such as spark.readStream...load() or spark.table(...)"
    kind = type(frame)
    raise ArgumentTypeError(
        f"DataStream takes a DataFrame of Spark, not a {kind.__module__.split('.')[0]} "
        f"{kind.__name__}: {remedy}"
    )


def check_process_function(function: Any) -> None:
    """ArgumentTypeError for what cannot run on a keyed stream."""
    if isinstance(function, ProcessFunction):
        raise ArgumentTypeError(
            f"process of a keyed stream takes a KeyedProcessFunction, and "
            f"{type(function).__name__} is a ProcessFunction, which has no timers: derive it from "
            "KeyedProcessFunction"
        )
    methods = ("open", "process_element", "on_timer", "close")
    require_methods(function, methods, "process takes a KeyedProcessFunction")
