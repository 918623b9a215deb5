"""PyFlink's functions that begin expressions."""

from __future__ import annotations

from enum import Enum
from typing import Any

from flinkish.common.errors import ArgumentTypeError
from flinkish.common.names import in_backticks
from flinkish.table.expression import Expression, TimePointUnit, composed, sql_of
from flinkish.table.refused_expressions import (
    current_time,
    current_watermark,
    descriptor,
    json,
    json_array,
    json_array_agg,
    json_object,
    json_object_agg,
    local_time,
    range_,
    source_watermark,
)
from flinkish.table.types import DataType
from flinkish.table.udf import UserDefinedFunction, called

__all__ = [
    "CURRENT_RANGE",
    "CURRENT_ROW",
    "UNBOUNDED_RANGE",
    "UNBOUNDED_ROW",
    "and_",
    "array",
    "atan2",
    "call",
    "call_sql",
    "col",
    "concat",
    "concat_ws",
    "convert_tz",
    "current_database",
    "current_date",
    "current_time",
    "current_timestamp",
    "current_watermark",
    "date_format",
    "descriptor",
    "e",
    "from_unixtime",
    "if_then_else",
    "json",
    "json_array",
    "json_array_agg",
    "json_object",
    "json_object_agg",
    "json_string",
    "lit",
    "local_time",
    "local_timestamp",
    "log",
    "map_",
    "negative",
    "not_",
    "null_of",
    "or_",
    "pi",
    "rand",
    "rand_integer",
    "range_",
    "row",
    "row_interval",
    "source_watermark",
    "temporal_overlaps",
    "timestamp_diff",
    "to_date",
    "to_timestamp",
    "to_timestamp_ltz",
    "unix_timestamp",
    "uuid",
    "with_columns",
    "without_columns",
]


class _Bound(Enum):
    UNBOUNDED = "UNBOUNDED"
    CURRENT = "CURRENT ROW"


# Ends of the frame of an over window: of rows, or of values of the order.
UNBOUNDED_ROW: Expression[Any] = Expression("UNBOUNDED", literal=("ROWS", _Bound.UNBOUNDED.value))
CURRENT_ROW: Expression[Any] = Expression("CURRENT ROW", literal=("ROWS", _Bound.CURRENT.value))
UNBOUNDED_RANGE: Expression[Any] = Expression(
    "UNBOUNDED", literal=("RANGE", _Bound.UNBOUNDED.value)
)
CURRENT_RANGE: Expression[Any] = Expression("CURRENT ROW", literal=("RANGE", _Bound.CURRENT.value))


def col(name: str) -> Expression[Any]:
    """The column of a name."""
    return Expression(in_backticks(name), column=name)


def lit(v: Any, data_type: DataType | None = None) -> Expression[Any]:
    """A value of Python, of a type if one is given."""
    made: Expression[Any] = Expression(sql_of(v), literal=v)
    return made if data_type is None else made.cast(data_type)


def call_sql(sql_expression: str) -> Expression[Any]:
    """An expression of Spark's SQL."""
    return Expression(f"({sql_expression})")


def call(f: str | UserDefinedFunction, *args: Any) -> Expression[Any]:
    """A function with arguments: of this name in Spark's SQL or in the program, or a udf."""
    if isinstance(f, UserDefinedFunction):
        return called(f, args)
    if not isinstance(f, str) or not f.replace("_", "").replace(".", "").isalnum():
        raise ArgumentTypeError(f"call takes the name of a function or a udf, not {f!r}")
    return composed(f"{f}({{*}})", "", *args)


# --- truth


def and_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression[bool]:
    """Whether all are true."""
    return _joined(" AND ", predicate0, predicate1, *predicates)


def or_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression[bool]:
    """Whether one of them is true."""
    return _joined(" OR ", predicate0, predicate1, *predicates)


def not_(expression: Expression[bool]) -> Expression[bool]:
    """Whether it is false."""
    return composed("(NOT {0})", expression)


