"""What users subclass.

Owns: functions, the contexts they are called with, the runtime context they are opened with.
Uses: ``common``, ``metrics``, ``time``, ``state``.
Must not: run anything; operators do.
"""

from flinkish.functions.aggregates import (
    Avg,
    BuiltInAggregate,
    BuiltInAggregates,
    Count,
    DistinctCount,
    First,
    Last,
    Max,
    Min,
    Sum,
)
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
from flinkish.functions.broadcast import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from flinkish.functions.join import ProcessJoinFunction
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
    "Avg",
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "BuiltInAggregate",
    "BuiltInAggregates",
    "CheckpointListener",
    "CheckpointedFunction",
    "CoProcessFunction",
    "Count",
    "DistinctCount",
    "FilterFunction",
    "First",
    "FlatMapFunction",
    "Function",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "Last",
    "MapFunction",
    "Max",
    "Min",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "ResultFuture",
    "RuntimeContext",
    "SourceFunction",
    "Sum",
    "WindowFunction",
]
