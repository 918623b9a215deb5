"""Flink's operators on Spark's DataFrames.

Owns: streams over DataFrames, what travels through Spark's shuffle, state in Spark's state store
and its cache on the workers' disks, source functions as Spark's sources, tasks and asynchronous
calls inside of workers.
Uses: every room above it; the only one that imports pyspark.
Must not: keep anything alive across a fork, or count as committed what Spark has not committed.
"""

from typing import TYPE_CHECKING

from flinkish.common.errors import MissingDependencyError
from flinkish.common.lazy import lazy_names

try:
    import pyspark  # noqa: F401
except ImportError as error:
    raise MissingDependencyError.of("pyspark", feature="flinkish.spark", extra="spark") from error

if TYPE_CHECKING:
    from flinkish.spark.calls.async_map import async_map
    from flinkish.spark.calls.context import idempotency_key
    from flinkish.spark.calls.progress import CallProgress
    from flinkish.spark.control_plane import ControlPlane
    from flinkish.spark.explained import explain_error
    from flinkish.spark.keyed.observed import statistics
    from flinkish.spark.keyed.plan import StateSettings
    from flinkish.spark.limits import Adaptive, Concurrency, Rate
    from flinkish.spark.moves.move import move_state
    from flinkish.spark.real_time_settings import REAL_TIME_AT_START, REAL_TIME_SETTINGS
    from flinkish.spark.session import SETTINGS, configure
    from flinkish.spark.sources.source import register_source
    from flinkish.spark.streams.asynchronous import AsyncDataStream
    from flinkish.spark.streams.broadcast import BroadcastConnectedStream, BroadcastStream
    from flinkish.spark.streams.connected import (
        ConnectedStreams,
        IntervalJoin,
        IntervalJoined,
        KeyedConnectedStreams,
    )
    from flinkish.spark.streams.data_stream import DataStream, KeyedStream, ProcessedStream
    from flinkish.spark.streams.windowed import WindowedStream
    from flinkish.spark.tasks.run_task import TaskResults, run_task
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.spark.calls.context": ("idempotency_key",),
            "flinkish.spark.streams.asynchronous": ("AsyncDataStream",),
            "flinkish.spark.calls.async_map": ("async_map",),
            "flinkish.spark.calls.progress": ("CallProgress",),
            "flinkish.spark.streams.broadcast": ("BroadcastConnectedStream", "BroadcastStream"),
            "flinkish.spark.streams.connected": (
                "ConnectedStreams",
                "IntervalJoin",
                "IntervalJoined",
                "KeyedConnectedStreams",
            ),
            "flinkish.spark.control_plane": ("ControlPlane",),
            "flinkish.spark.streams.data_stream": ("DataStream", "KeyedStream", "ProcessedStream"),
            "flinkish.spark.explained": ("explain_error",),
            "flinkish.spark.limits": ("Adaptive", "Concurrency", "Rate"),
            "flinkish.spark.moves.move": ("move_state",),
            "flinkish.spark.keyed.observed": ("statistics",),
            "flinkish.spark.keyed.plan": ("StateSettings",),
            "flinkish.spark.real_time_settings": ("REAL_TIME_AT_START", "REAL_TIME_SETTINGS"),
            "flinkish.spark.session": ("SETTINGS", "configure"),
            "flinkish.spark.sources.source": ("register_source",),
            "flinkish.spark.tasks.run_task": ("TaskResults", "run_task"),
            "flinkish.spark.streams.windowed": ("WindowedStream",),
        },
    )

__all__ = [
    "REAL_TIME_AT_START",
    "REAL_TIME_SETTINGS",
    "SETTINGS",
    "Adaptive",
    "AsyncDataStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CallProgress",
    "Concurrency",
    "ConnectedStreams",
    "ControlPlane",
    "DataStream",
    "IntervalJoin",
    "IntervalJoined",
    "KeyedConnectedStreams",
    "KeyedStream",
    "ProcessedStream",
    "Rate",
    "StateSettings",
    "TaskResults",
    "WindowedStream",
    "async_map",
    "configure",
    "explain_error",
    "idempotency_key",
    "move_state",
    "register_source",
    "run_task",
    "statistics",
]
