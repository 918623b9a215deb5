"""What users subclass.

Owns: functions, the contexts they are called with, the runtime context they are opened with.
Uses: ``common``, ``metrics``, ``time``, ``state``.
Must not: run anything; operators do.
"""

from flinkish.functions.async_function import (
    AsyncBatchFunction,
    AsyncCallbackFunction,
    AsyncFunction,
    ResultFuture,
)
from flinkish.functions.async_retry import AsyncRetryPredicate, AsyncRetryStrategy
from flinkish.functions.base import (
    AggregateFunction,
    FilterFunction,
    FlatMapFunction,
    Function,
    KeySelector,
    MapFunction,
    ReduceFunction,
)
from flinkish.functions.process import (
    CoProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
)
from flinkish.functions.runtime_context import KeyedStateStore, RuntimeContext
from flinkish.functions.source import CheckpointedFunction, CheckpointListener, SourceFunction
from flinkish.functions.window import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)

__all__ = [
    "AggregateFunction",
    "AllWindowFunction",
    "AsyncBatchFunction",
    "AsyncCallbackFunction",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
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
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "ResultFuture",
    "RuntimeContext",
    "SourceFunction",
    "WindowFunction",
]
