"""Asynchronous calls for the rows of a DataFrame: how a call of users becomes a plan."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from flinkish.common.errors import (
    IllegalArgumentError,
    UnknownColumnError,
    UnsupportedOperationError,
)
from flinkish.common.output_tag import OutputTag
from flinkish.common.typeinfo import PickledBytesTypeInfo, TypeInformation
from flinkish.operators.async_invokers import function_name
from flinkish.spark.calls.answers import COUNTERS, COUNTS_COLUMN, ERROR, OnError
from flinkish.spark.calls.call_layers import ledger_layer
from flinkish.spark.calls.maker import MakeOperator
from flinkish.spark.calls.plan import AsyncPlan
from flinkish.spark.calls.reports import ReportPlace
from flinkish.spark.calls.stamps import Stamped
from flinkish.spark.control_plane import ControlPlane
from flinkish.spark.control_plane.attached import handle_of
from flinkish.spark.function_checks import check_function
from flinkish.spark.internals import arrow_schema
from flinkish.spark.keyed.marks import passing_marks
from flinkish.spark.keyed.observed import observed_name, sum_metrics
from flinkish.spark.keyed.result_rows import METRICS
from flinkish.spark.passes import JobScope
from flinkish.spark.real_time_settings import is_real_time
from flinkish.spark.schemas import output_schema, session_time_zone
from flinkish.spark.tasks.plan import SideOutput
from flinkish.spark.tasks.run_task import Schema, TaskResults

__all__ = ["call_rows", "name_of", "with_ledger"]

_ERROR_COLUMN = StructField(
    ERROR,
    StructType(
        [
            StructField("type", StringType()),
            StructField("message", StringType()),
            StructField("attempts", IntegerType()),
        ]
    ),
)
_COUNTS = StructType(
    [*(StructField(name, LongType()) for name in COUNTERS), StructField(METRICS, StringType())]
)


def with_ledger(
    make: MakeOperator,
    frame: DataFrame,
    name: str,
    schema: Schema,
    path: str | os.PathLike[str],
    settings: Mapping[str, Any],
    version: str,
) -> MakeOperator:
    """The same, its results kept in a ledger, which is outside of limits: to look costs no call."""
    layer = ledger_layer(
        path,
        name,
        version,
        arrow_schema(output_schema(schema, f"the output schema of {name!r}")),
        {"input": frame.schema.simpleString(), "settings": dict(settings)},
        make.retry,
        schema if isinstance(schema, TypeInformation) else None,
        session_time_zone(frame.sparkSession),
    )
    return replace(make, layers=(layer, *make.layers))


def name_of(fn: Any) -> str:
    """The name of a function's operator."""
    is_object = hasattr(fn, "async_invoke") or hasattr(fn, "async_invoke_batch")
    named = type(fn).__name__ if is_object else function_name(fn)
    return named.rsplit(".", 1)[-1].strip("<>")


