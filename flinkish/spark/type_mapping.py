"""PyFlink's types as Spark's, without a session: workers have none."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import types as spark

from flinkish.common._composite_types import _ElementsTypeInfo
from flinkish.common.avro import GenericRecordAvroTypeInfo
from flinkish.common.errors import IllegalArgumentError
from flinkish.common.names import in_backticks
from flinkish.common.row import Row, rows_of
from flinkish.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    DecimalTypeInfo,
    InstantTypeInfo,
    MapTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)

__all__ = ["cast_columns", "coerced", "converter", "row_schema", "spark_type"]

_BASIC: dict[BasicType, Callable[[], spark.DataType]] = {
    BasicType.STRING: spark.StringType,
    BasicType.BYTE: spark.ByteType,
    BasicType.BOOLEAN: spark.BooleanType,
    BasicType.SHORT: spark.ShortType,
    BasicType.INT: spark.IntegerType,
    BasicType.LONG: spark.LongType,
    BasicType.FLOAT: spark.FloatType,
    BasicType.DOUBLE: spark.DoubleType,
    BasicType.CHAR: spark.StringType,
    BasicType.BIG_INT: spark.StringType,
    BasicType.BIG_DEC: spark.StringType,
    BasicType.INSTANT: spark.TimestampType,
}


# What becomes a number of a declared type, with NumPy's truth values, which are no numbers.
_LOOSE = (bool, np.bool_)
_NUMBERS: dict[BasicType, Callable[[Any], Any]] = {
    **dict.fromkeys((BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG), int),
    **dict.fromkeys((BasicType.FLOAT, BasicType.DOUBLE), float),
    BasicType.BOOLEAN: bool,
}


def spark_type(type_info: TypeInformation) -> spark.DataType:
    """The type of a column for such values."""
    if isinstance(type_info, BasicTypeInfo):
        return _BASIC[type_info.basic_type]()
    if isinstance(type_info, DecimalTypeInfo):
        return spark.DecimalType(type_info.precision, type_info.scale)
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        return row_schema(type_info)
    if isinstance(type_info, GenericRecordAvroTypeInfo):
        return row_schema(type_info.schema.record_type())
    if isinstance(type_info, MapTypeInfo):
        return spark.MapType(
            spark_type(type_info.key_type_info), spark_type(type_info.value_type_info)
        )
    if isinstance(type_info, PickledBytesTypeInfo) or type_info.to_ddl() == "binary":
        return spark.BinaryType()
    if isinstance(type_info, _ElementsTypeInfo):
        return spark.ArrayType(spark_type(type_info.elem_type))
    if isinstance(type_info, TimestampTypeInfo):
        return spark.TimestampNTZType() if type_info.wall_clock else spark.TimestampType()
    if isinstance(type_info, InstantTypeInfo):
        return spark.TimestampType()
    if isinstance(type_info, DateTypeInfo):
        return spark.DateType()
    if isinstance(type_info, TimeTypeInfo) and hasattr(spark, "TimeType"):
        return spark.TimeType(6)
    raise IllegalArgumentError(f"{type_info} has no column type in this version of Spark")


def row_schema(type_info: TypeInformation) -> spark.StructType:
    """The columns for such values: those of a row, or one named "value" for what is none."""
    if isinstance(type_info, RowTypeInfo):
        names = type_info.get_field_names()
    elif isinstance(type_info, TupleTypeInfo):
        names = [f"f{index}" for index in range(len(type_info.field_types))]
    else:
        return spark.StructType([spark.StructField("value", spark_type(type_info))])
    fields = zip(_apart(names), type_info.field_types, strict=True)
    return spark.StructType([spark.StructField(name, spark_type(kind)) for name, kind in fields])


def _apart(names: list[str]) -> list[str]:
    """Names of columns for fields: ``ID`` after ``id``, which are one to Spark, is ID_2."""
    seen: set[str] = set()
    columns = []
    for place, name in enumerate(names, 1):
        column = name
        while column.lower() in seen:
            column += f"_{place}"
        seen.add(column.lower())
        columns.append(column)
    return columns


def cast_columns(frame: DataFrame, schema: spark.StructType) -> DataFrame:
    """The same columns, by their places, in other types for the same values."""
    columns = []
    for name, field, wanted in zip(frame.columns, frame.schema, schema, strict=True):
        column = in_backticks(name)
        type_ = wanted.dataType.simpleString()
        cast = column if field.dataType.simpleString() == type_ else f"cast({column} AS {type_})"
        columns.append(f"{cast} AS {column}")
    return frame.selectExpr(*columns)


def converter(type_info: TypeInformation) -> Callable[[Any], Any] | None:
    """The function that makes a column value of a value, or None if they are the same."""
    if not _converts(type_info):
        return None
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        return type_info.to_internal_type
    return lambda value: (type_info.to_internal_type(value),)


def coerced(type_info: TypeInformation, value: Any) -> Any:
    """A value whose numbers are of the types that were declared, as PyFlink's coders make them.

    An object in the place of a row becomes its attributes with the fields' names.  A value that
    does not fit its type is left as it is: a text for an int, an int with too many bits, a NaN.
    """
    if value is None:
        return None
    if isinstance(type_info, BasicTypeInfo):
        exact = _NUMBERS.get(type_info.basic_type)
        if exact is None or not isinstance(value, (Number, *_LOOSE)):
            return value
        try:
            return exact(value)
        except (TypeError, ValueError, OverflowError):
            return value
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        if isinstance(type_info, RowTypeInfo) and _has_fields(value):
            value = tuple(vars(value).get(name) for name in type_info.get_field_names())
        if not isinstance(value, (tuple, list, Row)) or len(value) != len(type_info.field_types):
            return value
        parts = [coerced(kind, part) for kind, part in zip(type_info.field_types, value)]  # noqa: B905
        names = value.get_field_names() if isinstance(value, Row) else None
        return tuple(parts) if names is None else rows_of(names, [tuple(parts)])[0]
    if isinstance(type_info, MapTypeInfo) and isinstance(value, dict):
        key, item = type_info.key_type_info, type_info.value_type_info
        return {coerced(key, one): coerced(item, other) for one, other in value.items()}
    if isinstance(type_info, _ElementsTypeInfo) and isinstance(value, (list, tuple)):
        return [coerced(type_info.elem_type, item) for item in value]
    return value


def _has_fields(value: Any) -> bool:
    """Whether a value is an object whose attributes are the fields of a row, as in PyFlink."""
    return not isinstance(value, (tuple, list, dict, type)) and hasattr(value, "__dict__")


def restorer(type_info: TypeInformation) -> Callable[[Any], Any] | None:
    """The way back: what makes a value of a row of columns, or None where they are the same.

    Structs are dicts and maps are pairs, as Arrow gives them.
    """
    if not _converts(type_info):
        return None
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        return lambda row: _restored(type_info, row)
    return lambda row: _restored(type_info, row[0])


def _restored(type_info: TypeInformation, value: Any) -> Any:
    """A value of a column's, whose parts Arrow made Python's."""
    if value is None:
        return None
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        values = value.values() if isinstance(value, dict) else value
        parts = [_restored(*each) for each in zip(type_info.field_types, values, strict=True)]
        if isinstance(type_info, TupleTypeInfo):
            return tuple(parts)
        return rows_of(type_info.field_names, [tuple(parts)])[0]
    if isinstance(type_info, MapTypeInfo):
        key, item = type_info.key_type_info, type_info.value_type_info
        return {_restored(key, one): _restored(item, other) for one, other in value}
    if isinstance(type_info, _ElementsTypeInfo) and isinstance(value, list):
        return [_restored(type_info.elem_type, item) for item in value]
    return type_info.from_internal_type(value)


def _converts(type_info: TypeInformation) -> bool:
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        return any(_converts(field) for field in type_info.field_types)
    if isinstance(type_info, MapTypeInfo):
        return _converts(type_info.key_type_info) or _converts(type_info.value_type_info)
    if isinstance(type_info, _ElementsTypeInfo) and not isinstance(
        type_info, PrimitiveArrayTypeInfo
    ):
        return _converts(type_info.elem_type)
    return type_info.need_conversion()
