"""PyFlink's expressions of columns: texts of Spark's SQL, put together by operators."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.names import in_backticks
from flinkish.table.types import DataType

__all__ = ["Expression", "sql_of"]

T = TypeVar("T")


class Expression(Generic[T]):
    """An expression of columns; `flinkish.table.expressions.col` and `lit` begin one.

    It has operators, and the methods below.  Anything else is written in SQL: ``call_sql``, or
    `TableEnvironment.sql_query`.
    """

    def __init__(self, sql: str, name: str | None = None, column: str | None = None) -> None:
        self.sql = sql
        self.name = name
        self.column = column  # its name, if it is a column and nothing else

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
        return _joined(self, "-", other)

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
        return Expression(f"(- {self.sql})")

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
        return Expression(f"(NOT {self.sql})")

    @property
    def is_null(self) -> Expression[T]:
        """Whether the value is null."""
        return Expression(f"({self.sql} IS NULL)")

    @property
    def is_not_null(self) -> Expression[T]:
        """Whether the value is not null."""
        return Expression(f"({self.sql} IS NOT NULL)")

    @property
    def asc(self) -> Expression[T]:
        """The order from the least value to the greatest; nulls come first, as in Flink."""
        return Expression(f"{self.sql} ASC NULLS FIRST")

    @property
    def desc(self) -> Expression[T]:
        """The order from the greatest value to the least; nulls come last, as in Flink."""
        return Expression(f"{self.sql} DESC NULLS LAST")

    def alias(self, name: str, *extra_names: str) -> Expression[T]:
        """The same value under a name; IllegalArgumentError for several names of one value."""
        if extra_names:
            raise IllegalArgumentError(
                f"one value has one name, not {', '.join((name, *extra_names))}"
            )
        return Expression(self.sql, name, self.column)

    def cast(self, data_type: DataType) -> Expression[T]:
        """The value as one of another type."""
        return Expression(f"CAST({self.sql} AS {data_type.kind.to_ddl()})")

    @property
    def selected(self) -> str:
        """The text between SELECT and FROM."""
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
    return Expression(f"({sql_of(left)} {operator} {sql_of(right)})")
