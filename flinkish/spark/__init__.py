"""Flink's operators on Spark's DataFrames.

Owns: streams over DataFrames, what travels through Spark's shuffle, state in Spark's state store
and its cache on the workers' disks, source functions as Spark's sources, tasks and asynchronous
calls inside of workers.
Uses: every room above it; the only one that imports pyspark.
Must not: keep anything alive across a fork, or count as committed what Spark has not committed.
"""

from flinkish.common.errors import MissingDependencyError

try:
    import pyspark  # noqa: F401
except ImportError as error:
    raise MissingDependencyError.of("pyspark", feature="flinkish.spark", extra="spark") from error

from flinkish.spark.async_context import idempotency_key
from flinkish.spark.async_data_stream import AsyncDataStream
from flinkish.spark.async_map import async_map
from flinkish.spark.broadcast_streams import BroadcastConnectedStream, BroadcastStream
from flinkish.spark.connected_streams import ConnectedStreams, IntervalJoin, IntervalJoined
from flinkish.spark.control_plane import ControlPlane
from flinkish.spark.data_stream import DataStream, KeyedStream, ProcessedStream
from flinkish.spark.limits import Adaptive, Concurrency, Rate
from flinkish.spark.plan import StateSettings
from flinkish.spark.session import SETTINGS, configure
from flinkish.spark.source import register_source
from flinkish.spark.tasks import TaskResults, run_task
from flinkish.spark.windowed_stream import WindowedStream

__all__ = [
    "SETTINGS",
    "Adaptive",
    "AsyncDataStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "Concurrency",
    "ConnectedStreams",
    "ControlPlane",
    "DataStream",
    "IntervalJoin",
    "IntervalJoined",
    "KeyedStream",
    "ProcessedStream",
    "Rate",
    "StateSettings",
    "TaskResults",
    "WindowedStream",
    "async_map",
    "configure",
    "idempotency_key",
    "register_source",
    "run_task",
]
