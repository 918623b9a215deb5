"""PyFlink's Table: a query that waits to be run."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError, IllegalStateError
from flinkish.common.names import did_you_mean, in_backticks
from flinkish.common.typeinfo import RowTypeInfo
from flinkish.environment.nodes import Node, with_ancestors
from flinkish.table.expression import Expression
from flinkish.table.expressions import col
from flinkish.table.table_descriptor import TableDescriptor
from flinkish.table.table_result import TableResult
from flinkish.table.table_schema import TableSchema

if TYPE_CHECKING:
    from flinkish.table.planner import Planner

__all__ = ["Table"]


class Table:
    """The rows of a stream, of a connector, or of a query of Spark's SQL over others.

    It has the methods that are plain SQL of one table; all else is written with
    ``t_env.sql_query``, in which ``f"... FROM {table}"`` names a table.

    ``updates`` are the words of SQL that make its rows change while others come, in streaming mode;
    empty if none do.
    """

    def __init__(self, planner: Planner, node: Node, updates: str = "") -> None:
        self._planner = planner
        self._node = node
        self._updates = updates

    @cached_property
    def _unbounded(self) -> bool:
        """Whether it has a source that does not end; the sources say it with Spark."""
        found = [one.source() for one in with_ancestors([self._node]) if one.source is not None]
        return not all(one.bounded for one in found)

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
        return self._of(", ".join(one.selected for one in _checked(fields, "select")))

    def where(self, predicate: Expression[bool]) -> Table:
        """The rows for which an expression is true."""
        (one,) = _checked((predicate,), "where")
        return self._of("*", f" WHERE {one.sql}")

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
        pairs = zip(names, new, strict=True)
        return self._of(
            ", ".join(f"{in_backticks(old)} AS {in_backticks(name)}" for old, name in pairs)
        )

    def add_columns(self, *fields: Expression[Any]) -> Table:
        """All columns, and values of each row after them."""
        columns = [one.selected for one in _checked(fields, "add_columns")]
        return self._of(", ".join(["*", *columns]))

    def drop_columns(self, *fields: Expression[Any]) -> Table:
        """All columns but these; IllegalArgumentError for one that there is not, or for all."""
        dropped = [one.column for one in _checked(fields, "drop_columns")]
        names = self._kind.get_field_names()
        kept = [in_backticks(name) for name in names if name not in dropped]
        if not kept or len(kept) + len(set(dropped)) != len(names):
            raise IllegalArgumentError(
                f"drop_columns takes some of {', '.join(names)}, not "
                f"{', '.join(one.sql for one in fields)}"
            )
        return self._of(", ".join(kept))

    def distinct(self) -> Table:
        """Each row once."""
        return self._of("DISTINCT *")

    def order_by(self, *fields: Expression[Any]) -> Table:
        """The rows in an order: by expressions, or by their ``asc`` or ``desc``."""
        by = ", ".join(one.sql for one in _checked(fields, "order_by"))
        return self._of("*", f" ORDER BY {by}")

    def limit(self, fetch: int, offset: int = 0) -> Table:
        """So many rows, after some that are left out; IllegalArgumentError for numbers below 0."""
        if fetch < 0 or offset < 0:
            raise IllegalArgumentError(f"limit takes numbers from 0, not {fetch} and {offset}")
        return self._of("*", f" LIMIT {int(fetch)} OFFSET {int(offset)}")

    def union_all(self, right: Table) -> Table:
        """The rows of this table and of another one, whose columns have the same types."""
        return self._query(
            lambda names: f"SELECT * FROM {names[0]} UNION ALL SELECT * FROM {names[1]}", right
        )

    def _of(self, columns: str, after: str = "") -> Table:
        return self._query(lambda names: f"SELECT {columns} FROM {names[0]}{after}")

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

    def execute_insert(
        self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False
    ) -> TableResult:
        """Start a job that writes the rows to a table."""
        return self._planner.insert(
            [self._planner.sink(table_path_or_descriptor, self, overwrite=overwrite)]
        )


def _checked(fields: tuple[Any, ...], method: str) -> tuple[Expression[Any], ...]:
    wrong = [one for one in fields if not isinstance(one, Expression)]
    if wrong or not fields:
        raise ArgumentTypeError(
            f"{method} takes expressions, such as col('id') + 1, not {wrong[0]!r}"
            if wrong
            else f"{method} takes an expression, such as col('id')"
        )
    return fields
