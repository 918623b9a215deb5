"""The vocabulary: what the rooms and their users speak in.

Owns: errors, durations, rows, types, stream elements, output tags, watermark strategies.
Uses: ``_core``, for rows.
Must not: read a clock, start a thread, or know Spark.
"""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
    from flinkish.common.completable_future import CompletableFuture
    from flinkish.common.config_options import ConfigOption, ConfigOptions
    from flinkish.common.configuration import Configuration
    from flinkish.common.durations import Duration, DurationLike, Instant, Time, to_millis
    from flinkish.common.elements import (
        CancelCheckpointMarker,
        CheckpointBarrier,
        LatencyMarker,
        StreamElement,
        StreamRecord,
        Watermark,
        WatermarkStatus,
    )
    from flinkish.common.execution_config import ExecutionConfig
    from flinkish.common.input_dependency_constraint import InputDependencyConstraint
    from flinkish.common.jobs import JobClient, JobExecutionResult, JobID, JobStatus
    from flinkish.common.output_tag import OutputTag
    from flinkish.common.restart_strategy import (
        RestartStrategies,
        RestartStrategyConfiguration,
    )
    from flinkish.common.row import Row, RowKind
    from flinkish.common.serialization import (
        ByteArraySchema,
        DeserializationSchema,
        Encoder,
        SerializationSchema,
        SimpleStringSchema,
    )
    from flinkish.common.serializer import TypeSerializer
    from flinkish.common.timestamps import MAX_TIMESTAMP, MIN_TIMESTAMP
    from flinkish.common.typeinfo import TypeInformation, Types
    from flinkish.common.watermark_strategy import (
        TimestampAssigner,
        WatermarkGenerator,
        WatermarkStrategy,
    )
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.common.completable_future": ("CompletableFuture",),
            "flinkish.common.config_options": ("ConfigOption", "ConfigOptions"),
            "flinkish.common.configuration": ("Configuration",),
            "flinkish.common.execution_config": ("ExecutionConfig",),
            "flinkish.common.input_dependency_constraint": ("InputDependencyConstraint",),
            "flinkish.common.jobs": (
                "JobClient",
                "JobExecutionResult",
                "JobID",
                "JobStatus",
            ),
            "flinkish.common.durations": (
                "Duration",
                "DurationLike",
                "Instant",
                "Time",
                "to_millis",
            ),
            "flinkish.common.elements": (
                "CancelCheckpointMarker",
                "CheckpointBarrier",
                "LatencyMarker",
                "StreamElement",
                "StreamRecord",
                "Watermark",
                "WatermarkStatus",
            ),
            "flinkish.common.output_tag": ("OutputTag",),
            "flinkish.common.restart_strategy": (
                "RestartStrategies",
                "RestartStrategyConfiguration",
            ),
            "flinkish.common.serializer": ("TypeSerializer",),
            "flinkish.common.row": ("Row", "RowKind"),
            "flinkish.common.serialization": (
                "ByteArraySchema",
                "DeserializationSchema",
                "Encoder",
                "SerializationSchema",
                "SimpleStringSchema",
            ),
            "flinkish.common.timestamps": ("MAX_TIMESTAMP", "MIN_TIMESTAMP"),
            "flinkish.common.typeinfo": ("TypeInformation", "Types"),
            "flinkish.common.watermark_strategy": (
                "TimestampAssigner",
                "WatermarkGenerator",
                "WatermarkStrategy",
            ),
        },
    )

__all__ = [
    "MAX_TIMESTAMP",
    "MIN_TIMESTAMP",
    "ByteArraySchema",
    "CancelCheckpointMarker",
    "CheckpointBarrier",
    "CompletableFuture",
    "ConfigOption",
    "ConfigOptions",
    "Configuration",
    "DeserializationSchema",
    "Duration",
    "DurationLike",
    "Encoder",
    "ExecutionConfig",
    "InputDependencyConstraint",
    "Instant",
    "JobClient",
    "JobExecutionResult",
    "JobID",
    "JobStatus",
    "LatencyMarker",
    "OutputTag",
    "RestartStrategies",
    "RestartStrategyConfiguration",
    "Row",
    "RowKind",
    "SerializationSchema",
    "SimpleStringSchema",
    "StreamElement",
    "StreamRecord",
    "Time",
    "TimestampAssigner",
    "TypeInformation",
    "TypeSerializer",
    "Types",
    "Watermark",
    "WatermarkGenerator",
    "WatermarkStatus",
    "WatermarkStrategy",
    "to_millis",
]
