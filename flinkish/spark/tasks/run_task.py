"""Operators on DataFrames without state that outlives a task: what users call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Any, overload

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.types import StructField, StructType

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.names import did_you_mean
from flinkish.common.output_tag import OutputTag
from flinkish.common.typeinfo import TypeInformation
from flinkish.functions import KeyedProcessFunction, ProcessFunction
from flinkish.operators import KeyedProcessOperator, ProcessOperator, StreamOperator
from flinkish.spark.control_plane import ControlPlane
from flinkish.spark.control_plane.attached import handle_of
from flinkish.spark.internals import arrow_schema
from flinkish.spark.map_in_arrow import map_in_arrow
from flinkish.spark.mapped_frame import MapBatches, run_to_end
from flinkish.spark.pickling import check_picklable
from flinkish.spark.real_time.arrivals import unpadded
from flinkish.spark.real_time.prompt import as_they_come
from flinkish.spark.real_time_settings import (
    NO_FOREACH_BATCH,
    buffer_timeout_ms,
    is_real_time,
)
from flinkish.spark.schemas import (
    key_columns,
    key_type_name,
    names_of_outputs,
    output_schema,
    session_time_zone,
)
from flinkish.spark.tasks.plan import MAIN_COLUMN, SideOutput, TaskPlan, side_column
from flinkish.spark.tasks.run import task_function

__all__ = ["TaskResults", "run_task"]

Schema = StructType | TypeInformation | str
OperatorSource = ProcessFunction | KeyedProcessFunction | Callable[[], StreamOperator]


@overload
def run_task(
    frame: DataFrame,
    operator: OperatorSource,
    schema: Schema,
    *,
    name: str | None = None,
    key_by: str | Sequence[str] | None = None,
    side_outputs: None = None,
    job_parameters: Mapping[str, str] | None = None,
    control_plane: ControlPlane | None = None,
) -> DataFrame: ...


@overload
def run_task(
    frame: DataFrame,
    operator: OperatorSource,
    schema: Schema,
    *,
    name: str | None = None,
    key_by: str | Sequence[str] | None = None,
    side_outputs: Sequence[OutputTag],
    job_parameters: Mapping[str, str] | None = None,
    control_plane: ControlPlane | None = None,
) -> TaskResults: ...


def run_task(
    frame: DataFrame,
    operator: OperatorSource,
    schema: Schema,
    *,
    name: str | None = None,
    key_by: str | Sequence[str] | None = None,
    side_outputs: Sequence[OutputTag] | None = None,
    job_parameters: Mapping[str, str] | None = None,
    control_plane: ControlPlane | None = None,
) -> DataFrame | TaskResults:
    """Run an operator in a task of its own on each partition of a DataFrame, batch or streaming.

    The task's mailbox serves processing-time timers and mails while the input is idle.  It lives as
    long as the Spark task, which on a stream is one partition of one micro-batch; at its end the
    operator is finished as at the end of a bounded input in Flink: event time ends, and
    processing-time timers that are left never fire.

    Args:
        frame: the rows.
        operator: a ProcessFunction, a KeyedProcessFunction, or a function without arguments that
            makes a StreamOperator.  It is sent to the workers; each task has its own.
        schema: columns of the main output; what is emitted are tuples, dicts or Rows, or plain
            values of one column.
        name: of the operator, for messages; by default that of its class.
        key_by: columns of a batch DataFrame that are the key.  Its rows are shuffled, so that those
            of a key are in one partition, in no particular order.  A task holds the state of all
            keys of its partition in memory.
        side_outputs: tags that the operator emits to; the result is then a TaskResults.
        job_parameters: for ``runtime_context.get_job_parameter``.
        control_plane: a `ControlPlane`, which then knows who runs which partition and what the
            operator has counted so far, and can cancel it.

    Rows reach the operator as `flinkish.common.Row`, without event time: ``mapInArrow`` sees no
    watermark.

    Raises UnsupportedOperationError for ``key_by`` on a stream, where state would be gone with each
    micro-batch, and for keyed functions without it; SerializationError that names what cannot be
    sent; UnknownColumnError.  What an operator raises in a worker fails the Spark task, with notes
    about operator, partition and row.
    """
    make, kind = _maker(operator)
    name = name or kind
    keys = () if key_by is None else (key_by,) if isinstance(key_by, str) else tuple(key_by)
    if key_by is not None:
        key_columns(frame, keys)
        if frame.isStreaming:
            raise UnsupportedOperationError(
                "the keyed state of a task ends with the task, which on a stream is one "
                "micro-batch: use DataStream(df).key_by(...).process(...), whose state Spark keeps"
            )
    elif isinstance(operator, KeyedProcessFunction):
        raise UnsupportedOperationError(
            f"{kind} is a KeyedProcessFunction and run_task was given no keys: name their columns "
            "in key_by, or use DataStream(df).key_by(...).process(...)"
        )
    check_picklable(operator, f"the operator {kind}")
    output = output_schema(schema, f"the output schema of task {name!r}")
    sides = [_side_output(tag) for tag in side_outputs or ()]
    plan = TaskPlan(
        name=name,
        make_operator=make,
        output=arrow_schema(output),
        output_type=schema if isinstance(schema, TypeInformation) else None,
        sides=tuple(side for side, _ in sides),
        time_zone=session_time_zone(frame.sparkSession),
        key_columns=keys,
        key_type=key_type_name(frame, keys[0]) if len(keys) == 1 else None,
        job_parameters=dict(job_parameters or {}),
        control_plane=handle_of(control_plane),
    )
    rows = frame.repartition(*keys) if keys else frame
    if side_outputs is None:
        return _made(rows, plan, output)
    return TaskResults.of(rows, plan, output, sides)


def _made(
    rows: DataFrame,
    plan: TaskPlan,
    columns: StructType,
    around: Callable[[MapBatches], MapBatches] | None = None,
) -> DataFrame:
    """The rows that the task of a plan makes of rows, in real-time mode as they come."""
    real_time = rows.isStreaming and is_real_time(rows.sparkSession)
    if real_time:
        plan = replace(plan, age_ms=buffer_timeout_ms(rows.sparkSession))
    function = task_function(plan)
    if around is not None:
        function = around(function)
    if real_time:
        rows, function = as_they_come(rows), unpadded(function)
    return map_in_arrow(rows, function, columns)


def _maker(operator: OperatorSource) -> tuple[Callable[[], StreamOperator], str]:
    """The factory of the operator, and its name."""
    if isinstance(operator, KeyedProcessFunction):
        keyed = operator
        return lambda: KeyedProcessOperator(keyed), type(operator).__name__
    if isinstance(operator, ProcessFunction):
        plain = operator
        return lambda: ProcessOperator(plain), type(operator).__name__
    if isinstance(operator, StreamOperator) or not callable(operator):
        raise ArgumentTypeError(
            "run_task takes a ProcessFunction, a KeyedProcessFunction or a function that makes a "
            f"StreamOperator, such as lambda: ProcessOperator(function); not {operator!r}"
        )
    return operator, getattr(operator, "__name__", type(operator).__name__).strip("<>")


def _side_output(tag: Any) -> tuple[SideOutput, StructType]:
    if not isinstance(tag, OutputTag):
        raise ArgumentTypeError(f"a side output is named by its OutputTag, not by {tag!r}")
    schema = output_schema(tag.type_info, f"the type of {tag!r}")
    return SideOutput(tag, arrow_schema(schema)), schema


class TaskResults:
    """The outputs of a task with side outputs.

    Spark runs every query, and every action on a batch DataFrame, on its own: two of them run the
    operator twice.  For several outputs of one run there is ``all_outputs``, ``foreach_batch`` on a
    stream, and ``persist`` on a batch.
    """

    def __init__(
        self, frame: DataFrame, output: StructType, sides: Sequence[tuple[SideOutput, StructType]]
    ) -> None:
        self._frame = frame
        self._columns = {MAIN_COLUMN: output}
        self._tags: dict[OutputTag, str] = {}
        for index, (side, schema) in enumerate(sides):
            self._tags[side.tag] = side_column(index)
            self._columns[side_column(index)] = schema

    @classmethod
    def of(
        cls,
        rows: DataFrame,
        plan: TaskPlan,
        output: StructType,
        sides: Sequence[tuple[SideOutput, StructType]],
        others: Sequence[StructField] = (),
        around: Callable[[MapBatches], MapBatches] | None = None,
    ) -> TaskResults:
        """The results of a plan on these rows; ``others`` are columns that are no outputs.

        ``around`` makes the function that runs of that of the plan.
        """
        results = cls(rows, output, sides)
        columns = [StructField(name, kind) for name, kind in results._columns.items()]
        columns += others
        results._frame = _made(rows, plan, StructType(columns), around)
        return results

    def observe(self, observation: Observation | str, *sums: Column) -> None:
        """Have Spark sum up what the task says of itself."""
        self._frame = self._frame.observe(observation, *sums)

    def to_df(self) -> DataFrame:
        """The main output."""
        return _select(self._frame, MAIN_COLUMN)

    def get_side_output(self, output_tag: OutputTag) -> DataFrame:
        """A side output; IllegalArgumentError for a tag that the task was not told of."""
        return _select(self._frame, self._column(output_tag))

    def all_outputs(self, *side_outputs: OutputTag) -> DataFrame:
        """The main output and these side outputs as one DataFrame, all from one run.

        Each is a struct in a column: ``main``, and one by the id of each tag.  Each row is of one
        output, and null in the columns of the others.

        IllegalArgumentError for two outputs of one name, and for a tag that the task was not told
        of.
        """
        columns = [MAIN_COLUMN, *map(self._column, side_outputs)]
        names = names_of_outputs(side_outputs)
        return self._frame.where(_any_held(columns)).select(
            *(F.col(column).alias(name) for column, name in zip(columns, names, strict=True))
        )

    def persist(self) -> TaskResults:
        """Keep the results of a batch DataFrame, so that one run serves all outputs."""
        self._frame = self._frame.persist()
        return self

    def unpersist(self) -> TaskResults:
        """Keep them no longer."""
        self._frame = self._frame.unpersist()
        return self

    def foreach_batch(
        self, write: Callable[..., None], *side_outputs: OutputTag
    ) -> DataStreamWriter:
        """A writer that calls ``write(batch_id, main, *sides)`` for each micro-batch.

        All outputs come from one run of the operator, which has ended when ``write`` is called.  As
        with Spark's foreachBatch a batch may be written again after a failure, under the same batch
        id.

        UnsupportedOperationError in real-time mode, whose batches are minutes long.
        """
        if is_real_time(self._frame.sparkSession):
            raise UnsupportedOperationError(NO_FOREACH_BATCH)
        names = [MAIN_COLUMN, *(self._column(tag) for tag in side_outputs)]

        def split(frame: DataFrame, batch_id: int) -> None:
            frame.persist()
            try:
                run_to_end(frame)
                write(batch_id, *(_select(frame, name) for name in names))
            finally:
                frame.unpersist()

        return self._frame.writeStream.foreachBatch(split)

    def _column(self, tag: OutputTag) -> str:
        if tag not in self._tags:
            known = ", ".join(repr(each) for each in self._tags)
            raise IllegalArgumentError(
                f"the side outputs of this task are {known}, and {tag!r} is none of them"
                + did_you_mean(tag.tag_id, (each.tag_id for each in self._tags))
            )
        return self._tags[tag]


def _any_held(columns: Sequence[str]) -> Column:
    """Whether a row is of one of these outputs."""
    return reduce(or_, (F.col(column).isNotNull() for column in columns))


def _select(frame: DataFrame, column: str) -> DataFrame:
    """One of the outputs, out of all results or of a micro-batch of them."""
    return frame.where(F.col(column).isNotNull()).select(f"{column}.*")
