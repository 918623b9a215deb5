"""PyFlink's Table: a query that waits to be run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    IllegalStateError,
)
from flinkish.common.names import did_you_mean, in_backticks
from flinkish.common.refusals import refuses
from flinkish.common.typeinfo import RowTypeInfo
from flinkish.environment.nodes import Node, with_ancestors
from flinkish.environment.settings import RuntimeExecutionMode
from flinkish.table.checked import checked
from flinkish.table.expression import Expression
from flinkish.table.expressions import col
from flinkish.table.grouped import (
    AggregatedTable,
    FlatAggregateTable,
    GroupedTable,
    GroupWindowedTable,
    OverWindowedTable,
    WindowGroupedTable,
)
from flinkish.table.table_descriptor import TableDescriptor
from flinkish.table.table_pipeline import TablePipeline
from flinkish.table.table_result import TableResult
from flinkish.table.table_schema import TableSchema
from flinkish.table.udf import UserDefinedFunction, call_of, columns_of_value, table_call
from flinkish.table.window import GroupWindow, OverWindow

if TYPE_CHECKING:
    from flinkish.table.planner import Planner

__all__ = [
    "GroupWindowedTable",
    "GroupedTable",
    "OverWindowedTable",
    "Table",
    "WindowGroupedTable",
]


@refuses(
    {
        "explain print_explain": "a query is planned when its job runs, and Spark's page of the "
        "job shows the plan",
        "to_changelog": "Spark's tables have no changes of rows: to_changelog_stream gives them",
        "from_changelog": "Spark's tables take no changes of rows: keep the last row of each key "
        "with streams, key_by(...).reduce(lambda before, last: last)",
    }
)
class Table:
    """The rows of a stream, of a connector, or of a query of Spark's SQL over others.

    It has the methods that are plain SQL of one table; all else is written with
    ``t_env.sql_query``, in which ``f"... FROM {table}"`` names a table.

    ``updates`` are the words of SQL that make its rows change while others come, in streaming mode;
    empty if none do.  ``times`` are the columns of event time, each with how far its watermark
    trails it (ms).
    """

    def __init__(
        self,
        planner: Planner,
        node: Node,
        updates: str = "",
        times: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self._planner = planner
        self._node = node
        self._updates = updates
        self._times = times

    @cached_property
    def _unbounded(self) -> bool:
        """Whether it has a source that does not end; the sources say it with Spark."""
        found = [one.source() for one in with_ancestors([self._node]) if one.source is not None]
        return not all(one.bounded for one in found)

    @property
    def _streams(self) -> bool:
        """Whether the table is in streaming mode, in which windows end one after another."""
        mode = self._planner.environment._mode
        if mode is RuntimeExecutionMode.AUTOMATIC:
            return self._unbounded
        return mode is RuntimeExecutionMode.STREAMING

    @property
    def _kind(self) -> RowTypeInfo:
        kind = self._node.kind
        assert isinstance(kind, RowTypeInfo)
        return kind

    def __str__(self) -> str:
        return self._planner.name_of(self)

    def __getattr__(self, name: str) -> Expression[Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        names = self._kind.get_field_names()
        if name in names:
            return col(name)
        raise AttributeError(
            f"this table has no column {name!r}{did_you_mean(name, names)}; it has "
            f"{', '.join(names)}. If it is a method of PyFlink's Table: there are those that are "
            "plain SQL of one table, write others as t_env.sql_query(f'SELECT ... FROM {table}')",
            name=name,
            obj=self,
        )

    def select(self, *fields: Expression[Any]) -> Table:
        """Values of each row."""
        return self._of(", ".join(one.selected for one in checked(fields, "select")))

    def where(self, predicate: Expression[bool]) -> Table:
        """The rows for which an expression is true."""
        (one,) = checked((predicate,), "where")
        return self._of("*", f" WHERE {one.sql}").with_times(self._times)

    def filter(self, predicate: Expression[bool]) -> Table:
        """The rows for which an expression is true."""
        return self.where(predicate)

    def alias(self, field: str, *fields: str) -> Table:
        """The same columns under other names, by place; those that are not named keep theirs."""
        given, names = (field, *fields), self._kind.get_field_names()
        if len(given) > len(names):
            raise IllegalArgumentError(
                f"alias was given {len(given)} names, and there are {len(names)} columns: "
                f"{', '.join(names)}"
            )
        new = (*given, *names[len(given) :])
        named = dict(zip(names, new, strict=True))
        columns = [f"{in_backticks(old)} AS {in_backticks(name)}" for old, name in named.items()]
        return self._of(", ".join(columns)).with_times(
            {named[name]: bound for name, bound in self._times.items()}
        )

    def add_columns(self, *fields: Expression[Any]) -> Table:
        """All columns, and values of each row after them."""
        columns = [one.selected for one in checked(fields, "add_columns")]
        return self._of(", ".join(["*", *columns]))

    def drop_columns(self, *fields: Expression[Any]) -> Table:
        """All columns but these; IllegalArgumentError for one that there is not, or for all."""
        dropped = [one.column for one in checked(fields, "drop_columns")]
        names = self._kind.get_field_names()
        kept = [in_backticks(name) for name in names if name not in dropped]
        if not kept or len(kept) + len(set(dropped)) != len(names):
            raise IllegalArgumentError(
                f"drop_columns takes some of {', '.join(names)}, not "
                f"{', '.join(one.sql for one in fields)}"
            )
        return self._of(", ".join(kept))

    def add_or_replace_columns(self, *fields: Expression[Any]) -> Table:
        """All columns; a field replaces the column that has its name."""
        fields = checked(fields, "add_or_replace_columns")
        new = {one.name or one.column: one for one in fields}
        names = self._kind.get_field_names()
        columns = [new.pop(name).selected if name in new else in_backticks(name) for name in names]
        return self._of(", ".join([*columns, *(one.selected for one in new.values())]))

    def rename_columns(self, *fields: Expression[Any]) -> Table:
        """The columns, some of them renamed: ``rename_columns(col('a').alias('b'))``."""
        names = {one.column: one for one in checked(fields, "rename_columns")}
        there = self._kind.get_field_names()
        missing = [str(name) for name in names if name not in there]
        if missing:
            raise IllegalArgumentError(
                f"there is no column {', '.join(missing)} to rename; there are {', '.join(there)}"
            )
        columns = [names[one].selected if one in names else in_backticks(one) for one in there]
        return self._of(", ".join(columns))

    def group_by(self, *fields: Expression[Any]) -> GroupedTable[Table]:
        """Groups of equal values; `GroupedTable.select` turns each into a row."""
        return GroupedTable(self, checked(fields, "group_by"))

    def window(self, window: GroupWindow) -> GroupWindowedTable[Table]:
        """Windows of event time: ``Tumble``, ``Slide`` or ``Session`` with ``on`` and ``alias``."""
        if not isinstance(window, GroupWindow) or not window.name:
            raise ArgumentTypeError(
                "window takes one such as Tumble.over(lit(10).minutes).on(col('ts')).alias('w'), "
                f"not {window!r}"
            )
        return GroupWindowedTable(self, window)

    def over_window(self, *over_windows: OverWindow) -> OverWindowedTable[Table]:
        """Frames around each row, for aggregates with ``over``."""
        if not all(isinstance(one, OverWindow) and one.name for one in over_windows):
            raise ArgumentTypeError(
                "over_window takes Over.partition_by(...).order_by(...).alias('w'), not "
                f"{over_windows!r}"
            )
        return OverWindowedTable(self, over_windows)

    def distinct(self) -> Table:
        """Each row once."""
        return self._of("DISTINCT *")

    def order_by(self, *fields: Expression[Any]) -> Table:
        """The rows in an order: by expressions, or by their ``asc`` or ``desc``."""
        by = ", ".join(one.sql for one in checked(fields, "order_by"))
        return self._of("*", f" ORDER BY {by}")

    def limit(self, fetch: int, offset: int = 0) -> Table:
        """The first ``fetch`` rows after ``offset``; IllegalArgumentError for numbers below 0."""
        if fetch < 0 or offset < 0:
            raise IllegalArgumentError(f"limit takes numbers from 0, not {fetch} and {offset}")
        return self._of("*", f" LIMIT {int(fetch)} OFFSET {int(offset)}")

    def offset(self, offset: int) -> Table:
        """The rows without the first ``offset``; IllegalArgumentError for a number below 0."""
        if offset < 0:
            raise IllegalArgumentError(f"offset takes a number from 0, not {offset}")
        return self._of("*", f" OFFSET {int(offset)}")

    def fetch(self, fetch: int) -> Table:
        """The first ``fetch`` rows; IllegalArgumentError for a number below 0."""
        return self.limit(fetch)

    # --- with other tables

    def union_all(self, right: Table) -> Table:
        """The rows of this table and of another one, whose columns have the same types."""
        return self._with(right, "UNION ALL")

    def union(self, right: Table) -> Table:
        """The distinct rows of both tables."""
        return self._with(right, "UNION")

    def minus(self, right: Table) -> Table:
        """The distinct rows that the other table does not have."""
        return self._with(right, "EXCEPT")

    def minus_all(self, right: Table) -> Table:
        """The rows of this table less those of the other, with duplicates counted."""
        return self._with(right, "EXCEPT ALL")

    def intersect(self, right: Table) -> Table:
        """The distinct rows that both tables have."""
        return self._with(right, "INTERSECT")

    def intersect_all(self, right: Table) -> Table:
        """The rows that both tables have, with duplicates counted."""
        return self._with(right, "INTERSECT ALL")

    def join(self, right: Table, join_predicate: Expression[bool] | None = None) -> Table:
        """The pairs of rows for which a predicate is true; without it ``where`` may follow."""
        return self._joined(right, "INNER JOIN", join_predicate)

    def left_outer_join(
        self, right: Table, join_predicate: Expression[bool] | None = None
    ) -> Table:
        """The same pairs, and unmatched rows of this table with nulls."""
        return self._joined(right, "LEFT JOIN", join_predicate)

    def right_outer_join(self, right: Table, join_predicate: Expression[bool]) -> Table:
        """The same pairs, and unmatched rows of the other table with nulls."""
        return self._joined(right, "RIGHT JOIN", join_predicate)

    def full_outer_join(self, right: Table, join_predicate: Expression[bool]) -> Table:
        """The same pairs, and unmatched rows of both tables with nulls."""
        return self._joined(right, "FULL JOIN", join_predicate)

    def _with(self, right: Table, word: str) -> Table:
        return self._query(
            lambda names: f"SELECT * FROM {names[0]} {word} SELECT * FROM {names[1]}", right
        )

    def _joined(self, right: Table, words: str, predicate: Expression[bool] | None) -> Table:
        mine, theirs = self._kind.get_field_names(), right._kind.get_field_names()
        both = [name for name in mine if name in theirs]
        if both:
            raise IllegalArgumentError(
                f"both tables of the join have the columns {', '.join(both)}: rename those of one, "
                "with alias(...) or rename_columns(col('a').alias('b'))"
            )
        on = "TRUE" if predicate is None else predicate.sql
        return self._query(
            lambda names: f"SELECT * FROM {names[0]} {words} {names[1]} ON {on}", right
        )

    # --- with functions

    def join_lateral(
        self,
        table_function_call: Expression[Any] | UserDefinedFunction,
        join_predicate: Expression[bool] | None = None,
    ) -> Table:
        """Each row joined with each row that a table function returns for it."""
        return self._lateral(table_function_call, "JOIN", join_predicate)

    def left_outer_join_lateral(
        self,
        table_function_call: Expression[Any] | UserDefinedFunction,
        join_predicate: Expression[bool] | None = None,
    ) -> Table:
        """The same, and with nulls the rows for which the function returns none."""
        return self._lateral(table_function_call, "LEFT JOIN", join_predicate)

    def _lateral(self, given: Any, words: str, predicate: Expression[bool] | None) -> Table:
        call, names = table_call(given, self._kind)
        listed = ", ".join(in_backticks(name) for name in names)
        on = "TRUE" if predicate is None else predicate.sql
        return self._of(
            "*", f" {words} LATERAL inline({call.sql}) AS flinkish_rows({listed}) ON {on}"
        )

    def map(self, func: Expression[Any] | UserDefinedFunction) -> Table:
        """A row for each row: the fields of the row that a function returns, or its value as f0.

        A function without arguments gets the row of all columns.
        """
        call = call_of(func, self._kind)
        columns = columns_of_value(call, "flinkish_row")
        return self._of(f"{call.sql} AS flinkish_row")._of(columns)

    def flat_map(self, func: Expression[Any] | UserDefinedFunction) -> Table:
        """Only the rows that a table function returns for each row."""
        call, names = table_call(func, self._kind)
        listed = ", ".join(in_backticks(name) for name in names)
        return self._of(
            ", ".join(f"flinkish_rows.{in_backticks(name)}" for name in names),
            f" JOIN LATERAL inline({call.sql}) AS flinkish_rows({listed})",
        )

    def aggregate(self, func: Expression[Any] | UserDefinedFunction) -> AggregatedTable[Table]:
        """An aggregate of all rows, for `AggregatedTable.select`."""
        return GroupedTable(self, ()).aggregate(func)

    def flat_aggregate(
        self, func: Expression[Any] | UserDefinedFunction
    ) -> FlatAggregateTable[Table]:
        """The rows that a TableAggregateFunction returns for all rows."""
        return GroupedTable(self, ()).flat_aggregate(func)

    def get_resolved_schema(self) -> TableSchema:
        """The names and types of the columns, as `get_schema` gives them."""
        return self.get_schema()

    # --- queries

    def _of(self, columns: str, after: str = "") -> Table:
        return self._query(lambda names: f"SELECT {columns} FROM {names[0]}{after}")

    def with_times(self, times: Mapping[str, int]) -> Table:
        """The same table, with columns of event time."""
        return Table(self._planner, self._node, self._updates, times)

    def _query(self, text: Callable[[list[str]], str], *others: Table) -> Table:
        tables = {f"flinkish_input_{at}": one for at, one in enumerate((self, *others))}
        return self._planner.query(text(list(tables)), tables)

    def get_schema(self) -> TableSchema:
        """The names and types of the columns."""
        return TableSchema.of(self._kind)

    def print_schema(self) -> None:
        """Print the names and types of the columns."""
        schema = self.get_schema()
        pairs = zip(schema.get_field_names(), schema.get_field_data_types(), strict=True)
        print("(\n" + ",\n".join(f"  `{name}` {one}" for name, one in pairs) + "\n)", flush=True)

    def execute(self) -> TableResult:
        """Start a job for the rows of this table."""
        return self._planner.collect(self)

    def to_pandas(self) -> Any:
        """All rows as a DataFrame of pandas; IllegalStateError for a table that has no end."""
        if self._unbounded:
            raise IllegalStateError(
                "this table has an unbounded source, so its rows do not end: take those that are "
                "needed with execute().collect(), or write them with execute_insert(...)"
            )
        with self.execute().collect() as rows:
            return import_module("pandas").DataFrame(
                [tuple(row) for row in rows], columns=self._kind.get_field_names()
            )

    def insert_into(
        self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False
    ) -> TablePipeline:
        """The INSERT of the rows into a table, to be executed alone or in a StatementSet."""
        sink = self._planner.sink(table_path_or_descriptor, self, overwrite=overwrite)
        return TablePipeline(sink[0], sink, self._planner.insert)

    def execute_insert(
        self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False
    ) -> TableResult:
        """Start a job that writes the rows to a table."""
        return self._planner.insert(
            [self._planner.sink(table_path_or_descriptor, self, overwrite=overwrite)]
        )
