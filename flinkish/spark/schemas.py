"""Schemas of Spark and of Arrow, and what columns are fit for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from flinkish.common.errors import IllegalArgumentError, TimestampError, UnknownColumnError
from flinkish.common.typeinfo import TypeInformation
from flinkish.spark.time_zones import time_zone_of
from flinkish.spark.type_mapping import row_schema

__all__ = [
    "event_time_column",
    "key_columns",
    "key_type_name",
    "output_schema",
    "session_time_zone",
    "sql_type_name",
]

# How a key column hashes: Flink's type for Spark's (see flinkish.time.assign_to_key_group).
_KEY_TYPES: dict[type[DataType], str | None] = {
    ByteType: "int",
    ShortType: "int",
    IntegerType: "int",
    LongType: "long",
    BooleanType: "bool",
    FloatType: None,
    DoubleType: None,
    StringType: None,
    BinaryType: None,
    DateType: None,
    TimestampType: None,
    TimestampNTZType: None,
    DecimalType: None,
}


def session_time_zone(frame: DataFrame) -> tzinfo:
    """In which zone Spark reads times without one; IllegalArgumentError if Python has it not."""
    return time_zone_of(frame.sparkSession.conf.get("spark.sql.session.timeZone") or "UTC")


def output_schema(given: StructType | str | TypeInformation | None, what: str) -> StructType:
    """The schema of an output: Spark's own, DDL, or PyFlink's type information.

    A type that is not a row becomes one column named "value".
    """
    if isinstance(given, TypeInformation):
        return row_schema(given)
    if isinstance(given, str):
        try:
            parsed = DataType.fromDDL(given)
        except Exception as error:
            raise IllegalArgumentError(
                f"{what} {given!r} is no DDL that Spark reads: {error}"
            ) from error
        given = (
            parsed if isinstance(parsed, StructType) else StructType([StructField("value", parsed)])
        )
    if not isinstance(given, StructType) or not given.fields:
        raise IllegalArgumentError(
            f"{what} must be given, as DDL ('device string, n bigint'), a StructType or "
            f"Types.ROW_NAMED(...); it is {given!r}"
        )
    return given


def _field(frame: DataFrame, name: str) -> StructField:
    for field in frame.schema.fields:
        if field.name == name:
            return field
    raise UnknownColumnError(
        f"there is no column {name!r}; the columns are {', '.join(frame.columns)}",
        column=name,
        available=frame.columns,
    )


def event_time_column(frame: DataFrame, name: str) -> None:
    """Refuse a column that cannot give Spark a watermark."""
    field = _field(frame, name)
    if not isinstance(field.dataType, (TimestampType, TimestampNTZType)):
        raise TimestampError(
            f"the column {name!r} is of type {field.dataType.simpleString()}; event time needs a "
            f"timestamp: cast it, for instance with timestamp_millis({name}) for a bigint of ms"
        )
    if frame.isStreaming and isinstance(field.dataType, TimestampNTZType):
        raise TimestampError(
            f"the column {name!r} is a timestamp_ntz, and Spark's watermarks need a timestamp: "
            "cast it, which reads it in the session's time zone"
        )


def key_columns(frame: DataFrame, names: Sequence[str]) -> None:
    """Refuse columns that cannot be keys."""
    if not names:
        raise IllegalArgumentError("key_by needs at least one column, or a function")
    for name in names:
        field = _field(frame, name)
        if type(field.dataType) not in _KEY_TYPES:
            raise IllegalArgumentError(
                f"the column {name!r} of type {field.dataType.simpleString()} cannot be a key; "
                "keys are integers, booleans, floats, strings, binary, dates, timestamps and "
                "decimals"
            )


def key_type_name(frame: DataFrame, name: str) -> str | None:
    """As what Java type a key column hashes; None where the value says it."""
    return _KEY_TYPES[type(_field(frame, name).dataType)]


def sql_type_name(frame: DataFrame, name: str) -> str:
    """The type of a column as users write it."""
    return _field(frame, name).dataType.simpleString()
