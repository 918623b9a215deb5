"""PyFlink's module of functions."""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
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
    from flinkish.time.timer_service import TimerService
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.functions.sink": ("SinkFunction",),
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
                "CheckpointListener",
                "CheckpointedFunction",
                "SourceFunction",
            ),
            "flinkish.functions.window": (
                "AllWindowFunction",
                "ProcessAllWindowFunction",
                "ProcessWindowFunction",
                "WindowFunction",
            ),
            "flinkish.time.timer_service": ("TimerService",),
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
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "CheckpointListener",
    "CheckpointedFunction",
    "CoFlatMapFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "FilterFunction",
    "FlatMapFunction",
    "Function",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "MapFunction",
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
    "TimerService",
    "WindowFunction",
]