def call_rows(
    frame: DataFrame,
    make: MakeOperator,
    name: str,
    schema: Schema | None,
    *,
    on_error: OnError | OutputTag = "fail",
    observation: Observation | None = None,
    job_parameters: Mapping[str, str] | None = None,
    control_plane: ControlPlane | None = None,
    rows: tuple[str, ...] | None = None,
    input_type: TypeInformation | None = None,
    stamped: Stamped | None = None,
    marked: bool = False,
    named: bool = False,
    reports: ReportPlace | None = None,
    job: JobScope | None = None,
) -> TaskResults:
    """Have the operator run on a DataFrame.

    It sees the columns ``rows`` as elements of ``input_type``; with ``stamped`` event time comes
    after the results' columns, and ``marked`` rows have marks of the watermark among them, which
    come after all results.
    ``named``: the user gave the name.  Its tasks report to ``reports``.  ``job`` is what the
    operators of a program share.
    """
    if (marked or stamped is not None) and frame.isStreaming and is_real_time(frame.sparkSession):
        raise UnsupportedOperationError(
            f"calls of {name!r} in a stream with event time: in real-time mode the watermark would "
            "overtake those that take long; give DataFrames to async_map, and results event time "
            "by assign_timestamps_and_watermarks"
        )
    make()  # refuses here what workers would
    check_function(make, f"the function {name!r}", restarts=frame.isStreaming)
    results = output_schema(schema, f"the output schema of {name!r}")
    output, kept = _with_errors(results, frame, on_error, name)
    if marked:  # all columns of a mark but its time are null
        output = StructType([StructField(one.name, one.dataType) for one in output])
    if stamped is not None:
        output = StructType([*output.fields, *stamped.fields])
    sides = []
    if isinstance(on_error, OutputTag):
        sides = [_error_output(on_error, frame)]
        kept = tuple(column for column in sides[0][1].names if column != ERROR)
    plan = AsyncPlan(
        name=name,
        make_operator=make,
        output=arrow_schema(output),
        output_type=schema if isinstance(schema, TypeInformation) else None,
        sides=tuple(side for side, _ in sides),
        time_zone=session_time_zone(frame.sparkSession),
        job_parameters=dict(job_parameters or (job.parameters if job is not None else {})),
        count=None if job is None else job.count,
        control_plane=handle_of(control_plane),
        rows=rows,
        input_type=input_type,
        stamps=None if stamped is None else stamped.stamps,
        on_error=on_error,
        reports=reports,
        kept=kept,
        stamped=stamped,
    )
    others = [StructField(COUNTS_COLUMN, _COUNTS)]
    around = partial(passing_marks, columns=plan.columns) if marked else None
    answers = TaskResults.of(frame, plan, output, sides, others, around)
    if observation is not None or frame.isStreaming:
        counts = F.col(COUNTS_COLUMN)
        sums = [F.sum(counts[counter]).alias(counter) for counter in COUNTERS]
        sums.append(sum_metrics(counts[METRICS]).alias(METRICS))
        answers.observe(observation or observed_name(name, given=named), *sums)
    return answers


def _with_errors(
    results: StructType, frame: DataFrame, on_error: OnError | OutputTag, name: str
) -> tuple[StructType, tuple[str, ...]]:
    """The columns of the main output, and those of them that a failed row takes from its input."""
    if on_error != "column":
        return results, ()
    if ERROR in results.names:
        raise IllegalArgumentError(
            f"on_error='column' adds a column {ERROR!r}, and the schema of {name!r} has one: give "
            "that another name"
        )
    given = {field.name: field.dataType for field in frame.schema.fields}
    kept = tuple(field.name for field in results if given.get(field.name) == field.dataType)
    nullable = [StructField(field.name, field.dataType) for field in results]
    return StructType([*nullable, _ERROR_COLUMN]), kept


def _error_output(tag: OutputTag, frame: DataFrame) -> tuple[SideOutput, StructType]:
    """The side output of failed rows: columns of the input, and the error."""
    fields = {field.name: field for field in frame.schema.fields}
    if not isinstance(tag.type_info, PickledBytesTypeInfo):
        schema = output_schema(tag.type_info, f"the type of {tag!r}")
        for column in schema.names:
            if column != ERROR and column not in fields:
                available = [*fields, ERROR]
                raise UnknownColumnError(
                    f"{tag!r} names a column {column!r}, and a failed row has the columns "
                    f"{', '.join(available)}: those of the input, and the error",
                    column=column,
                    available=available,
                )
    elif ERROR in fields:
        raise IllegalArgumentError(
            f"failed rows get a column {ERROR!r} besides those of the input, which has one: "
            f"rename it, or say which columns you want: OutputTag({tag.tag_id!r}, "
            "'id bigint, error struct<type: string, message: string, attempts: int>')"
        )
    else:
        schema = StructType([*fields.values(), _ERROR_COLUMN])
    return SideOutput(tag, arrow_schema(schema)), schema
