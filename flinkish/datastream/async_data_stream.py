"""PyFlink's module of the class `AsyncDataStream`."""

from flinkish.environment.async_data_stream import AsyncDataStream

__all__ = ["AsyncDataStream"]
