"""PyFlink's module of asynchronous calls; it loads pyspark when the name is asked for."""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
    from flinkish.spark.streams.asynchronous import AsyncDataStream
else:
    __getattr__, __dir__ = lazy_names(
        __name__, {"flinkish.spark.streams.asynchronous": ("AsyncDataStream",)}
    )

__all__ = ["AsyncDataStream"]
