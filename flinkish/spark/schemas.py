"""Schemas of Spark and of Arrow, and what columns are fit for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import tzinfo

from pyspark.sql import DataFrame, SparkSession
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

from flinkish.common._composite_types import require_type
from flinkish.common.errors import IllegalArgumentError, TimestampError, UnknownColumnError
from flinkish.common.names import did_you_mean
from flinkish.common.output_tag import OutputTag
from flinkish.common.typeinfo import TypeInformation
from flinkish.spark.time_zones import time_zone_of
from flinkish.spark.type_mapping import row_schema

__all__ = [
    "check_names",
    "check_type",
    "column_name",
    "event_time_column",
    "key_columns",
    "key_type_name",
    "names_of_outputs",
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


def session_time_zone(spark: SparkSession) -> tzinfo:
    """In which zone Spark reads times without one; IllegalArgumentError if Python has it not."""
    return time_zone_of(spark.conf.get("spark.sql.session.timeZone") or "UTC")


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
    _distinct(given.names, given.names, what)
    return given


def _folding(frame: DataFrame) -> Callable[[str], str]:
    """The folding under which two names are equal if they are one to Spark."""
    minds_case = frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
    return str if minds_case else str.lower


def _field(frame: DataFrame, name: str, asked: str = "there is no column") -> StructField:
    """The column that a name means to Spark: quoted or not, in whatever capitals if it may be."""
    plain = name[1:-1].replace("``", "`") if name[:1] == name[-1:] == "`" else name
    fold = _folding(frame)
    for field in frame.schema.fields:
        if fold(field.name) == fold(plain):
            return field
    raise UnknownColumnError(
        f"{asked} {name!r}; the columns are {', '.join(frame.columns)}"
        + did_you_mean(name, frame.columns),
        column=name,
        available=frame.columns,
    )


def check_names(frame: DataFrame) -> None:
    """IllegalArgumentError for names that rows, or Spark's `mapInArrow`, could not tell apart."""
    fold = _folding(frame)
    _distinct(frame.columns, [fold(name) for name in frame.columns], "the DataFrame")
    for name in frame.columns:
        if "." in name or "`" in name:
            raise IllegalArgumentError(
                f"the DataFrame has a column {name!r}, whose name Spark's mapInArrow takes for the "
                "field of a struct: rename it, with withColumnRenamed"
            )


def check_type(frame: DataFrame, type_info: TypeInformation | None) -> None:
    """IllegalArgumentError unless the rows of a DataFrame can be elements of a type."""
    if type_info is None:
        return
    needed = row_schema(require_type(type_info, "type_info"))
    found = [field.dataType.simpleString() for field in frame.schema]
    wanted = [field.dataType.simpleString() for field in needed]
    if found != wanted:
        raise IllegalArgumentError(
            f"elements of {type_info} need the columns {', '.join(wanted)}, and the DataFrame has "
            f"{', '.join(found)}: cast them, or declare another type"
        )


def _distinct(names: Sequence[str], folded: Sequence[str], what: str) -> None:
    twice = [name for name, one in zip(names, folded, strict=True) if folded.count(one) > 1]
    if twice:
        raise IllegalArgumentError(
            f"{what} has several columns of one name, {', '.join(map(repr, twice))}; rename or "
            "drop all but one: after a join, join on the name, or select with alias"
        )


def column_name(frame: DataFrame, name: str, asked: str = "there is no column") -> str:
    """The name of a column, as the DataFrame spells it; ``asked`` begins the error without one."""
    return _field(frame, name, asked).name


def event_time_column(frame: DataFrame, name: str) -> str:
    """The name of a column; refuses one that cannot give Spark a watermark."""
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
    return field.name


def key_columns(frame: DataFrame, names: Sequence[str]) -> tuple[str, ...]:
    """The names of columns; refuses those that cannot be keys."""
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
    return tuple(column_name(frame, name) for name in names)


def key_type_name(frame: DataFrame, name: str) -> str | None:
    """As what Java type a key column hashes; None where the value says it."""
    return _KEY_TYPES[type(_field(frame, name).dataType)]


def sql_type_name(frame: DataFrame, name: str) -> str:
    """The type of a column as users write it."""
    return _field(frame, name).dataType.simpleString()


def names_of_outputs(side_outputs: Sequence[OutputTag]) -> tuple[str, ...]:
    """The columns of the main output and these side outputs, each a struct.

    IllegalArgumentError for two that Spark cannot tell apart.
    """
    names = ("main", *(tag.tag_id for tag in side_outputs))
    seen: set[str] = set()
    for name in names:
        if name.casefold() in seen:
            raise IllegalArgumentError(
                f"two of the outputs would be columns of the name {name!r}, which Spark does not "
                "tell apart ('main' is the main output): give the OutputTag another id, and each "
                "tag once"
            )
        seen.add(name.casefold())
    return names
