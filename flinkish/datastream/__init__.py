"""PyFlink's module names: change ``pyflink.`` to ``flinkish.`` and imports go on working.

Owns: nothing; every name here lives in another room.
Uses: ``common``, ``functions``, ``state``, ``time``, ``windowing``, ``environment``.
Must not: define anything.
"""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
    from flinkish._core.windows.time_window import TimeWindow
    from flinkish.common.output_tag import OutputTag
    from flinkish.environment.async_data_stream import AsyncDataStream
    from flinkish.environment.connected import (
        BroadcastConnectedStream,
        BroadcastStream,
        ConnectedStreams,
    )
    from flinkish.environment.environment import StreamExecutionEnvironment
    from flinkish.environment.keyed import KeyedStream
    from flinkish.environment.settings import (
        CheckpointConfig,
        CheckpointingMode,
        ExternalizedCheckpointRetention,
        RuntimeExecutionMode,
    )
    from flinkish.environment.sinks import DataStreamSink
    from flinkish.environment.slot_sharing_group import MemorySize, SlotSharingGroup
    from flinkish.environment.state_backends import (
        CheckpointStorage,
        CustomCheckpointStorage,
        CustomStateBackend,
        EmbeddedRocksDBStateBackend,
        FileSystemCheckpointStorage,
        HashMapStateBackend,
        JobManagerCheckpointStorage,
        PredefinedOptions,
        StateBackend,
    )
    from flinkish.environment.streams import DataStream
    from flinkish.environment.windowed import AllWindowedStream, WindowedStream
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
        Partitioner,
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
    from flinkish.functions.sink import SinkFunction
    from flinkish.functions.source import SourceFunction
    from flinkish.functions.window import (
        AllWindowFunction,
        ProcessAllWindowFunction,
        ProcessWindowFunction,
        WindowFunction,
    )
    from flinkish.time.domain import TimeDomain
    from flinkish.time.timer_service import TimerService
    from flinkish.windowing.assigner import MergingWindowAssigner, WindowAssigner
    from flinkish.windowing.trigger import Trigger, TriggerResult
    from flinkish.windowing.windows import CountWindow, GlobalWindow, Window
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.environment.async_data_stream": ("AsyncDataStream",),
            "flinkish.environment.connected": (
                "BroadcastConnectedStream",
                "BroadcastStream",
                "ConnectedStreams",
            ),
            "flinkish.environment.environment": ("StreamExecutionEnvironment",),
            "flinkish.environment.keyed": ("KeyedStream",),
            "flinkish.environment.settings": (
                "CheckpointConfig",
                "CheckpointingMode",
                "ExternalizedCheckpointRetention",
                "RuntimeExecutionMode",
            ),
            "flinkish.environment.sinks": ("DataStreamSink",),
            "flinkish.environment.slot_sharing_group": ("MemorySize", "SlotSharingGroup"),
            "flinkish.environment.state_backends": (
                "CheckpointStorage",
                "CustomCheckpointStorage",
                "CustomStateBackend",
                "EmbeddedRocksDBStateBackend",
                "FileSystemCheckpointStorage",
                "HashMapStateBackend",
                "JobManagerCheckpointStorage",
                "PredefinedOptions",
                "StateBackend",
            ),
            "flinkish.environment.streams": ("DataStream",),
            "flinkish.environment.windowed": (
                "AllWindowedStream",
                "WindowedStream",
            ),
            "flinkish.functions.sink": ("SinkFunction",),
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
                "Partitioner",
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
        },
    )

__all__ = [
    "AggregateFunction",
    "AllWindowFunction",
    "AllWindowedStream",
    "AsyncDataStream",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BroadcastConnectedStream",
    "BroadcastProcessFunction",
    "BroadcastStream",
    "CheckpointConfig",
    "CheckpointStorage",
    "CheckpointingMode",
    "CoFlatMapFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "ConnectedStreams",
    "CountWindow",
    "CustomCheckpointStorage",
    "CustomStateBackend",
    "DataStream",
    "DataStreamSink",
    "EmbeddedRocksDBStateBackend",
    "ExternalizedCheckpointRetention",
    "FileSystemCheckpointStorage",
    "FilterFunction",
    "FlatMapFunction",
    "GlobalWindow",
    "HashMapStateBackend",
    "JobManagerCheckpointStorage",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStream",
    "MapFunction",
    "MemorySize",
    "MergingWindowAssigner",
    "OutputTag",
    "Partitioner",
    "PredefinedOptions",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "RuntimeContext",
    "RuntimeExecutionMode",
    "SinkFunction",
    "SlotSharingGroup",
    "SourceFunction",
    "StateBackend",
    "StreamExecutionEnvironment",
    "TimeDomain",
    "TimeWindow",
    "TimerService",
    "Trigger",
    "TriggerResult",
    "Window",
    "WindowAssigner",
    "WindowFunction",
    "WindowedStream",
]
