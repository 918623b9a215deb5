"""The operators of streams that see one element after another, without keys."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.sql.types import (
    IntegerType,
    LongType,
    StructField,
    StructType,
    TimestampType,
)

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.output_tag import OutputTag
from flinkish.operators.function_fields import may_change
from flinkish.spark.calls.stamps import Stamped
from flinkish.spark.chains.dealt import SLOT, Dealt
from flinkish.spark.chains.plan import ChainPlan
from flinkish.spark.chains.run import chain_function
from flinkish.spark.chains.steps import Method, Step
from flinkish.spark.channels import CHANNEL
from flinkish.spark.function_checks import check_function
from flinkish.spark.internals import arrow_schema
from flinkish.spark.kept_fields import in_subtasks
from flinkish.spark.keyed.plan import EVENT_TIME, PHASE
from flinkish.spark.mapped_frame import MappedFrame
from flinkish.spark.pickling import check_picklable
from flinkish.spark.schemas import session_time_zone
from flinkish.spark.streams.rows import Output, StreamRows
from flinkish.spark.streams.united import united
from flinkish.spark.streams.windowed import Declared

if TYPE_CHECKING:
    from flinkish.spark.streams.data_stream import DataStream

__all__ = ["ElementWise"]

Self = TypeVar("Self", bound="ElementWise")


class ElementWise:
    """`map`, `flat_map`, `filter`, `process` and `union` of a stream.

    Operators that follow each other run in one call of Spark's `mapInArrow`, element after element
    through all of them, as Flink chains operators.  Functions are opened and closed once for each
    task, on a stream once a micro-batch.  What comes out has the event time of its element.
    """

    _rows: StreamRows
    _chain: tuple[StreamRows, tuple[Step, ...]] | None = None
    _side: Callable[[OutputTag], DataStream] | None = None
    _uid: str | None = None
    _tasks: int | None = None

    def map(
        self, func: Any, output_type: Declared = None, *, schema: Declared = None
    ) -> DataStream:
        """One element for each, by a MapFunction or a function of one value.

        ``output_type`` and ``schema`` as for `KeyedStream.process`.
        """
        return self._then("map", func, schema if schema is not None else output_type)

    def flat_map(
        self, func: Any, output_type: Declared = None, *, schema: Declared = None
    ) -> DataStream:
        """Any number of elements for each, by a FlatMapFunction or a generator of one value."""
        return self._then("flat_map", func, schema if schema is not None else output_type)

    def filter(self, func: Any) -> DataStream:
        """The elements for which a FilterFunction, or a function of one value, gives True."""
        return self._then("filter", func, self._rows.output)

    def process(
        self, func: Any, output_type: Declared = None, *, schema: Declared = None
    ) -> DataStream:
        """Any number of elements for each, by a ProcessFunction, which knows the element's time.

        It has neither timers nor state, and no watermark: Spark shows none to such a function, so
        ``current_watermark()`` is -2**63.  `get_side_output` has what it yields with an OutputTag.
        """
        return self._then("process", func, schema if schema is not None else output_type)

    def partition_custom(
        self, partitioner: Any, key_selector: Any, num_partitions: int
    ) -> DataStream:
        """The elements, each in the task that a partitioner gives it to.

        ``partitioner``, a Partitioner or a function, is called with the key and with
        ``num_partitions``, and returns an int from 0 to that less 1: the number of the task.  It is
        that of functions that follow, up to the next operator with keys.  What one task had stays
        in its order.  UserFunctionError, which fails the query, for another result.
        """
        if num_partitions < 1:
            raise IllegalArgumentError(f"num_partitions must be 1 or more, not {num_partitions}")
        step = Step("map", Dealt(partitioner, key_selector, num_partitions), self._uid)
        check_picklable(step.function, f"the partitioner {step.name!r}")
        return self._dealt(step, num_partitions)

    def _dealt(self, step: Step, partitions: int) -> DataStream:
        """The elements in the tasks that the function of a step deals them to."""
        source, steps = (self._rows, ()) if self._chain is None else self._chain
        rows = _chained(source, (*steps, step), self._rows.output, dealt=True)
        frame = rows.frame.repartition(partitions, SLOT).drop(SLOT)
        return _stream(replace(rows, mapped=MappedFrame(frame), placed=True))

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """The stream of a side output of the ProcessFunction that made this stream.

        Spark runs every query on its own: a query on it calls the function again.
        """
        if not isinstance(output_tag, OutputTag):
            raise ArgumentTypeError(f"a side output is named by its OutputTag, not {output_tag!r}")
        if self._side is None:
            raise UnsupportedOperationError(
                "side outputs are those of what process, window or a join returned; this stream "
                "has none"
            )
        return self._side(output_tag)

    def union(self, *streams: DataStream) -> DataStream:
        """The elements of this stream and of others of the same type, in any order."""
        rows = [self._rows, *(one._rows for one in streams)]
        return _stream(united(rows))

    def _before(self: Self, uid: str, tasks: int | None) -> Self:
        """The same stream, before an operator that has this name in messages and counts.

        ``tasks`` are those that the operator has at most; None for as many as the rows come in.
        """
        made = copy(self)
        made._uid, made._tasks = uid, tasks
        return made

    def _then(self, method: Method, function: Any, declared: Declared | Output) -> DataStream:
        step = Step.of(method, function, self._uid)
        check_function(function, f"the function {step.name!r}", restarts=self._rows.restarts)
        source, steps = (self._rows, ()) if self._chain is None else self._chain
        output = declared
        if not isinstance(output, Output):
            output = Output.of(output, f"the output schema of {method}({step.name})")
        made = _stream(_chained(source, (*steps, step), output, tasks=self._tasks))
        made._chain = (source, (*steps, step))
        if method == "process":
            made._side = lambda tag: _side_output(source, (*steps, step), tag)
        return made


def _stream(rows: StreamRows) -> DataStream:
    from flinkish.spark.streams.data_stream import DataStream

    return DataStream._of(rows)


def _side_output(source: StreamRows, steps: tuple[Step, ...], tag: OutputTag) -> DataStream:
    return _stream(_chained(source, steps, Output.of(tag.type_info, f"the type of {tag!r}"), tag))


def _chained(
    source: StreamRows,
    steps: tuple[Step, ...],
    output: Output,
    tag: OutputTag | None = None,
    *,
    dealt: bool = False,
    tasks: int | None = None,
) -> StreamRows:
    """The rows that a chain makes of those of its source."""
    stamped = None
    if source.event_time is not None:
        stamped = Stamped(source.event_time, chained=source.chained)
    from_source = not (source.is_whole or source.chained or source.marked)
    moves = any(channel.moves for channel in source.channels)
    job = source.job
    if not any(hasattr(step.function, "open") for step in steps):  # without a context none counts
        job = replace(job, count=None)
    within, mapped, kept = source.within, source.mapped, None
    if within is not None and any(may_change(step.function) for step in steps):
        # Coalescing may change the numbers of the tasks that elements were sent to.
        mapped = in_subtasks(mapped, None if source.placed or source.chained else tasks)
        kept = within.fields_of(" ".join(step.uid or step.name for step in steps))
    plan = ChainPlan(
        steps=steps,
        columns=source.columns,
        input_type=source.kind,
        output=arrow_schema(output.schema),
        output_type=output.kind,
        time_zone=session_time_zone(source.spark),
        tag=tag,
        stamped=stamped,
        marked=source.marked,
        makes_marks=source.channelled or (from_source and moves),
        prompt=source.real_time,
        channelled=source.channelled,
        dealt=dealt,
        job=job,
        fields=kept,
    )
    marked = source.marked or plan.makes_marks
    fields = [
        StructField(one.name, one.dataType, one.nullable or marked, one.metadata)
        for one in output.schema
    ]
    if stamped is not None:
        fields.append(StructField(EVENT_TIME, LongType() if stamped.chained else TimestampType()))
    if plan.phased:
        fields.append(StructField(PHASE, IntegerType()))
    if plan.channelled:
        fields.append(StructField(CHANNEL, LongType()))
    if dealt:
        fields.append(StructField(SLOT, IntegerType()))
    return replace(
        source,
        mapped=mapped.map(chain_function(plan), StructType(fields)),
        columns=tuple(output.schema.names),
        kind=output.kind,
        event_time=None if stamped is None else EVENT_TIME,
        marked=marked,
        partition=None,
    )
