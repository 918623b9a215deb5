"""PyFlink's module names: change ``pyflink.`` to ``flinkish.`` and imports go on working.

Owns: nothing; every name here lives in another room.
Uses: ``common``, ``functions``, ``state``, ``time``, ``windowing``; ``spark`` when a stream is
asked for.
Must not: define anything.
"""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
    from flinkish._core.windows.time_window import TimeWindow
    from flinkish.common.output_tag import OutputTag
    from flinkish.functions.async_function import AsyncFunction
    from flinkish.functions.async_retry import AsyncRetryPredicate, AsyncRetryStrategy
    from flinkish.functions.base import (
        AggregateFunction,
        CoFlatMapFunction,
        CoMapFunction,
        FilterFunction,
        FlatMapFunction,
        KeySelector,
        MapFunction,
        ReduceFunction,
    )
    from flinkish.functions.broadcast import BroadcastProcessFunction, KeyedBroadcastProcessFunction
    from flinkish.functions.join import ProcessJoinFunction
    from flinkish.functions.process import (
        CoProcessFunction,
        KeyedCoProcessFunction,
        KeyedProcessFunction,
        ProcessFunction,
    )
    from flinkish.functions.runtime_context import RuntimeContext
    from flinkish.functions.source import SourceFunction
    from flinkish.functions.window import (
        AllWindowFunction,
        ProcessAllWindowFunction,
        ProcessWindowFunction,
        WindowFunction,
    )
    from flinkish.spark.streams.asynchronous import AsyncDataStream as AsyncDataStream
    from flinkish.spark.streams.broadcast import (
        BroadcastConnectedStream as BroadcastConnectedStream,
    )
    from flinkish.spark.streams.broadcast import BroadcastStream as BroadcastStream
    from flinkish.spark.streams.connected import ConnectedStreams as ConnectedStreams
    from flinkish.spark.streams.data_stream import DataStream as DataStream
    from flinkish.spark.streams.data_stream import KeyedStream as KeyedStream
    from flinkish.spark.streams.windowed import WindowedStream as WindowedStream
    from flinkish.time.domain import TimeDomain
    from flinkish.time.timer_service import TimerService
    from flinkish.windowing.assigner import MergingWindowAssigner, WindowAssigner
    from flinkish.windowing.trigger import Trigger, TriggerResult
    from flinkish.windowing.windows import CountWindow, GlobalWindow, Window
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.common.output_tag": ("OutputTag",),
            "flinkish.functions.async_function": ("AsyncFunction",),
            "flinkish.functions.async_retry": ("AsyncRetryPredicate", "AsyncRetryStrategy"),
            "flinkish.functions.base": (
                "AggregateFunction",
                "CoFlatMapFunction",
                "CoMapFunction",
                "FilterFunction",
                "FlatMapFunction",
                "KeySelector",
                "MapFunction",
                "ReduceFunction",
            ),
            "flinkish.functions.broadcast": (
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
            "flinkish.functions.runtime_context": ("RuntimeContext",),
            "flinkish.functions.window": (
                "AllWindowFunction",
                "ProcessAllWindowFunction",
                "ProcessWindowFunction",
                "WindowFunction",
            ),
            "flinkish._core.windows.time_window": ("TimeWindow",),
            "flinkish.functions.source": ("SourceFunction",),
            "flinkish.windowing.assigner": ("MergingWindowAssigner", "WindowAssigner"),
            "flinkish.windowing.trigger": ("Trigger", "TriggerResult"),
            "flinkish.windowing.windows": ("CountWindow", "GlobalWindow", "Window"),
            "flinkish.time.domain": ("TimeDomain",),
            "flinkish.time.timer_service": ("TimerService",),
            # Streams need pyspark; functions do not, so `__all__` has no streams.
            "flinkish.spark.streams.asynchronous": ("AsyncDataStream",),
            "flinkish.spark.streams.broadcast": ("BroadcastConnectedStream", "BroadcastStream"),
            "flinkish.spark.streams.connected": ("ConnectedStreams",),
            "flinkish.spark.streams.data_stream": ("DataStream", "KeyedStream"),
            "flinkish.spark.streams.windowed": ("WindowedStream",),
        },
    )

__all__ = [
    "AggregateFunction",
    "AllWindowFunction",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BroadcastProcessFunction",
    "CoFlatMapFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "CountWindow",
    "FilterFunction",
    "FlatMapFunction",
    "GlobalWindow",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "MapFunction",
    "MergingWindowAssigner",
    "OutputTag",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "RuntimeContext",
    "SourceFunction",
    "TimeDomain",
    "TimeWindow",
    "TimerService",
    "Trigger",
    "TriggerResult",
    "Window",
    "WindowAssigner",
    "WindowFunction",
]
