"""Rows that are given as values, and their types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.row import Row
from flinkish.common.typeinfo import RowTypeInfo, TypeInformation
from flinkish.table.types import DataType, DataTypes

__all__ = ["rows_of_values"]

_TYPES: dict[type, DataType] = {
    bool: DataTypes.BOOLEAN(),
    int: DataTypes.BIGINT(),
    float: DataTypes.DOUBLE(),
    str: DataTypes.STRING(),
    bytes: DataTypes.BYTES(),
    Decimal: DataTypes.DECIMAL(38, 18),
    date: DataTypes.DATE(),
    datetime: DataTypes.TIMESTAMP(),
}


def rows_of_values(
    values: Iterable[Any], schema: DataType | Sequence[str] | None
) -> tuple[list[Row], RowTypeInfo]:
    """Rows of values, and their type: by a type, or by names and the values.

    IllegalArgumentError if the type cannot be told, or rows have other numbers of values;
    ArgumentTypeError for other schemas.
    """
    rows = [tuple(one) if isinstance(one, (tuple, list, Row)) else (one,) for one in values]
    kind = _kind_of(rows, schema)
    width = len(kind.get_field_names())
    for one in rows:
        if len(one) != width:
            raise IllegalArgumentError(
                f"each row has {width} values, {', '.join(kind.get_field_names())}, and {one!r} "
                f"has {len(one)}"
            )
    return [Row(*one) for one in rows], kind


def _kind_of(rows: Sequence[tuple[Any, ...]], schema: Any) -> RowTypeInfo:
    if isinstance(schema, DataType):
        if isinstance(schema.kind, RowTypeInfo):
            return schema.kind
        return RowTypeInfo([schema.kind], ["f0"])
    if schema is not None and (
        isinstance(schema, str) or not all(isinstance(one, str) for one in schema)
    ):
        raise ArgumentTypeError(
            f"the schema of rows is DataTypes.ROW([...]) or a list of names, not {schema!r}"
        )
    if not rows:
        raise IllegalArgumentError(
            "there are no rows that could say the types of columns: give DataTypes.ROW([...])"
        )
    names = list(schema or (f"_{at + 1}" for at in range(len(rows[0]))))
    kinds = [_type_of(name, [row[at : at + 1] for row in rows]) for at, name in enumerate(names)]
    return RowTypeInfo(kinds, names)


def _type_of(name: str, column: Sequence[tuple[Any, ...]]) -> TypeInformation:
    """The type of the values of a column, which are all of one, but for None."""
    found = {type(value): value for values in column for value in values if value is not None}
    if len(found) != 1 or not found.keys() <= _TYPES.keys():
        values = ", ".join(map(repr, found.values())) or "no values"
        raise IllegalArgumentError(
            f"the type of the column {name!r} cannot be told, it has {values}: give the schema, "
            "DataTypes.ROW([...])"
        )
    return _TYPES[next(iter(found))].kind
