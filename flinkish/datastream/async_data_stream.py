"""PyFlink's module of the class `AsyncDataStream`."""

from typing import TYPE_CHECKING

from flinkish.common.pyflink_names import pyflink_names
from flinkish.environment.async_data_stream import AsyncDataStream

if not TYPE_CHECKING:
    __getattr__ = pyflink_names(__name__)

__all__ = ["AsyncDataStream"]