def if_then_else(condition: Any, if_true: Any, if_false: Any) -> Expression[Any]:
    """The first value if a condition is true, else the second."""
    return composed("(CASE WHEN {0} THEN {1} ELSE {2} END)", condition, if_true, if_false)


# --- numbers


def e() -> Expression[float]:
    """Euler's number."""
    return Expression("e()")


def pi() -> Expression[float]:
    """The ratio of a circle's circumference to its diameter."""
    return Expression("pi()")


def atan2(y: Any, x: Any) -> Expression[float]:
    """The angle of a point, in radians."""
    return composed("atan2({0}, {1})", y, x)


def log(v: Any, base: Any = None) -> Expression[float]:
    """The logarithm, natural without a base."""
    return composed("ln({0})", v) if base is None else composed("log({1}, {0})", v, base)


def negative(v: Any) -> Expression[Any]:
    """The negated number."""
    return composed("(- {0})", v)


def rand(seed: Any = None) -> Expression[float]:
    """A random number of at least 0 and below 1."""
    return Expression("rand()") if seed is None else composed("rand({0})", seed)


def rand_integer(bound: Any, seed: Any = None) -> Expression[int]:
    """A random integer of at least 0 and below a bound."""
    if seed is None:
        return composed("CAST(floor(rand() * {0}) AS INT)", bound)
    return composed("CAST(floor(rand({1}) * {0}) AS INT)", bound, seed)


# --- texts


def concat(first: Any, *others: Any) -> Expression[str]:
    """The concatenation of texts; null if any of them is."""
    return composed("concat({*})", "", first, *others)


def concat_ws(separator: Any, first: Any, *others: Any) -> Expression[str]:
    """The texts that are not null, with a separator between them."""
    return composed("concat_ws({*})", "", separator, first, *others)


def uuid() -> Expression[str]:
    """A new UUID for each row."""
    return Expression("uuid()")


# --- times


def current_date() -> Expression[Any]:
    """The date of the query, in the session's zone."""
    return Expression("current_date()")


def current_timestamp() -> Expression[Any]:
    """The time of the query."""
    return Expression("current_timestamp()")


def local_timestamp() -> Expression[Any]:
    """The time of the query without a zone, in the session's zone."""
    return Expression("localtimestamp()")


def to_date(date_str: Any, format: Any = None) -> Expression[Any]:
    """The date in a text, null if it is not a date."""
    if format is None:
        return composed("try_to_date({0})", date_str)
    return composed("try_to_date({0}, {1})", date_str, format)


def to_timestamp(timestamp_str: Any, format: Any = None) -> Expression[Any]:
    """The timestamp without a zone in a text, null if it is not a timestamp."""
    if format is None:
        return composed("try_cast({0} AS TIMESTAMP_NTZ)", timestamp_str)
    return composed("CAST(try_to_timestamp({0}, {1}) AS TIMESTAMP_NTZ)", timestamp_str, format)


def to_timestamp_ltz(*args: Any) -> Expression[Any]:
    """The instant of a number of seconds (precision 0) or milliseconds (3), or of a text."""
    if len(args) == 2 and args[1] in (0, 3):
        return composed(f"{'timestamp_millis' if args[1] else 'timestamp_seconds'}({{0}})", args[0])
    if not args or len(args) > 2:
        raise ArgumentTypeError(
            f"to_timestamp_ltz takes a number and its precision, 0 or 3, or a text and its format, "
            f"not {args!r}"
        )
    return composed("try_to_timestamp({*})", "", *args)


def date_format(timestamp: Any, format: Any) -> Expression[str]:
    """The text of a time in a format of Java's DateTimeFormatter."""
    return composed("date_format({0}, {1})", timestamp, format)


def from_unixtime(unixtime: Any, format: Any = None) -> Expression[str]:
    """The text of seconds since the epoch, in the session's zone."""
    return composed("from_unixtime({*})", "", *_given(unixtime, format))


