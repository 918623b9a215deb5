"""PyFlink's module names: change ``pyflink.`` to ``flinkish.`` and imports go on working.

Owns: nothing; every name here lives in another room.
Uses: ``common``, ``functions``, ``state``, ``time``, ``windowing``; ``spark`` when a stream is
asked for.
Must not: define anything.
"""

from importlib import import_module
from typing import Any

from flinkish.common.output_tag import OutputTag
from flinkish.datastream.functions import (
    AggregateFunction,
    AllWindowFunction,
    AsyncFunction,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
    BroadcastProcessFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    ReduceFunction,
    RuntimeContext,
    WindowFunction,
)
from flinkish.time.domain import TimeDomain
from flinkish.time.timer_service import TimerService

__all__ = [
    "AggregateFunction",
    "AllWindowFunction",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BroadcastProcessFunction",
    "CoProcessFunction",
    "FilterFunction",
    "FlatMapFunction",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "MapFunction",
    "OutputTag",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "RuntimeContext",
    "TimeDomain",
    "TimerService",
    "WindowFunction",
]

# Streams need pyspark; functions do not, and must be importable without it.
_STREAMS = (
    "AsyncDataStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "ConnectedStreams",
    "DataStream",
    "KeyedStream",
    "WindowedStream",
)


def __getattr__(name: str) -> Any:
    if name in _STREAMS:
        return getattr(import_module("flinkish.spark"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted((*globals(), *_STREAMS))
