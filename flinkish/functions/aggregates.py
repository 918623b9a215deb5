"""Built-in aggregates: what windows compute without a Python call a row.

They are AggregateFunctions, so that they run in every place that takes one: a state, a window with
a trigger of one's own.  Over event-time windows with the default trigger, and columns of a fixed
width, the vectorised operator computes the same results from whole columns.

Nulls are skipped, as in SQL: a sum, mean, least, greatest, first or last of nothing is null.
"""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.functions.base import AggregateFunction

__all__ = [
    "Avg",
    "BuiltInAggregate",
    "BuiltInAggregates",
    "Count",
    "DistinctCount",
    "First",
    "Last",
    "Max",
    "Min",
    "Sum",
    "described_aggregates",
]

B = TypeVar("B", bound="BuiltInAggregate")


class BuiltInAggregate(AggregateFunction):
    """One aggregate of one column.

    ``column`` is the name of the column (or the position, where elements are tuples); the result
    is called ``name``, which `alias` changes.
    """

    kind = ""

    def __init__(self, column: str | int) -> None:
        if not isinstance(column, (str, int)):
            raise ArgumentTypeError(
                f"{type(self).__name__} takes the name of a column, not {column!r} of type "
                f"{type(column).__name__}"
            )
        self.column: str | int | None = column
        self._alias: str | None = None

    def alias(self: B, name: str) -> B:
        """The same aggregate; its result has this name."""
        self._alias = name
        return self

    @property
    def name(self) -> str:
        """The name of the result."""
        return self._alias or (self.kind if self.column is None else f"{self.kind}_{self.column}")

    def add(self, value: Any, accumulator: Any) -> Any:
        """The accumulator after it took the column's value of the element ``value``."""
        found = value[self.column]
        return accumulator if found is None else self.add_value(found, accumulator)

    @abstractmethod
    def add_value(self, value: Any, accumulator: Any) -> Any:
        """The accumulator after it took a value that is not null."""

    def __repr__(self) -> str:
        column = "" if self.column is None else repr(self.column)
        return f"{type(self).__name__}({column})" + (
            f".alias({self._alias!r})" if self._alias else ""
        )


class Count(BuiltInAggregate):
    """How many elements there are; with a column, how many of its values are not null."""

    kind = "count"

    def __init__(self, column: str | int | None = None) -> None:
        super().__init__("" if column is None else column)
        self.column = column

    def create_accumulator(self) -> int:
        """The count of no values, which is zero."""
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        """One more, unless the column is null."""
        return accumulator + (self.column is None or value[self.column] is not None)

    def add_value(self, value: Any, accumulator: int) -> int:
        """The count with one value more."""
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        """The number of values that were added."""
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        """The sum of the counts of two parts."""
        return acc_a + acc_b


class _Total(BuiltInAggregate):
    """Accumulates (count, sum, error): ints exactly, floats as Neumaier does.

    So the sum of floats hardly ever depends on the order in which they came.
    """

    def create_accumulator(self) -> tuple[int, Any, float]:
        """The total of no values yet."""
        return (0, 0, 0.0)

    def add_value(self, value: Any, accumulator: tuple[int, Any, float]) -> tuple[int, Any, float]:
        """One more value."""
        return self.merge(accumulator, (1, value, 0.0))

    def merge(
        self, acc_a: tuple[int, Any, float], acc_b: tuple[int, Any, float]
    ) -> tuple[int, Any, float]:
        """Both together; the error of the sum is kept (Knuth's two-sum)."""
        count, high, error = acc_a
        other, value, more = acc_b
        total = high + value
        if not isinstance(total, float):
            return (count + other, total, 0.0)
        if not math.isfinite(total):
            return (count + other, total, 0.0)
        part = total - high
        error += more + ((high - (total - part)) + (value - part))
        return (count + other, total, error)


class Sum(_Total):
    """The sum of a column of numbers; of ints an int, which must fit 64 bits, else a float."""

    kind = "sum"

    def get_result(self, accumulator: tuple[int, Any, float]) -> Any:
        """The sum, or None of nothing."""
        count, total, error = accumulator
        if count == 0:
            return None
        return total + error if isinstance(total, float) else total


class Avg(_Total):
    """The mean of a column of numbers, as a float."""

    kind = "avg"

    def get_result(self, accumulator: tuple[int, Any, float]) -> Any:
        """The mean, or None of nothing."""
        count, total, error = accumulator
        if count == 0:
            return None
        if isinstance(total, (int, float)):
            return (float(total) + error) / count
        return total / count


class _Extreme(BuiltInAggregate):
    def create_accumulator(self) -> Any:
        """None: no value yet."""
        return None

    def get_result(self, accumulator: Any) -> Any:
        """The value, or None of nothing."""
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """The one of both."""
        return acc_a if acc_b is None else self.add_value(acc_b, acc_a)


