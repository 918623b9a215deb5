"""DataFrames with functions of record batches that one Python worker is to run in a row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from flinkish.spark.map_in_arrow import map_in_arrow
from flinkish.spark.worker_heap import Batches, MapBatches, settling

__all__ = ["Batches", "MapBatches", "MappedFrame", "run_to_end"]


@dataclass(frozen=True)
class MappedFrame:
    """The rows that ``function``, if there is one, makes of those of ``base``, in columns ``made``.

    Two calls of `mapInArrow` are two Python workers a task, and all rows go to the JVM and back
    between them.  Functions that follow each other here are one call, made when the rows are asked
    for as a DataFrame.
    """

    base: DataFrame
    function: MapBatches | None = None
    made: StructType | str | None = None

    @property
    def schema(self) -> StructType:
        """The columns of the rows."""
        return self.made if isinstance(self.made, StructType) else self.frame.schema

    @cached_property
    def frame(self) -> DataFrame:
        """The rows as a DataFrame."""
        if self.function is None:
            return self.base
        assert self.made is not None
        return map_in_arrow(self.base, settling(self.function), self.made)

    def map(self, function: MapBatches, made: StructType | str) -> MappedFrame:
        """The rows that a function makes of these."""
        if self.function is not None:
            function = _in_a_row(self.function, function)
        return replace(self, function=function, made=made)

    def drop(self, *names: str) -> MappedFrame:
        """The rows without some columns, if that keeps them from travelling."""
        return MappedFrame(self.base.drop(*names)) if self.function is None else self


def _in_a_row(first: MapBatches, then: MapBatches) -> MapBatches:
    def both(batches: Batches) -> Batches:
        return then(first(batches))

    both.__name__ = f"{first.__name__}, {then.__name__}"  # in Spark's plans
    return both


def run_to_end(frame: DataFrame) -> None:
    """Compute all partitions of a batch DataFrame, and keep none of the rows."""
    frame.write.format("noop").mode("append").save()
