"""PyFlink's expressions of columns: texts of Spark's SQL, put together by operators."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.names import in_backticks
from flinkish.table.expression_enums import (
    JsonExistsOnError,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
    TimeIntervalUnit,
    TimePointUnit,
)
from flinkish.table.expression_methods import AGGREGATES
from flinkish.table.expression_sql import attach_sql
from flinkish.table.types import DataType

__all__ = [
    "Aggregate",
    "Expression",
    "JsonExistsOnError",
    "JsonQueryOnEmptyOrError",
    "JsonQueryWrapper",
    "JsonType",
    "JsonValueOnEmptyOrError",
    "TimeIntervalUnit",
    "TimePointUnit",
    "aggregates_of",
    "composed",
    "sql_of",
]

T = TypeVar("T")


@dataclass(frozen=True)
class Aggregate:
    """An aggregate in an expression: its name, the text of its argument, and its own text."""

    name: str
    argument: str
    sql: str


class Expression(Generic[T]):
    """An expression of columns; `flinkish.table.expressions.col` and `lit` begin one.

    It has operators, and those of Flink's methods for which Spark's SQL has a function.  Write
    anything else in SQL, with ``call_sql`` or `TableEnvironment.sql_query`.

    ``column`` is its name, if it is just a column; ``interval_ms`` its length in ms, if it is an
    interval of a literal number; ``rows`` a number of rows, if it is a row interval;
    ``aggregates`` are the aggregates in it; ``extra_names`` name further columns, if a function
    returns several; ``trails`` is a column and an interval (ms), if it is column minus interval.
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # the methods of expression_methods

    def __init__(
        self,
        sql: str,
        name: str | None = None,
        column: str | None = None,
        *,
        literal: Any = None,
        interval_ms: int | None = None,
        rows: int | None = None,
        aggregates: tuple[Aggregate, ...] = (),
        extra_names: tuple[str, ...] = (),
        trails: tuple[str, int] | None = None,
    ) -> None:
        self.sql = sql
        self.name = name
        self.column = column
        self.literal = literal
        self.interval_ms = interval_ms
        self.rows = rows
        self.aggregates = aggregates
        self.extra_names = extra_names
        self.trails = trails

    def __str__(self) -> str:
        return self.sql

    def __hash__(self) -> int:
        return hash((self.sql, self.name))

    def __bool__(self) -> bool:
        raise ArgumentTypeError(
            f"{self.sql} has a value for each row, not one for Python: write & for and, | for or, "
            "~ for not, with brackets around comparisons"
        )

    def __add__(self, other: Any) -> Expression[T]:
        return _joined(self, "+", other)

    def __radd__(self, other: Any) -> Expression[T]:
        return _joined(other, "+", self)

    def __sub__(self, other: Any) -> Expression[T]:
        made = _joined(self, "-", other)
        if self.column is not None and isinstance(other, Expression) and other.interval_ms:
            made.trails = (self.column, other.interval_ms)
        return made

    def __rsub__(self, other: Any) -> Expression[T]:
        return _joined(other, "-", self)

    def __mul__(self, other: Any) -> Expression[T]:
        return _joined(self, "*", other)

    def __rmul__(self, other: Any) -> Expression[T]:
        return _joined(other, "*", self)

    def __truediv__(self, other: Any) -> Expression[T]:
        return _joined(self, "/", other)

    def __rtruediv__(self, other: Any) -> Expression[T]:
        return _joined(other, "/", self)

    def __mod__(self, other: Any) -> Expression[T]:
        return _joined(self, "%", other)

    def __neg__(self) -> Expression[T]:
        return composed("(- {0})", self)

    def __eq__(self, other: Any) -> Expression[T]:  # type: ignore[override]
        return _joined(self, "=", other)

    def __ne__(self, other: Any) -> Expression[T]:  # type: ignore[override]
        return _joined(self, "<>", other)

    def __lt__(self, other: Any) -> Expression[T]:
        return _joined(self, "<", other)

    def __le__(self, other: Any) -> Expression[T]:
        return _joined(self, "<=", other)

    def __gt__(self, other: Any) -> Expression[T]:
        return _joined(self, ">", other)

    def __ge__(self, other: Any) -> Expression[T]:
        return _joined(self, ">=", other)

    def __and__(self, other: Any) -> Expression[T]:
        return _joined(self, "AND", other)

    def __or__(self, other: Any) -> Expression[T]:
        return _joined(self, "OR", other)

    def __invert__(self) -> Expression[T]:
        return composed("(NOT {0})", self)

    @property
    def is_null(self) -> Expression[T]:
        """Whether the value is null."""
        return composed("({0} IS NULL)", self)

    @property
    def is_not_null(self) -> Expression[T]:
        """Whether the value is not null."""
        return composed("({0} IS NOT NULL)", self)

    @property
    def asc(self) -> Expression[T]:
        """The order from the least value to the greatest; nulls come first, as in Flink."""
        return composed("{0} ASC NULLS FIRST", self)

    @property
    def desc(self) -> Expression[T]:
        """The order from the greatest value to the least; nulls come last, as in Flink."""
        return composed("{0} DESC NULLS LAST", self)

    def alias(self, name: str, *extra_names: str) -> Expression[T]:
        """The same value under a name; several names are for functions that return rows."""
        return Expression(
            self.sql, name, self.column, aggregates=self.aggregates, extra_names=extra_names
        )

    def cast(self, data_type: DataType) -> Expression[T]:
        """The value as one of another type."""
        return composed(f"CAST({{0}} AS {data_type.kind.to_ddl()})", self)

    def try_cast(self, data_type: DataType) -> Expression[T]:
        """The value cast to another type, null if that is impossible."""
        return composed(f"try_cast({{0}} AS {data_type.kind.to_ddl()})", self)

    def in_(self, first_element_or_table: Any, *remaining_elements: Any) -> Expression[bool]:
        """Whether the value is one of these values, or in the only column of a table."""
        if hasattr(first_element_or_table, "execute_insert"):
            return composed(f"({{0}} IN (SELECT * FROM {first_element_or_table}))", self)
        elements = (first_element_or_table, *remaining_elements)
        return composed("({0} IN ({*}))", self, *elements)

    def get(self, name_or_index: str | int) -> Expression[Any]:
        """The field of a row, by its name or its index from 0."""
        if isinstance(name_or_index, str):
            return composed(f"{{0}}.{in_backticks(name_or_index)}", self)
        raise UnsupportedOperationError(
            f"get({name_or_index}): Spark's structs have fields by name: get('name')"
        )

    def extract(self, time_interval_unit: TimeIntervalUnit) -> Expression[int]:
        """A part of a time, such as its hour."""
        return composed(f"extract({_unit(time_interval_unit)} FROM {{0}})", self)

    def floor(self, time_interval_unit: TimeIntervalUnit | None = None) -> Expression[T]:
        """The next lower whole number, or beginning of a unit of time."""
        if time_interval_unit is None:
            return composed("floor({0})", self)
        return composed(f"date_trunc('{_unit(time_interval_unit)}', {{0}})", self)

    def ceil(self, time_interval_unit: TimeIntervalUnit | None = None) -> Expression[T]:
        """The next higher whole number, or beginning of a unit of time."""
        if time_interval_unit is None:
            return composed("ceil({0})", self)
        unit = _unit(time_interval_unit)
        begin = f"date_trunc('{unit}', {{0}})"
        return composed(
            f"(CASE WHEN {begin} = {{0}} THEN {begin} ELSE timestampadd({unit}, 1, {begin}) END)",
            self,
        )

    # --- aggregates

    @property
    def distinct(self) -> Expression[Any]:
        """The aggregate of distinct values; IllegalArgumentError if this is not an aggregate."""
        if len(self.aggregates) != 1 or self.aggregates[0].sql != self.sql:
            raise IllegalArgumentError(
                f"distinct follows an aggregate, as in col('a').count.distinct, not {self.sql}"
            )
        (plain,) = self.aggregates
        sql = AGGREGATES[plain.name].format(f"DISTINCT {plain.argument}")
        distinct = Aggregate(f"{plain.name} distinct", plain.argument, sql)
        return Expression(sql, aggregates=(distinct,))

    def list_agg(self, separator: Any = ",") -> Expression[str]:
        """The texts of a group, joined."""
        sql = f"listagg({self.sql}, {sql_of(separator)})"
        return Expression(sql, aggregates=(Aggregate("list_agg", self.sql, sql),))

    def over(self, alias: Any) -> Expression[Any]:
        """The aggregate over a window that `Table.over_window` names."""
        if self.sql.endswith("))"):  # a function of the program over the list of a frame's rows
            return composed(f"{self.sql[:-1]} OVER {{0}})", alias)
        return composed("{0} OVER {1}", self, alias)

    # --- windows

    @property
    def start(self) -> Expression[Any]:
        """The beginning of a window, by the alias of the window."""
        return composed("{0}.start", self)

    @property
    def end(self) -> Expression[Any]:
        """The exclusive end of a window, by the alias of the window."""
        return composed("{0}.end", self)

    @property
    def rowtime(self) -> Expression[Any]:
        """The last millisecond of a window, which is the event time of its row."""
        return composed("{0}.rowtime", self)

    @property
    def proctime(self) -> Expression[Any]:
        """Refused: UnsupportedOperationError says which windows tables have."""
        raise UnsupportedOperationError(
            "tables have windows of event time: for processing time take streams, "
            "key_by(...).window(TumblingProcessingTimeWindows.of(...))"
        )

    @property
    def selected(self) -> str:
        """The text between SELECT and FROM; IllegalArgumentError for one value with two names."""
        if self.extra_names:
            raise IllegalArgumentError(
                f"one value has one name, not {', '.join((str(self.name), *self.extra_names))}"
            )
        return self.sql if self.name is None else f"{self.sql} AS {in_backticks(self.name)}"


