"""PyFlink's module names: change ``pyflink.`` to ``flinkish.`` and imports go on working.

Owns: nothing; every name here lives in another room.
Uses: ``common``, ``functions``, ``state``, ``time``; ``spark`` when a stream is asked for.
Must not: define anything.
"""

from importlib import import_module
from typing import Any

from flinkish.common.output_tag import OutputTag
from flinkish.datastream.functions import (
    AggregateFunction,
    AsyncFunction,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
    RuntimeContext,
)
from flinkish.time.domain import TimeDomain
from flinkish.time.timer_service import TimerService

__all__ = [
    "AggregateFunction",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "CoProcessFunction",
    "FilterFunction",
    "FlatMapFunction",
    "KeySelector",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "MapFunction",
    "OutputTag",
    "ProcessFunction",
    "ReduceFunction",
    "RuntimeContext",
    "TimeDomain",
    "TimerService",
]

# Streams need pyspark; functions do not, and must be importable without it.
_STREAMS = ("DataStream", "KeyedStream")


def __getattr__(name: str) -> Any:
    if name in _STREAMS:
        return getattr(import_module("flinkish.spark"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted((*globals(), *_STREAMS))
