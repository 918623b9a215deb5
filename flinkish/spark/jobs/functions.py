"""Functions of programs in Spark's SQL, called with whole columns as Arrow data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from flinkish._core.columns.records import RecordReader
from flinkish.common.typeinfo import RowTypeInfo, TypeInformation
from flinkish.spark.encoders import RowEncoder
from flinkish.spark.internals import arrow_schema
from flinkish.spark.pickling import check_picklable
from flinkish.spark.schemas import session_time_zone
from flinkish.spark.type_mapping import spark_type

__all__ = ["SqlFunction", "current_task", "register"]


@dataclass(frozen=True)
class SqlFunction:
    """A function for SQL.

    ``calls`` maps a list of rows' arguments, as tuples, to the list of their values; a function of
    groups maps the rows of a group to one value.  With ``series`` it takes and returns Series.
    """

    title: str
    calls: Callable[..., Any]
    kind: TypeInformation
    by_group: bool
    series: bool
    deterministic: bool


def register(spark: SparkSession, name: str, function: SqlFunction) -> None:
    """Register the function in a session's SQL under a name, in place of any that had it.

    NotPicklableError for a function that cannot be sent to workers.
    """
    check_picklable(function.calls, function.title)
    returned = spark_type(function.kind)
    if function.series:
        made: Any = F.pandas_udf(_of_series(function), returned)  # type: ignore[call-overload]
    else:
        columns = _Columns(function, arrow_schema(_one_column(returned)), session_time_zone(spark))
        if function.by_group:
            made = F.arrow_udf(_grouped(columns), returned)  # type: ignore[call-overload]
        else:
            made = F.arrow_udf(_scalar(columns), returned)  # type: ignore[call-overload]
    if not function.deterministic:
        made = made.asNondeterministic()
    spark.udf.register(name, made)


def current_task() -> tuple[int, int]:
    """The number of this task, and how often it failed before; zeros outside of tasks."""
    context = TaskContext.get()
    return (0, 0) if context is None else (context.partitionId(), context.attemptNumber())


def _one_column(kind: Any) -> Any:
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField("value", kind)])


class _Columns:
    """Columns of arguments as rows, and values as a column."""

    def __init__(self, function: SqlFunction, schema: pa.Schema, time_zone: tzinfo) -> None:
        self._calls = function.calls
        self._settings = (
            f"the result of {function.title}",
            schema,
            RowTypeInfo([function.kind], ["value"]),
            time_zone,
        )
        self._schema = schema
        self._encoder: RowEncoder | None = None

    def column(self, arguments: Sequence[pa.Array]) -> pa.Array:
        """The values for columns of arguments; SchemaMismatchError for one of another type."""
        names = map(str, range(len(arguments)))
        return self._encoded(self._calls(RecordReader(list(arguments), names).tuples()))

    def _encoded(self, values: list[Any]) -> pa.Array:
        if not values:
            return pa.array([], self._schema.field(0).type)
        if self._encoder is None:
            self._encoder = RowEncoder(*self._settings)
        return self._encoder.encode([(value,) for value in values]).column(0)


def _scalar(columns: _Columns) -> Callable[..., pa.Array]:
    # Spark reads from the type hints which arguments a function takes.
    def call(*arguments: pa.Array) -> pa.Array:
        return columns.column(arguments)

    return call


def _grouped(columns: _Columns) -> Callable[..., Any]:
    def call(*arguments: pa.Array) -> Any:
        return columns.column(arguments)[0]

    return call


def _of_series(function: SqlFunction) -> Callable[..., Any]:
    from pandas import Series  # type: ignore[import-untyped]

    calls = function.calls

    def call(*arguments: Any) -> Any:
        return calls(*arguments)

    call.__annotations__ = {"arguments": Series, "return": Any if function.by_group else Series}
    return call
