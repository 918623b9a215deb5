"""Windows of built-in aggregates: by columns where that is possible, row by row where it is not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from flinkish.common.errors import IllegalArgumentError
from flinkish.functions.aggregates import BuiltInAggregate, BuiltInAggregates, DistinctCount
from flinkish.functions.window import ProcessWindowFunction
from flinkish.operators.vector_aggregates import result_type
from flinkish.operators.vector_window import VECTORISED, WindowSpec, choose_path
from flinkish.operators.window_definition import WindowDefinition
from flinkish.spark.keyed.columns.plan import WINDOW_END, WINDOW_START, VectorPlan
from flinkish.spark.schemas import column_name
from flinkish.windowing import TimeWindowSerializer

__all__ = ["WindowRows", "built_in_aggregates", "output_of", "resolved", "vector_plan"]

_INSTANT = pa.timestamp("us", "UTC")


def built_in_aggregates(function: Any) -> tuple[BuiltInAggregate, ...] | None:
    """The built-in aggregates that were given: one, several in a list or tuple; None for others."""
    if isinstance(function, BuiltInAggregate):
        return (function,)
    if isinstance(function, BuiltInAggregates):
        return function.aggregates
    if isinstance(function, (list, tuple)):
        return BuiltInAggregates(function).aggregates
    return None


def resolved(
    aggregates: Sequence[BuiltInAggregate], frame: DataFrame
) -> tuple[BuiltInAggregate, ...]:
    """The aggregates of the columns that their names mean to Spark; UnknownColumnError.

    Results keep the names that they have by what the user wrote, as in Spark.
    """
    return tuple(_resolved(one, frame) for one in aggregates)


def _resolved(aggregate: BuiltInAggregate, frame: DataFrame) -> BuiltInAggregate:
    if not isinstance(aggregate.column, str):
        return aggregate
    column = column_name(frame, aggregate.column, f"{aggregate!r} is of no column; there is no")
    if column == aggregate.column:
        return aggregate
    found = copy(aggregate).alias(aggregate.name)
    found.column = column
    return found


def vector_plan(
    definition: WindowDefinition,
    aggregates: Sequence[BuiltInAggregate],
    keys: Sequence[str],
    schema: pa.Schema,
) -> tuple[VectorPlan | None, str]:
    """How to run the aggregates by columns (None: not at all), and the reason for either."""
    path, reason = choose_path(
        definition.assigner, definition.trigger, definition.evictor, aggregates, schema
    )
    if path == VECTORISED and not keys:
        path, reason = "", "the key is no column"
    if path != VECTORISED:
        return None, reason
    spec = WindowSpec.of(definition.assigner, definition.lateness)
    return VectorPlan(spec, tuple(aggregates), definition.late_tag), reason


def output_of(
    definition: WindowDefinition,
    aggregates: Sequence[BuiltInAggregate],
    keys: Sequence[str],
    schema: pa.Schema,
) -> pa.Schema:
    """The columns of the output: the key's, the window, the results."""
    if type(definition.assigner.get_window_serializer()) is not TimeWindowSerializer:
        raise IllegalArgumentError(
            f"windows of {definition.assigner!r} have no begin and end to show beside the results: "
            "give a window function and a schema"
        )
    fields = [schema.field(name) for name in keys]
    fields += [pa.field(WINDOW_START, _INSTANT), pa.field(WINDOW_END, _INSTANT)]
    for aggregate in aggregates:
        if aggregate.column is not None and aggregate.column not in schema.names:
            raise IllegalArgumentError(
                f"{aggregate!r} is of no column; the columns are {', '.join(schema.names)}"
            )
        kind = None if aggregate.column is None else schema.field(str(aggregate.column)).type
        counts = isinstance(aggregate, DistinctCount)
        fields.append(
            pa.field(aggregate.name, pa.int64() if counts else result_type(aggregate, kind))
        )
    return pa.schema(fields)


class WindowRows(ProcessWindowFunction):
    """Puts key and window before the results, as the columns of the output have them."""

    def __init__(self, keys: int) -> None:
        self._keys = keys

    def process(
        self, key: Any, context: ProcessWindowFunction.Context, elements: Iterable[Any]
    ) -> Iterator[Any]:
        """One row."""
        window = context.window()
        parts = key if self._keys > 1 else (key,) if self._keys else ()
        for results in elements:
            yield (*parts, window.start, window.end, *results)
