"""Grouped tables: by values, by windows of event time, and by frames around each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.names import in_backticks
from flinkish.table.checked import checked
from flinkish.table.expression import Expression
from flinkish.table.rows import R
from flinkish.table.udf import UserDefinedFunction, call_of, columns_of_value, functions_in
from flinkish.table.window import GroupWindow, OverWindow
from flinkish.table.window_operator import window_rows

__all__ = [
    "AggregatedTable",
    "FlatAggregateTable",
    "GroupWindowedTable",
    "GroupedTable",
    "OverWindowedTable",
    "WindowGroupedTable",
]

_FORMS = {
    "tumble": "window({0}, '{1} milliseconds')",
    "slide": "window({0}, '{1} milliseconds', '{2} milliseconds')",
    "session": "session_window({0}, '{1} milliseconds')",
}


class GroupedTable(Generic[R]):
    """The rows of a table in groups of equal values."""

    def __init__(self, table: R, keys: Sequence[Expression[Any]]) -> None:
        self._table = table
        self._keys = tuple(keys)

    def select(self, *fields: Expression[Any]) -> R:
        """A row for each group: its values, and aggregates of its rows."""
        columns = ", ".join(one.selected for one in checked(fields, "select"))
        return self._table._of(columns, self._group_by)

    def aggregate(self, func: Expression[Any] | UserDefinedFunction) -> AggregatedTable[R]:
        """An aggregate of each group, for `select`; a function by itself gets whole rows."""
        return AggregatedTable(self, call_of(func, self._table._kind))

    def flat_aggregate(self, func: Expression[Any] | UserDefinedFunction) -> FlatAggregateTable[R]:
        """The rows that a TableAggregateFunction returns for each group, for `select`."""
        return FlatAggregateTable(self, call_of(func, self._table._kind))

    @property
    def _group_by(self) -> str:
        return f" GROUP BY {', '.join(one.sql for one in self._keys)}" if self._keys else ""


class AggregatedTable(Generic[R]):
    """Groups with one aggregate, which `select` names."""

    def __init__(self, grouped: GroupedTable[R], aggregate: Expression[Any]) -> None:
        self._grouped = grouped
        self._aggregate = aggregate

    def select(self, *fields: Expression[Any]) -> R:
        """Values of groups, and the fields of the aggregate."""
        grouped, aggregate = self._grouped, self._aggregate
        value = "flinkish_aggregate"
        keys = [key.selected for key in grouped._keys]
        table = grouped._table._of(
            ", ".join([*keys, f"{aggregate.sql} AS {value}"]), grouped._group_by
        )
        names = map(in_backticks, table._kind.get_field_names()[:-1])
        return table._of(", ".join([*names, columns_of_value(aggregate, value)])).select(*fields)


class FlatAggregateTable(Generic[R]):
    """Groups with the rows of a TableAggregateFunction, whose columns `select` names."""

    def __init__(self, grouped: GroupedTable[R], aggregate: Expression[Any]) -> None:
        self._grouped = grouped
        self._aggregate = aggregate

    def select(self, *fields: Expression[Any]) -> R:
        """Values of groups, and columns of the function's rows."""
        grouped, aggregate = self._grouped, self._aggregate
        found = functions_in(aggregate.sql)
        if not found or found[0].form != "TABLE_AGGREGATE":
            raise ArgumentTypeError(
                f"flat_aggregate takes a TableAggregateFunction by udtaf(...), not {aggregate.sql}"
            )
        given = (aggregate.name, *aggregate.extra_names) if aggregate.name else ()
        names = given or tuple(found[0].row_names or ())
        rows = "flinkish_rows_of_group"
        columns = [one.selected for one in grouped._keys]
        table = grouped._table._of(
            ", ".join([*columns, f"{aggregate.sql} AS {rows}"]), grouped._group_by
        )
        keys = [in_backticks(key) for key in table._kind.get_field_names()[:-1]]
        listed = ", ".join(in_backticks(name) for name in names)
        flat = table._of(
            ", ".join([*keys, f"flinkish_row.{listed}" if len(names) == 1 else "flinkish_row.*"]),
            f" LATERAL VIEW inline({rows}) flinkish_row AS {listed}",
        )
        return flat.select(*fields)


class GroupWindowedTable(Generic[R]):
    """The rows of a table in windows; `group_by` names the window, and values beside it."""

    def __init__(self, table: R, window: GroupWindow) -> None:
        self._table = table
        self._window = window

    def group_by(self, *fields: Expression[Any]) -> WindowGroupedTable[R]:
        """Group by the window and by values; IllegalArgumentError without the window."""
        fields = checked(fields, "group_by")
        keys = [one for one in fields if one.column != self._window.name]
        if len(keys) == len(fields):
            raise IllegalArgumentError(
                f"group_by needs the window: group_by(col({self._window.name!r}), ...)"
            )
        return WindowGroupedTable(self._table, self._window, keys)


class WindowGroupedTable(Generic[R]):
    """The rows of each window and group."""

    def __init__(self, table: R, window: GroupWindow, keys: Sequence[Expression[Any]]) -> None:
        self._table = table
        self._window = window
        self._keys = tuple(keys)

    def select(self, *fields: Expression[Any]) -> R:
        """A row for each group of each window, once the window is over.

        In streaming mode the DataStream window operator computes them, and drops late rows.
        """
        fields = checked(fields, "select")
        if self._table._streams:
            return window_rows(self._table, self._window, self._keys, fields)
        rows, alias = self._windowed_rows(), self._alias.sql
        end = f"({alias}.end - INTERVAL '0.001' SECOND)"
        selected = [
            Expression(one.sql.replace(f"{alias}.rowtime", end), one.name).selected
            for one in fields
        ]
        keys = ", ".join([alias, *(one.sql for one in self._keys)])
        return rows._of(", ".join(selected), f" GROUP BY {keys}")

    def aggregate(self, func: Expression[Any] | UserDefinedFunction) -> AggregatedTable[R]:
        """An aggregate of each window and group, for `select`; in batch mode."""
        if self._table._streams:
            raise IllegalArgumentError(
                "aggregate(...) of windows is there in batch mode: in streaming mode select(...) "
                "takes the aggregates, as in select(col('a').sum.alias('x'))"
            )
        grouped = GroupedTable(self._windowed_rows(), [self._alias, *self._keys])
        return grouped.aggregate(func)

    @property
    def _alias(self) -> Expression[Any]:
        return Expression(in_backticks(self._window.name), column=self._window.name)

    def _windowed_rows(self) -> R:
        window = self._window
        made = _FORMS[window.form].format(
            in_backticks(window.time), window.size_ms, window.slide_ms or window.size_ms
        )
        return self._table._of(f"*, {made} AS {in_backticks(window.name)}")


class OverWindowedTable(Generic[R]):
    """The rows of a table with frames around them."""

    def __init__(self, table: R, windows: Sequence[OverWindow]) -> None:
        self._table = table
        self._windows = tuple(windows)

    def select(self, *fields: Expression[Any]) -> R:
        """Values of each row, and aggregates ``over`` the frames."""
        columns = ", ".join(one.selected for one in checked(fields, "select"))
        windows = ", ".join(f"{in_backticks(one.name)} AS {one.sql}" for one in self._windows)
        return self._table._of(columns, f" WINDOW {windows}")
