"""PyFlink's module of asynchronous calls."""

from flinkish.spark.async_data_stream import AsyncDataStream

__all__ = ["AsyncDataStream"]
