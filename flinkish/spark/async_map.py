"""Asynchronous calls for the rows of a DataFrame: what users call."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, overload

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import (
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError, UnknownColumnError
from flinkish.common.output_tag import OutputTag
from flinkish.common.typeinfo import PickledBytesTypeInfo, TypeInformation
from flinkish.functions import AsyncRetryStrategy
from flinkish.operators.async_invokers import function_name
from flinkish.spark.async_answers import COUNTERS, COUNTS_COLUMN, ERROR, OnError, keep_failure
from flinkish.spark.async_context import KeyOf, key_maker
from flinkish.spark.async_operator import AnswerOperator, WarmUp
from flinkish.spark.async_plan import AsyncPlan
from flinkish.spark.pickling import check_picklable
from flinkish.spark.schemas import arrow_schema, output_schema
from flinkish.spark.task_plan import SideOutput
from flinkish.spark.tasks import Schema, TaskResults

__all__ = ["async_map"]

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
_COUNTS = StructType([StructField(name, LongType()) for name in COUNTERS])


@overload
def async_map(
    frame: DataFrame,
    fn: Any,
    schema: Schema,
    *,
    mode: Literal["unordered", "ordered"] = "unordered",
    capacity: int = 100,
    timeout: DurationLike | None = None,
    retry: AsyncRetryStrategy | None = None,
    on_error: OnError = "fail",
    idempotency_key: str | Sequence[str] | None = None,
    warmup: DurationLike | None = None,
    name: str | None = None,
    observation: Observation | None = None,
    job_parameters: Mapping[str, str] | None = None,
) -> DataFrame: ...


@overload
def async_map(
    frame: DataFrame,
    fn: Any,
    schema: Schema,
    *,
    mode: Literal["unordered", "ordered"] = "unordered",
    capacity: int = 100,
    timeout: DurationLike | None = None,
    retry: AsyncRetryStrategy | None = None,
    on_error: OutputTag,
    idempotency_key: str | Sequence[str] | None = None,
    warmup: DurationLike | None = None,
    name: str | None = None,
    observation: Observation | None = None,
    job_parameters: Mapping[str, str] | None = None,
) -> TaskResults: ...


def async_map(
    frame: DataFrame,
    fn: Any,
    schema: Schema,
    *,
    mode: Literal["unordered", "ordered"] = "unordered",
    capacity: int = 100,
    timeout: DurationLike | None = None,
    retry: AsyncRetryStrategy | None = None,
    on_error: OnError | OutputTag = "fail",
    idempotency_key: str | Sequence[str] | None = None,
    warmup: DurationLike | None = None,
    name: str | None = None,
    observation: Observation | None = None,
    job_parameters: Mapping[str, str] | None = None,
) -> DataFrame | TaskResults:
    """Call ``fn`` for each row of a DataFrame, batch or streaming, with many calls under way.

    Parameters
    ----------
    fn: an ``async def`` of a row; a plain function of one, which runs on a pool of threads; an
        AsyncFunction, whose ``open`` and ``close`` own what connections it needs; or an
        AsyncCallbackFunction.  It gets a `flinkish.common.Row` and returns a list of tuples, dicts
        or Rows, or of plain values where there is one column; an empty list for nothing.
    schema: columns of what it returns.
    mode: "unordered" gives results as they come, "ordered" in the order of the rows of a partition.
    capacity: rows under way at once in a task, and with that the most calls.
    timeout: for a row with all its attempts; None for none.
    retry: which errors and results are worth another attempt, and when; needs a timeout.
    on_error: what becomes of a row that failed for good, be it that the call raised or timed out,
        or that its result does not fit ``schema``:

        - "fail" fails the Spark task;
        - "drop" leaves it out, and counts it;
        - "column" adds a column ``error struct<type: string, message: string, attempts: int>``,
          null where there is none.  A failed row keeps the columns of ``schema`` that the input
          has under the same name and type, and is null in the others;
        - an OutputTag sends it to a side output, and the result is a TaskResults.  A tag without a
          type gives the columns of the input and ``error``; one with a type says which of these.
    idempotency_key: columns that tell rows apart.  Inside of ``fn``, ``idempotency_key()`` then
        names the call, by these columns and ``name``: always the same, for services that answer a
        call they know once.
    warmup: how long each worker takes to come from one row at once to ``capacity``.
    name: of the operator, for messages and counters; by default that of the function.
    observation: gets the counters of a batch DataFrame: rows, results, failed, dropped, timed_out,
        retried.  Those of a stream are in the progress of its query, as the observed metrics
        ``flinkish.<name>``.
    job_parameters: for ``runtime_context.get_job_parameter``.

    Calls are at least once: a Spark task that is tried again makes its calls again.  A task holds
    ``capacity`` rows, a batch of results, and what Spark gives it at a time:
    ``spark.sql.execution.arrow.maxRecordsPerBatch`` rows, 10,000 by default.

    Raises IllegalArgumentError and ArgumentTypeError for settings that cannot be, and
    SerializationError that names what cannot be sent to the workers.
    """
    name = name or _name_of(fn)
    if not isinstance(on_error, OutputTag) and on_error not in get_args(OnError):
        raise IllegalArgumentError(
            f"on_error must be 'fail', 'drop', 'column' or an OutputTag, not {on_error!r}"
        )
    if observation is not None and frame.isStreaming:
        raise ArgumentTypeError(
            "an Observation is for batch DataFrames; what a stream counts is in the progress of "
            f"its query, as the observed metrics 'flinkish.{name}'"
        )
    make = _MakeOperator(
        fn=fn,
        mode=mode,
        capacity=capacity,
        timeout=timeout,
        retry=retry,
        on_failure=None if on_error == "fail" else keep_failure,
        key_of=_key_of(idempotency_key, frame, name),
        warmup=0 if warmup is None else to_millis(warmup, "warmup", minimum=0),
        definition=secrets.token_hex(16),
    )
    make()  # refuses here what workers would
    check_picklable(make, f"the function {name!r}")
    results = output_schema(schema, f"the output schema of {name!r}")
    output, kept = _with_errors(results, frame, on_error, name)
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
        time_zone=frame.sparkSession.conf.get("spark.sql.session.timeZone") or "UTC",
        job_parameters=dict(job_parameters or {}),
        on_error=on_error,
        kept=kept,
    )
    counts = [StructField(COUNTS_COLUMN, _COUNTS)]
    answers = TaskResults.of(frame, plan, output, sides, counts)
    sums = [F.sum(F.col(COUNTS_COLUMN)[counter]).alias(counter) for counter in COUNTERS]
    if observation is not None or frame.isStreaming:
        answers.observe(observation or f"flinkish.{name}", *sums)
    return answers if isinstance(on_error, OutputTag) else answers.to_df()


@dataclass(frozen=True)
class _MakeOperator:
    """Makes the operator, in the worker."""

    fn: Any
    mode: str
    capacity: int
    timeout: DurationLike | None
    retry: AsyncRetryStrategy | None
    on_failure: Callable[[Any, BaseException, int], Any] | None
    key_of: KeyOf | None
    warmup: int
    definition: str

    def __call__(self) -> AnswerOperator:
        return AnswerOperator(
            self.fn,
            mode=self.mode,
            capacity=self.capacity,
            timeout=self.timeout,
            retry=self.retry,
            on_failure=self.on_failure,
            key_of=self.key_of,
            warm_up=WarmUp(self.definition, self.warmup) if self.warmup else None,
        )


def _key_of(columns: str | Sequence[str] | None, frame: DataFrame, name: str) -> KeyOf | None:
    """What makes idempotency keys; UnknownColumnError."""
    if columns is None:
        return None
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if not names:
        raise IllegalArgumentError("idempotency_key needs at least one column")
    for column in names:
        if column not in frame.columns:
            raise UnknownColumnError(
                f"idempotency_key names a column {column!r}; the columns are "
                f"{', '.join(frame.columns)}",
                column=column,
                available=frame.columns,
            )
    return key_maker(name, names)


def _name_of(fn: Any) -> str:
    named = type(fn).__name__ if hasattr(fn, "async_invoke") else function_name(fn)
    return named.rsplit(".", 1)[-1].strip("<>")


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
