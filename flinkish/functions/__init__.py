"""The classes that users subclass.

Owns: functions, the contexts they are called with, the runtime context they are opened with.
Uses: ``common``, ``metrics``, ``time``, ``state``.
Must not: run anything; operators do.
"""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
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
        CoFlatMapFunction,
        CoMapFunction,
        FilterFunction,
        FlatMapFunction,
        Function,
        KeySelector,
        MapFunction,
        Partitioner,
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
    from flinkish.functions.sink import SinkFunction
    from flinkish.functions.source import CheckpointedFunction, CheckpointListener, SourceFunction
    from flinkish.functions.window import (
        AllWindowFunction,
        ProcessAllWindowFunction,
        ProcessWindowFunction,
        WindowFunction,
    )
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.functions.sink": ("SinkFunction",),
            "flinkish.functions.aggregates": (
                "Avg",
                "BuiltInAggregate",
                "BuiltInAggregates",
                "Count",
                "DistinctCount",
                "First",
                "Last",
                "Max",
                "Min",
                "Sum",
            ),
            "flinkish.functions.async_function": (
                "AsyncBatchFunction",
                "AsyncCallbackFunction",
                "AsyncFunction",
                "ResultFuture",
            ),
            "flinkish.functions.async_retry": ("AsyncRetryPredicate", "AsyncRetryStrategy"),
            "flinkish.functions.base": (
                "AggregateFunction",
                "CoFlatMapFunction",
                "CoMapFunction",
                "FilterFunction",
                "FlatMapFunction",
                "Function",
                "KeySelector",
                "MapFunction",
                "Partitioner",
                "ReduceFunction",
            ),
            "flinkish.functions.broadcast": (
                "BaseBroadcastProcessFunction",
                "BroadcastProcessFunction",
                "KeyedBroadcastProcessFunction",
            ),
            "flinkish.functions.join": ("ProcessJoinFunction",),
            "flinkish.functions.process": (
                "CoProcessFunction",
                "KeyedCoProcessFunction",
                "KeyedProcessFunction",
                "ProcessFunction",
            ),
            "flinkish.functions.runtime_context": ("KeyedStateStore", "RuntimeContext"),
            "flinkish.functions.source": (
                "CheckpointedFunction",
                "CheckpointListener",
                "SourceFunction",
            ),
            "flinkish.functions.window": (
                "AllWindowFunction",
                "ProcessAllWindowFunction",
                "ProcessWindowFunction",
                "WindowFunction",
            ),
        },
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
    "CoFlatMapFunction",
    "CoMapFunction",
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
    "Partitioner",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "ResultFuture",
    "RuntimeContext",
    "SinkFunction",
    "SourceFunction",
    "Sum",
    "WindowFunction",
]