def sql_of(value: Any) -> str:
    """The text of an expression, or of a value of Python as a literal.

    ArgumentTypeError for values that are no literals: other than bool, int, float, str, Decimal,
    date and datetime.
    """
    from datetime import date, datetime
    from decimal import Decimal

    if isinstance(value, Expression):
        return value.sql
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return f"{value}" if abs(value) < 1 << 31 else f"{value}L"
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE)"
    if isinstance(value, Decimal):
        return f"{value}BD"
    if isinstance(value, datetime) and value.tzinfo is None:
        return f"TIMESTAMP_NTZ '{value.isoformat(' ')}'"
    if isinstance(value, date) and not isinstance(value, datetime):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, str):
        text = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{text}'"
    raise ArgumentTypeError(
        f"{value!r} is no literal of SQL: take a bool, int, float, str, Decimal, date or datetime "
        "without a zone"
    )


def _joined(left: Any, operator: str, right: Any) -> Expression[Any]:
    return composed(f"({{0}} {operator} {{1}})", left, right)


def composed(template: str, *values: Any) -> Expression[Any]:
    """An expression from a text that ``{0}``, ``{1}``, ... fill with values, ``{*}`` with the rest.

    It has the aggregates that the values have.
    """
    texts = [sql_of(value) for value in values]

    def text(found: re.Match[str]) -> str:
        return ", ".join(texts[1:]) if found[1] == "*" else texts[int(found[1])]

    return Expression(re.sub(r"\{(\d+|\*)\}", text, template), aggregates=aggregates_of(values))


def aggregates_of(values: Sequence[Any]) -> tuple[Aggregate, ...]:
    """The aggregates in several values, each once."""
    found: dict[Aggregate, None] = {}
    for value in values:
        if isinstance(value, Expression):
            found |= dict.fromkeys(value.aggregates)
    return tuple(found)


def _unit(unit: TimeIntervalUnit) -> str:
    if not isinstance(unit, TimeIntervalUnit) or "_TO_" in unit.name:
        raise ArgumentTypeError(
            f"the unit of time is a TimeIntervalUnit such as TimeIntervalUnit.HOUR, not {unit!r}"
        )
    return unit.name


attach_sql(Expression, composed, Aggregate)
