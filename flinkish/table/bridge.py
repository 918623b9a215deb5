"""Streams as tables, and tables as streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flinkish.common.ddl import in_sql
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.names import in_backticks
from flinkish.common.typeinfo import (
    PickledBytesTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from flinkish.environment.streams import DataStream
from flinkish.table.assigned import check_same_types
from flinkish.table.expression import Expression
from flinkish.table.planner import Planner
from flinkish.table.schema import Schema
from flinkish.table.table import Table
from flinkish.table.table_schema import TableSchema

__all__ = ["stream_of", "table_of_stream"]


def table_of_stream(planner: Planner, stream: DataStream, fields: Sequence[Any]) -> Table:
    """The elements of a stream as rows, of the columns that a schema or expressions say.

    The fields of Rows keep their names; those of tuples are f0, f1 and so on, and a single value
    is f0, as in Flink.  Event time is left behind.

    Raises:
        ArgumentTypeError: no stream of this environment, or neither expressions nor a schema.
        IllegalArgumentError: the elements have no declared type, or one without columns.
    """
    if not isinstance(stream, DataStream):
        raise ArgumentTypeError(f"a table is made of a DataStream, not {stream!r}")
    if stream.get_execution_environment() is not planner.environment:
        raise ArgumentTypeError(
            "the stream is of another StreamExecutionEnvironment than the table"
        )
    names, kinds = _columns(stream._node.kind)
    row = RowTypeInfo(kinds, names)
    TableSchema.of(row)  # each has a column
    table = planner.table(_retyped(planner, stream._node, names, row))
    if len(fields) == 1 and isinstance(fields[0], Schema):
        return _by_schema(planner, table, fields[0])
    if not all(isinstance(one, Expression) for one in fields):
        raise ArgumentTypeError(
            "columns are said by a Schema, or by expressions such as col('id'), not "
            f"{', '.join(repr(one) for one in fields)}"
        )
    return _by_expressions(table, fields) if fields else table


def stream_of(planner: Planner, table: Table, kind: TypeInformation | None = None) -> DataStream:
    """The rows of a table as elements: Rows with names, or of a type with these fields."""
    if kind is None:
        return DataStream(planner.environment, table._node)
    names, kinds = _columns(kind, scalar="value")
    check_same_types(table._kind, kinds, "the stream")
    return DataStream(planner.environment, _retyped(planner, table._node, names, kind))


def _retyped(planner: Planner, node: Any, names: Sequence[str], kind: TypeInformation) -> Any:
    """A node of the same rows under other names of columns, and of another type of elements."""

    def build(this: Any, stream: Any) -> Any:
        from flinkish.spark.jobs.queries import table_of

        frame = this.columns_of(this.ran(stream)).toDF(*names)
        return table_of(frame, kind, [stream])

    graph = planner.environment._graph
    return graph.add("Table", "table", (node,), kind=kind, build=build)


def _columns(
    kind: TypeInformation | None, scalar: str = "f0"
) -> tuple[list[str], list[TypeInformation]]:
    """The names and types of the columns of elements."""
    if kind is None or isinstance(kind, PickledBytesTypeInfo):
        raise IllegalArgumentError(
            "no type was declared for the elements of this stream, so a table of them would have "
            "one column of pickles: declare it where they are made, as in "
            "output_type=Types.ROW_NAMED(['id'], [Types.LONG()])"
        )
    if isinstance(kind, RowTypeInfo):
        return list(kind.get_field_names()), [in_sql(one) for one in kind.field_types]
    if isinstance(kind, TupleTypeInfo):
        return [f"f{at}" for at in range(len(kind.field_types))], [
            in_sql(one) for one in kind.field_types
        ]
    return [scalar], [in_sql(kind)]


def _by_schema(planner: Planner, table: Table, schema: Schema) -> Table:
    """The declared columns by name, cast to their types; all of them if none is declared."""
    names = table._kind.get_field_names()
    missing = [name for name, _ in schema.columns if name not in names]
    if missing:
        raise IllegalArgumentError(
            f"the schema has columns that the elements have not: {', '.join(missing)}; these have "
            f"{', '.join(names)}, and alias(...) of a table names columns by place"
        )
    values = {
        name: f"CAST({in_backticks(name)} AS {one.kind.to_ddl()})" for name, one in schema.columns
    }
    values.update(schema.computed)
    columns = [] if schema.columns else ["*"]
    columns += [f"{values[name]} AS {in_backticks(name)}" for name in schema.order]
    text = f"SELECT {', '.join(columns)} FROM flinkish_rows"
    made = planner.query(text, {"flinkish_rows": table})
    there = made._kind.get_field_names()
    for name, _ in schema.times:
        if name not in there:
            raise IllegalArgumentError(
                f"the watermark is on {name!r}, which is not a column: there are {', '.join(there)}"
            )
    return made.with_times(dict(schema.times))


def _by_expressions(table: Table, fields: Sequence[Expression[Any]]) -> Table:
    """Columns by name, or all by place if none of the expressions names one that there is."""
    names = table._kind.get_field_names()
    by_place = [one for one in fields if one.column is not None and one.column not in names]
    if len(by_place) < len(fields):
        return table.select(*fields)
    rename: Callable[..., Table] = table.alias
    made = rename(*(one.name or one.column for one in fields))
    return made.select(*(_column(made, at) for at in range(len(fields))))


def _column(table: Table, at: int) -> Expression[Any]:
    return Expression(in_backticks(table._kind.get_field_names()[at]))
