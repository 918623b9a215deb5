"""Functions of tables on workers: opened before their first rows, called row by row."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from flinkish.common.row import Row
from flinkish.metrics import MetricGroup
from flinkish.table.function_classes import (
    AggregateFunction,
    AsyncScalarFunction,
    FunctionContext,
    UserDefinedFunctionClass,
)

__all__ = [
    "GroupCalls",
    "ListCalls",
    "NoArgumentCalls",
    "RowCalls",
    "SeriesCalls",
    "SeriesListCalls",
]


class _Life:
    """Opens a function before its first rows in a worker, and closes it with the worker's copy.

    ``width`` is the number of columns of the rows that it returns; None if it returns values.
    """

    def __init__(
        self, function: Any, title: str, parameters: Mapping[str, str], width: int | None = None
    ) -> None:
        self.function = function
        self.title = title
        self.parameters = parameters
        self.width = width

    @cached_property
    def opened(self) -> Any:
        """The function, open."""
        function = self.function
        if isinstance(function, UserDefinedFunctionClass):
            from flinkish.spark.jobs.functions import current_task

            context = (MetricGroup(), self.parameters, self.title, current_task())
            function.open(FunctionContext(*context))
            weakref.finalize(self, function.close)
        return function

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "opened"}


class RowCalls(_Life):
    """The value of each row of a batch; with ``width`` its rows, as tuples."""

    def __call__(self, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """The results for the arguments of rows."""
        function = self.opened
        if isinstance(function, AsyncScalarFunction):
            return asyncio.run(_gathered(function, rows))
        each = getattr(function, "eval", function)
        if self.width is None:
            return [each(*row) for row in rows]
        return [list(_tuples(each(*row), self.width)) for row in rows]


class GroupCalls(_Life):
    """The value of a group of rows; with ``width`` its rows, as tuples."""

    def __call__(self, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """The one result for the arguments of the rows of a group."""
        function = self.opened
        accumulator = function.create_accumulator()
        for row in rows:
            function.accumulate(accumulator, *row)
        if self.width is None:
            return [function.get_value(accumulator)]
        return [list(_tuples(function.emit_value(accumulator), self.width))]


class ListCalls(GroupCalls):
    """The results of several groups, each of which is a list of rows."""

    def __call__(self, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """The result for each list, which is the one argument of a row."""
        return [result for (group,) in rows for result in super(ListCalls, self).__call__(group)]


class NoArgumentCalls(RowCalls):
    """The values of a function without arguments, one for each row of a dummy column."""

    def __call__(self, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """As many values as there are rows."""
        return super().__call__([()] * len(rows))


class SeriesCalls(_Life):
    """A function of pandas Series, which gets whole columns."""

    def __call__(self, *series: Any) -> Any:
        """The Series that the function returns for Series; for a group, its value."""
        function = self.opened
        if isinstance(function, AggregateFunction):
            accumulator = function.create_accumulator()
            function.accumulate(accumulator, *series)
            return function.get_value(accumulator)
        return getattr(function, "eval", function)(*series)


class SeriesListCalls(SeriesCalls):
    """The values of several groups by a function of Series; each group is a list of rows."""

    def __call__(self, *rows: Any) -> list[Any]:
        """The value for each list, which is the one argument of a row."""
        from pandas import Series  # type: ignore[import-untyped]

        (lists,) = rows
        values = []
        for (group,) in lists:
            columns = zip(*group, strict=True) if group else ()
            value = super().__call__(*(Series(list(column)) for column in columns))
            values.append(value.item() if hasattr(value, "item") else value)
        return values


async def _gathered(function: AsyncScalarFunction, rows: Sequence[Sequence[Any]]) -> list[Any]:
    return list(await asyncio.gather(*(function.eval(*row) for row in rows)))


def _tuples(results: Any, width: int) -> Iterator[tuple[Any, ...]]:
    """Results of a table function as tuples: a plain value is the value of the only column."""
    if results is None:
        return
    if isinstance(results, (str, bytes, tuple, Row)) or not isinstance(results, Iterable):
        results = (results,)  # one row that was returned instead of yielded
    for result in results:
        if isinstance(result, (tuple, list, Row)):
            yield tuple(result)
        else:
            yield (result,)
