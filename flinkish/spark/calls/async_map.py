"""Asynchronous calls for the rows of a DataFrame: what users call."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args, overload

from pyspark.sql import DataFrame, Observation

from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.output_tag import OutputTag
from flinkish.functions import AsyncRetryStrategy
from flinkish.spark.calls.answers import OnError, keep_failure
from flinkish.spark.calls.build import call_rows, name_of, with_ledger
from flinkish.spark.calls.call_layers import limit_layers
from flinkish.spark.calls.context import KeyOf, key_maker
from flinkish.spark.calls.maker import Batches, MakeOperator
from flinkish.spark.calls.progress import CallProgress, report_place
from flinkish.spark.control_plane import ControlPlane
from flinkish.spark.limits import Concurrency, Rate
from flinkish.spark.results import function_version
from flinkish.spark.schemas import column_name
from flinkish.spark.tasks.run_task import Schema, TaskResults

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["async_map"]


class CallOptions(TypedDict, total=False):
    """The options of `async_map` that do not decide what it gives back; described there."""

    mode: Literal["unordered", "ordered"]
    capacity: int
    timeout: DurationLike | None
    retry: AsyncRetryStrategy | None
    rate: Rate | str | None
    concurrency: Concurrency | int | None
    batch_size: int | None
    batch_timeout: DurationLike | None
    adaptive_batches: bool
    idempotency_key: str | Sequence[str] | None
    warmup: DurationLike | None
    ledger: str | os.PathLike[str] | None
    ledger_settings: Mapping[str, Any] | None
    ledger_version: str | None
    name: str | None
    observation: Observation | None
    progress: CallProgress | None
    job_parameters: Mapping[str, str] | None
    control_plane: ControlPlane | None


@overload
def async_map(
    frame: DataFrame,
    fn: Any,
    schema: Schema,
    *,
    on_error: OnError = "fail",
    **options: Unpack[CallOptions],
) -> DataFrame: ...


@overload
def async_map(
    frame: DataFrame,
    fn: Any,
    schema: Schema,
    *,
    on_error: OutputTag,
    **options: Unpack[CallOptions],
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
    rate: Rate | str | None = None,
    concurrency: Concurrency | int | None = None,
    on_error: OnError | OutputTag = "fail",
    batch_size: int | None = None,
    batch_timeout: DurationLike | None = None,
    adaptive_batches: bool = False,
    idempotency_key: str | Sequence[str] | None = None,
    warmup: DurationLike | None = None,
    ledger: str | os.PathLike[str] | None = None,
    ledger_settings: Mapping[str, Any] | None = None,
    ledger_version: str | None = None,
    name: str | None = None,
    observation: Observation | None = None,
    progress: CallProgress | None = None,
    job_parameters: Mapping[str, str] | None = None,
    control_plane: ControlPlane | None = None,
) -> DataFrame | TaskResults:
    """Call ``fn`` for each row of a DataFrame, batch or streaming, with many calls under way.

    Args:
        frame: the rows.
        fn: an ``async def`` of a row; a plain function of one, which runs on a pool of threads; an
            AsyncFunction, whose ``open`` and ``close`` own what connections it needs; or an
            AsyncCallbackFunction.  It gets a `flinkish.common.Row` and returns a list of tuples,
            dicts or Rows, or of plain values where there is one column; an empty list for nothing.
        schema: columns of what it returns.
        mode: "unordered" gives results as they come, "ordered" in the order of the rows of a
            partition.
        capacity: the most calls under way at once in a task; half as many rows more are at hand, to
            be next.
        timeout: for a row with all its attempts, from when the first begins; None for none.
        retry: which errors and results are worth another attempt, and when; needs a timeout.
        rate: how many calls, attempts counted one by one, are started a time: ``Rate("500/s")`` or
            its text.  It holds for all partitions together, unless it says ``scope="worker"``.
        concurrency: how many calls are under way at once, of all partitions; likewise.
        on_error: what becomes of a row that failed for good, because the call raised or timed
            out, or its result does not fit ``schema``:

            - "fail" fails the Spark task;
            - "drop" leaves it out, and counts it;
            - "column" adds a column ``error struct<type: string, message: string, attempts: int>``,
              null where there is none.  A failed row keeps the columns of ``schema`` that the input
              has under the same name and type, and is null in the others;
            - an OutputTag sends it to a side output, and the result is a TaskResults.  A tag
              without a type gives the columns of the input and ``error``; one with a type says
              which of these.
        batch_size: makes one call of so many rows: ``fn`` is then an AsyncBatchFunction, or an
            ``async def`` of a list of rows, and returns the results of all of them in any order.
            ``capacity`` counts such calls, and one that fails, fails for all its rows.
        batch_timeout: how long the first row of a call waits for others; None until there are
            enough, or no more.
        adaptive_batches: lets the size follow what the service can take; ``batch_size`` is the
            most.
        idempotency_key: columns that tell rows apart.  Inside of ``fn``, ``idempotency_key()`` then
            names the call, by these columns and ``name``: always the same, for services that answer
            a call they know once.
        warmup: how long each worker takes to come from one row at once to ``capacity``.
        ledger: a directory, on any file system that pyarrow or fsspec know, in which results are
            written down as they come.  A job that is started again calls only for rows whose
            results are not there, and counts the others as saved.  Results of another ``fn``,
            ``name``, ``schema``, input schema or ``ledger_settings`` do not count.
        ledger_settings: what else results depend on, such as the version of a model.
        ledger_version: a text of your own that says which ``fn`` it is: results count if the text
            is the same, whatever became of the code.  Without one ``fn`` is known by a hash of its
            code, of what that names and closes over, of partial arguments and the state of objects,
            and of ``job_parameters``; a thing without a value to compare, such as a client, is
            refused.
        name: of the operator, for messages and counters; by default that of the function.  In one
            stream every operator needs a name of its own.
        observation: gets the counters of a batch DataFrame: rows, results, failed, dropped,
            timed_out, retried, saved.  Those of a stream are in the progress of its query, as the
            observed metrics ``flinkish.<name>``.
        progress: a `CallProgress`, which shows what the calls have come to while they are made.
        job_parameters: for ``runtime_context.get_job_parameter``.
        control_plane: a `ControlPlane`, which then knows who runs which partition and what the
            operator has counted so far, and can cancel it.

    Calls are at least once: a Spark task that is tried again makes its calls again.  A task holds
    1.5 times ``capacity`` rows, a batch of results, and what Spark gives it at a time:
    ``spark.sql.execution.arrow.maxRecordsPerBatch`` rows, 10,000 by default.

    Raises IllegalArgumentError and ArgumentTypeError for settings that cannot be, and
    SerializationError that names what cannot be sent to the workers, or compared for a ledger.
    """
    named, name = bool(name), name or name_of(fn)
    if not isinstance(on_error, OutputTag) and on_error not in get_args(OnError):
        raise IllegalArgumentError(
            f"on_error must be 'fail', 'drop', 'column' or an OutputTag, not {on_error!r}"
        )
    if observation is not None and frame.isStreaming:
        raise ArgumentTypeError(
            "an Observation is for batch DataFrames; what a stream counts is in the progress of "
            f"its query, as the observed metrics 'flinkish.{name}'"
        )
    batches = _batches(fn, mode, batch_size, batch_timeout, adaptive_batches)
    if batches is not None and not (idempotency_key is None and ledger is None):
        raise IllegalArgumentError(
            "idempotency_key and ledger are for calls of single rows, and with batch_size a call "
            "is of many: leave one or the other out"
        )
    make = MakeOperator(
        fn=fn,
        mode=mode,
        capacity=capacity,
        timeout=timeout,
        retry=retry,
        on_failure=None if on_error == "fail" else keep_failure,
        batches=batches,
        key_of=_key_of(idempotency_key, frame, name),
        warmup=0 if warmup is None else to_millis(warmup, "warmup", minimum=0),
        layers=limit_layers(frame, rate, concurrency),
    )
    if ledger is not None:
        if ledger_version is None:
            ledger_version = function_version(fn, dict(job_parameters or {}))
        elif not isinstance(ledger_version, str) or not ledger_version:
            raise ArgumentTypeError(
                "ledger_version must be a text that says which function it is, such as '1', not "
                f"{ledger_version!r}"
            )
        make = with_ledger(make, frame, name, schema, ledger, ledger_settings or {}, ledger_version)
    answers = call_rows(
        frame,
        make,
        name,
        schema,
        on_error=on_error,
        observation=observation,
        job_parameters=job_parameters,
        control_plane=control_plane,
        named=named,
        reports=report_place(progress, frame),
    )
    return answers if isinstance(on_error, OutputTag) else answers.to_df()


def _batches(
    fn: Any, mode: str, size: int | None, timeout: DurationLike | None, adaptive: bool
) -> Batches | None:
    if size is None:
        if timeout is not None or adaptive or callable(getattr(fn, "async_invoke_batch", None)):
            raise IllegalArgumentError("calls of many rows at once need a batch_size")
        return None
    if mode != "unordered":
        raise IllegalArgumentError(
            f"mode={mode!r} is for calls of single rows: results of a batch have no order"
        )
    return Batches(size, timeout, adaptive)


def _key_of(columns: str | Sequence[str] | None, frame: DataFrame, name: str) -> KeyOf | None:
    """The maker of idempotency keys; UnknownColumnError."""
    if columns is None:
        return None
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if not names:
        raise IllegalArgumentError("idempotency_key needs at least one column")
    asked = "idempotency_key names a column"
    return key_maker(name, tuple(column_name(frame, column, asked) for column in names))
