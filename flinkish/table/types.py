"""Types of columns under PyFlink's names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from flinkish.common.data_types import DataType, DataTypes, NumericType, RowField, RowType
from flinkish.common.ddl import in_sql
from flinkish.common.errors import IllegalArgumentError
from flinkish.common.lazy import refused_names
from flinkish.common.row import Row, RowKind
from flinkish.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    DecimalTypeInfo,
    InstantTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)

if not TYPE_CHECKING:
    __getattr__ = refused_names(
        __name__,
        "UserDefinedType",
        "columns have types of SQL: declare a ROW, or take streams, whose elements are any objects",
    )

__all__ = [
    "DataType",
    "DataTypes",
    "NumericType",
    "Row",
    "RowField",
    "RowKind",
    "RowType",
    "data_type_of",
]


_BASIC: dict[BasicType, Callable[[], DataType]] = {
    BasicType.STRING: DataTypes.STRING,
    BasicType.CHAR: DataTypes.STRING,
    BasicType.BOOLEAN: DataTypes.BOOLEAN,
    BasicType.BYTE: DataTypes.TINYINT,
    BasicType.SHORT: DataTypes.SMALLINT,
    BasicType.INT: DataTypes.INT,
    BasicType.LONG: DataTypes.BIGINT,
    BasicType.FLOAT: DataTypes.FLOAT,
    BasicType.DOUBLE: DataTypes.DOUBLE,
    BasicType.INSTANT: DataTypes.TIMESTAMP_LTZ,
}


def data_type_of(kind: TypeInformation) -> DataType:
    """The type of the column that holds such values.

    IllegalArgumentError for values that have no column, such as pickled ones.
    """
    if isinstance(kind, BasicTypeInfo):
        if kind.basic_type in (BasicType.BIG_INT, BasicType.BIG_DEC):
            scale = 18 if kind.basic_type is BasicType.BIG_DEC else 0
            return NumericType(f"DECIMAL(38, {scale})", in_sql(kind))
        return replace(_BASIC[kind.basic_type](), kind=kind)
    if isinstance(kind, DecimalTypeInfo):
        return DataTypes.DECIMAL(kind.precision, kind.scale)
    if isinstance(kind, RowTypeInfo):
        fields = zip(kind.get_field_names(), kind.field_types, strict=True)
        return RowType([RowField(name, data_type_of(one)) for name, one in fields])
    if isinstance(kind, TupleTypeInfo):
        names = [f"f{at}" for at in range(len(kind.field_types))]
    else:
        return _column_type_of(kind)
    fields = zip(names, kind.field_types, strict=True)
    text = ", ".join(f"`{name}` {data_type_of(one)}" for name, one in fields)
    return DataType(f"ROW<{text}>", kind)


def _column_type_of(kind: TypeInformation) -> DataType:
    if isinstance(kind, TimestampTypeInfo):
        return DataType("TIMESTAMP(6)" if kind.wall_clock else "TIMESTAMP_LTZ(6)", kind)
    if isinstance(kind, InstantTypeInfo):
        return DataType("TIMESTAMP_LTZ(6)", kind)
    if isinstance(kind, DateTypeInfo):
        return DataTypes.DATE()
    if isinstance(kind, TimeTypeInfo):
        return DataTypes.TIME()
    if isinstance(kind, MapTypeInfo):
        key, value = data_type_of(kind.key_type_info), data_type_of(kind.value_type_info)
        return DataType(f"MAP<{key}, {value}>", kind)
    if kind == DataTypes.BYTES().kind:
        return DataTypes.BYTES()
    if isinstance(
        kind, (ListTypeInfo, BasicArrayTypeInfo, PrimitiveArrayTypeInfo, ObjectArrayTypeInfo)
    ):
        return DataType(f"ARRAY<{data_type_of(kind.elem_type)}>", kind)
    raise IllegalArgumentError(
        f"elements of the type {kind} have no columns: declare another where they are made, with "
        "output_type=Types.ROW_NAMED([...], [...])"
    )
