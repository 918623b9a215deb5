"""PyFlink's module of asynchronous calls; it loads pyspark when the name is asked for."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flinkish.spark.async_data_stream import AsyncDataStream

__all__ = ["AsyncDataStream"]


def __getattr__(name: str) -> Any:
    if name == "AsyncDataStream":
        return getattr(import_module("flinkish.spark"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