def unix_timestamp(date_str: Any = None, format: Any = None) -> Expression[int]:
    """Seconds since the epoch: of the query, or of a text."""
    return composed("unix_timestamp({*})", "", *_given(date_str, format))


def convert_tz(date_str: Any, tz_from: Any, tz_to: Any) -> Expression[str]:
    """The text of a time, converted from one zone to another."""
    return composed(
        "date_format(convert_timezone({1}, {2}, CAST({0} AS TIMESTAMP_NTZ)), "
        "'yyyy-MM-dd HH:mm:ss')",
        date_str,
        tz_from,
        tz_to,
    )


def timestamp_diff(
    time_point_unit: TimePointUnit, time_point1: Any, time_point2: Any
) -> Expression[int]:
    """How many whole units lie between two times."""
    if not isinstance(time_point_unit, TimePointUnit):
        raise ArgumentTypeError(
            f"timestamp_diff takes a TimePointUnit such as TimePointUnit.DAY, not "
            f"{time_point_unit!r}"
        )
    return composed(
        f"timestampdiff({time_point_unit.name}, {{0}}, {{1}})", time_point1, time_point2
    )


def temporal_overlaps(
    left_time_point: Any, left_temporal: Any, right_time_point: Any, right_temporal: Any
) -> Expression[bool]:
    """Whether two spans of time, each a start and an interval, overlap."""
    return composed(
        "({0} <= {2} + {3} AND {2} <= {0} + {1})",
        left_time_point,
        left_temporal,
        right_time_point,
        right_temporal,
    )


def row_interval(rows: int) -> Expression[Any]:
    """An interval of a number of rows, for count windows and frames of over windows."""
    if not isinstance(rows, int) or isinstance(rows, bool) or rows < 0:
        raise ArgumentTypeError(f"row_interval takes a number of rows from 0, not {rows!r}")
    return Expression(str(rows), rows=rows)


# --- rows and collections


def row(head: Any, *tail: Any) -> Expression[Any]:
    """A row of values; its fields are called col1, col2 and so on."""
    return composed("struct({*})", "", head, *tail)


def array(head: Any, *tail: Any) -> Expression[Any]:
    """An array of values."""
    return composed("array({*})", "", head, *tail)


def map_(key: Any, value: Any, *tail: Any) -> Expression[Any]:
    """A map; the arguments are alternately keys and values."""
    return composed("map({*})", "", key, value, *tail)


def null_of(data_type: DataType) -> Expression[Any]:
    """Null of a type."""
    return Expression(f"CAST(NULL AS {data_type.kind.to_ddl()})")


# --- columns


def with_columns(head: Any, *tails: Any) -> Expression[Any]:
    """Several columns, by name."""
    return Expression(", ".join(in_backticks(name) for name in _column_names(head, *tails)))


def without_columns(head: Any, *tails: Any) -> Expression[Any]:
    """All columns except these, by name."""
    names = ", ".join(in_backticks(name) for name in _column_names(head, *tails))
    return Expression(f"* EXCEPT ({names})")


def _column_names(*given: Any) -> list[str]:
    names = []
    for column in given:
        name = column.column if isinstance(column, Expression) else column
        if not isinstance(name, str):
            raise ArgumentTypeError(f"columns are named by col('a') or 'a', not {column!r}")
        names.append(name)
    return names


def current_database() -> Expression[str]:
    """The database of Spark's session."""
    return Expression("current_database()")


def json_string(value: Any) -> Expression[str]:
    """The JSON of a row, an array or a map."""
    return composed("to_json({0})", value)


def _joined(word: str, *predicates: Any) -> Expression[bool]:
    places = word.join(f"{{{index}}}" for index in range(len(predicates)))
    return composed(f"({places})", *predicates)


def _given(*values: Any) -> list[Any]:
    return [value for value in values if value is not None]
