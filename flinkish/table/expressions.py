"""PyFlink's functions that begin expressions."""

from __future__ import annotations

from typing import Any

from flinkish.common.names import in_backticks
from flinkish.table.expression import Expression, sql_of
from flinkish.table.types import DataType

__all__ = ["call_sql", "col", "lit"]


def col(name: str) -> Expression[Any]:
    """The column of a name."""
    return Expression(in_backticks(name), column=name)


def lit(v: Any, data_type: DataType | None = None) -> Expression[Any]:
    """A value of Python, of a type if one is given."""
    made: Expression[Any] = Expression(sql_of(v))
    return made if data_type is None else made.cast(data_type)


def call_sql(sql_expression: str) -> Expression[Any]:
    """An expression of Spark's SQL."""
    return Expression(f"({sql_expression})")