class Min(_Extreme):
    """The least value of a column; nan is greater than every number, as in Spark."""

    kind = "min"

    def add_value(self, value: Any, accumulator: Any) -> Any:
        """The lesser one."""
        if accumulator is None or value < accumulator or accumulator != accumulator:
            return value
        return accumulator


class Max(_Extreme):
    """The greatest value of a column; nan is greater than every number, as in Spark."""

    kind = "max"

    def add_value(self, value: Any, accumulator: Any) -> Any:
        """The greater one."""
        if accumulator is None or value > accumulator or value != value:
            return value
        return accumulator


class _Pick(BuiltInAggregate):
    """Accumulates (number of the arrival, value).

    Numbers rise with every element that this object takes, and follow the system's clock, so that
    they rise over restarts, too (Flink's FIRST_VALUE orders by the clock as well).
    """

    def __init__(self, column: str | int) -> None:
        super().__init__(column)
        self._arrivals = 0

    def create_accumulator(self) -> Any:
        """None: no value yet."""
        return None

    def add_value(self, value: Any, accumulator: Any) -> Any:
        """The element's value, if it is the one."""
        self._arrivals = max(self._arrivals + 1, time.time_ns())
        return self.merge(accumulator, (self._arrivals, value))

    def get_result(self, accumulator: Any) -> Any:
        """The value, or None of nothing."""
        return None if accumulator is None else accumulator[1]


class First(_Pick):
    """The value of a column that came first, by arrival."""

    kind = "first"

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """The earlier one."""
        if acc_a is None or acc_b is None:
            return acc_b if acc_a is None else acc_a
        return min(acc_a, acc_b, key=_arrival)


class Last(_Pick):
    """The value of a column that came last, by arrival."""

    kind = "last"

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """The later one."""
        if acc_a is None or acc_b is None:
            return acc_b if acc_a is None else acc_a
        return max(acc_a, acc_b, key=_arrival)


def _arrival(accumulator: tuple[int, Any]) -> int:
    return accumulator[0]


class DistinctCount(BuiltInAggregate):
    """How many different values a column has, exactly: each window holds its values."""

    kind = "distinct_count"

    def create_accumulator(self) -> set[Any]:
        """No value yet."""
        return set()

    def add_value(self, value: Any, accumulator: set[Any]) -> set[Any]:
        """With this value."""
        accumulator.add(value)
        return accumulator

    def get_result(self, accumulator: set[Any]) -> int:
        """The number of different values that were added."""
        return len(accumulator)

    def merge(self, acc_a: set[Any], acc_b: set[Any]) -> set[Any]:
        """The values of both."""
        acc_a |= acc_b
        return acc_a


def described_aggregates(aggregates: Sequence[BuiltInAggregate]) -> list[str]:
    """Aggregates in words that checkpoints keep: without the names of results, which may change."""
    return [
        type(one).__name__ + ("()" if one.column is None else f"({one.column!r})")
        for one in aggregates
    ]


class BuiltInAggregates(AggregateFunction):
    """Several aggregates as one AggregateFunction, whose result is a tuple of theirs.

    IllegalArgumentError when there is none, or two results have the same name.
    """

    def __init__(self, aggregates: Sequence[BuiltInAggregate]) -> None:
        self.aggregates = tuple(aggregates)
        for aggregate in self.aggregates:
            if not isinstance(aggregate, BuiltInAggregate):
                raise ArgumentTypeError(
                    f"{aggregate!r} of type {type(aggregate).__name__} is no built-in aggregate, "
                    "such as Count() or Sum('amount'); give an AggregateFunction alone"
                )
        names = [aggregate.name for aggregate in self.aggregates]
        twice = [name for name in names if names.count(name) > 1]
        if twice or not names:
            raise IllegalArgumentError(
                f"two aggregates are called {twice[0]!r}: give one another name with alias(...)"
                if twice
                else "no aggregate was given; give at least one, such as Count()"
            )

    @property
    def names(self) -> list[str]:
        """The names of the results."""
        return [aggregate.name for aggregate in self.aggregates]

    def create_accumulator(self) -> list[Any]:
        """One of each."""
        return [aggregate.create_accumulator() for aggregate in self.aggregates]

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        """Each takes the element."""
        return [
            aggregate.add(value, held)
            for aggregate, held in zip(self.aggregates, accumulator, strict=True)
        ]

    def get_result(self, accumulator: list[Any]) -> tuple[Any, ...]:
        """The results, in the order of the aggregates."""
        return tuple(
            aggregate.get_result(held)
            for aggregate, held in zip(self.aggregates, accumulator, strict=True)
        )

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        """The accumulators of two parts, merged one aggregate after another."""
        return [
            aggregate.merge(a, b)
            for aggregate, a, b in zip(self.aggregates, acc_a, acc_b, strict=True)
        ]
