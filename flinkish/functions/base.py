"""Functions without a context: of one value, of two, of many."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from flinkish.functions.runtime_context import RuntimeContext
from flinkish.state.descriptors import CallableReduce

__all__ = [
    "AggregateFunction",
    "CoFlatMapFunction",
    "CoMapFunction",
    "FilterFunction",
    "FlatMapFunction",
    "Function",
    "KeySelector",
    "MapFunction",
    "Partitioner",
    "ReduceFunction",
]


class Function(ABC):  # noqa: B024 - nothing is required of all functions
    """The root of all user functions.

    Life cycle: made where the job is defined, pickled, and in each task that runs it opened,
    called, closed.  Connections and the like belong in ``open``, not in ``__init__``.
    """

    def open(self, runtime_context: RuntimeContext) -> None:  # noqa: B027 - need not be there
        """Called once before the first value."""

    def close(self) -> None:  # noqa: B027
        """Called once after the last value, and after a failure."""


class MapFunction(Function):
    """Makes one value of each."""

    @abstractmethod
    def map(self, value: Any) -> Any:
        """The result for ``value``."""


class FlatMapFunction(Function):
    """Makes any number of values of each."""

    @abstractmethod
    def flat_map(self, value: Any) -> Any:
        """Yields what ``value`` becomes."""


class CoMapFunction(Function):
    """Makes one value of each of two streams."""

    @abstractmethod
    def map1(self, value: Any) -> Any:
        """The result for a value of the first stream."""

    @abstractmethod
    def map2(self, value: Any) -> Any:
        """The result for a value of the second stream."""


class CoFlatMapFunction(Function):
    """Makes any number of values of each of two streams."""

    @abstractmethod
    def flat_map1(self, value: Any) -> Any:
        """Yields what a value of the first stream becomes."""

    @abstractmethod
    def flat_map2(self, value: Any) -> Any:
        """Yields what a value of the second stream becomes."""


class FilterFunction(Function):
    """Keeps the elements of a stream for which ``filter`` returns True, and drops the others."""

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """Whether to keep ``value``, which it must not change."""


class ReduceFunction(Function):
    """Makes one value of two, and so of any number."""

    @abstractmethod
    def reduce(self, value1: Any, value2: Any) -> Any:
        """The one value; ``value1`` is what there was, ``value2`` what is new."""


ReduceFunction.register(CallableReduce)


class AggregateFunction(Function):
    """Takes values into an accumulator, and a result out of it."""

    @abstractmethod
    def create_accumulator(self) -> Any:
        """An accumulator that has taken nothing."""

    @abstractmethod
    def add(self, value: Any, accumulator: Any) -> Any:
        """The accumulator after it took ``value``; may be the same object, changed."""

    @abstractmethod
    def get_result(self, accumulator: Any) -> Any:
        """The result so far."""

    @abstractmethod
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """One accumulator that has taken what both took; may be either of them, changed."""


class KeySelector(Function):
    """Says which key a value belongs to."""

    @abstractmethod
    def get_key(self, value: Any) -> Any:
        """The key: never None, and always the same for the same value."""


class Partitioner(Function):
    """Says which of several partitions an element is for, by its key."""

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """The number of the partition, from 0 to ``num_partitions`` - 1."""
