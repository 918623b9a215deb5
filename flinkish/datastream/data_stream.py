"""PyFlink's module of streams."""

from typing import TYPE_CHECKING

from flinkish.common.pyflink_names import pyflink_names
from flinkish.environment.collected import CloseableIterator
from flinkish.environment.connected import (
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
)
from flinkish.environment.keyed import KeyedStream
from flinkish.environment.sinks import DataStreamSink
from flinkish.environment.streams import DataStream
from flinkish.environment.windowed import AllWindowedStream, WindowedStream

if not TYPE_CHECKING:
    __getattr__ = pyflink_names(__name__)

__all__ = [
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CloseableIterator",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "KeyedStream",
    "WindowedStream",
]
