"""PyFlink's module of functions."""

from flinkish.functions import (
    AggregateFunction,
    CheckpointedFunction,
    CheckpointListener,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeyedStateStore,
    KeySelector,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
    RuntimeContext,
    SourceFunction,
)
from flinkish.time.timer_service import TimerService

__all__ = [
    "AggregateFunction",
    "CheckpointListener",
    "CheckpointedFunction",
    "CoProcessFunction",
    "FilterFunction",
    "FlatMapFunction",
    "Function",
    "KeySelector",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "MapFunction",
    "ProcessFunction",
    "ReduceFunction",
    "RuntimeContext",
    "SourceFunction",
    "TimerService",
]
