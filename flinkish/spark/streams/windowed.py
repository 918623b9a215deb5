"""Streams in windows: which rows belong together, when they speak, what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import StructType

from flinkish.common.durations import DurationLike
from flinkish.common.errors import (
    TimestampError,
    UnsupportedOperationError,
)
from flinkish.common.output_tag import OutputTag
from flinkish.common.typeinfo import TypeInformation
from flinkish.functions.aggregates import BuiltInAggregate, BuiltInAggregates
from flinkish.operators.window_definition import WindowDefinition
from flinkish.spark.function_checks import check_function
from flinkish.spark.internals import arrow_schema, spark_schema
from flinkish.spark.keyed.plan import OperatorPlan
from flinkish.spark.keyed.strategies import ByColumns, ByRows
from flinkish.spark.streams.options import OperatorOptions, output_settings, plan_settings
from flinkish.spark.streams.porting import PortingHints
from flinkish.spark.streams.rows import Output
from flinkish.spark.streams.window_aggregates import (
    WindowRows,
    built_in_aggregates,
    output_of,
    resolved,
    vector_plan,
)
from flinkish.windowing import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    Evictor,
    GlobalWindows,
    Trigger,
    WindowAssigner,
)

if TYPE_CHECKING:
    from flinkish.spark.streams.data_stream import KeyedStream, ProcessedStream

__all__ = ["Declared", "WindowedStream"]

Declared = StructType | TypeInformation | str | None


class WindowedStream(PortingHints):
    """A stream whose elements are collected in windows.

    ``trigger``, ``evictor``, ``allowed_lateness`` and ``side_output_late_data`` give the stream
    back; ``process``, ``apply``, ``reduce`` and ``aggregate`` give the operator's outputs.  What
    cannot work is refused here, before a query runs: a trigger that cannot merge on windows that
    do, lateness without event time, event-time windows over a stream without timestamps.

    Output has the last time of its window as event time.  A window that fires early does so in
    the micro-batch whose rows, watermark or clock make it.  Elements that are too late for all
    their windows are counted as ``late_rows``.
    """

    def __init__(
        self, keyed: KeyedStream, assigner: WindowAssigner, options: OperatorOptions
    ) -> None:
        self._stream = keyed
        self._options = options
        self._definition = WindowDefinition.of(assigner)
        self.keyed = True
        """Whether window functions get a key."""
        if self._definition.needs_event_time and keyed._rows.event_time is None:
            raise TimestampError(
                f"{type(assigner).__name__} needs event time, and the stream has none: call "
                "assign_timestamps_and_watermarks before key_by, or use processing-time windows"
            )

    def __repr__(self) -> str:
        windows = self._definition
        late = f", late by {windows.lateness} ms" if windows.lateness else ""
        return f"WindowedStream of {self._stream} in {windows.assigner}, {windows.trigger}{late}"

    # --- settings

    def trigger(self, trigger: Trigger) -> WindowedStream:
        """When windows fire, instead of the assigner's default."""
        self._definition = self._definition.with_trigger(trigger)
        return self

    def evictor(self, evictor: Evictor) -> WindowedStream:
        """Which elements leave a window when it fires; windows then keep all elements."""
        self._definition = self._definition.with_evictor(evictor)
        return self

    def allowed_lateness(self, time_ms: DurationLike) -> WindowedStream:
        """How long after its end a window still takes elements, each of which may fire it."""
        self._definition = self._definition.with_lateness(time_ms)
        return self

    def side_output_late_data(self, output_tag: OutputTag) -> WindowedStream:
        """Where elements go that are too late for all their windows; else they are counted."""
        self._definition = self._definition.with_late_tag(output_tag)
        return self

    # --- functions

    def process(
        self,
        process_window_function: Any,
        output_type: Declared = None,
        *,
        schema: Declared = None,
    ) -> ProcessedStream:
        """Call a ProcessWindowFunction with the elements of each window that fires.

        ``schema`` are the columns of the output; ``output_type`` is PyFlink's name for it.
        """
        definition = self._definition.with_function(
            process_window_function, "process", keyed=self.keyed
        )
        return self._run(definition, schema if schema is not None else output_type)

    def apply(
        self, window_function: Any, output_type: Declared = None, *, schema: Declared = None
    ) -> ProcessedStream:
        """Call a WindowFunction with the elements of each window that fires."""
        definition = self._definition.with_function(window_function, "apply", keyed=self.keyed)
        return self._run(definition, schema if schema is not None else output_type)

    def reduce(
        self,
        reduce_function: Any,
        window_function: Any = None,
        output_type: Declared = None,
        *,
        schema: Declared = None,
    ) -> ProcessedStream:
        """Reduce elements as they come; ``window_function`` is called with the one result.

        Without ``window_function`` and ``schema`` the output has the columns of the input.
        """
        definition = self._definition.with_reduce(
            reduce_function, window_function, keyed=self.keyed
        )
        declared = schema if schema is not None else output_type
        if declared is None and window_function is None:
            return self._run(definition, self._stream._rows.output)
        return self._run(definition, declared)

    def aggregate(
        self,
        aggregate_function: Any,
        window_function: Any = None,
        accumulator_type: TypeInformation | None = None,
        output_type: Declared = None,
        *,
        schema: Declared = None,
    ) -> ProcessedStream:
        """Aggregate elements as they come; ``window_function`` is called with the one result.

        ``aggregate_function`` is an AggregateFunction, or one or a list of the built-in ones
        (``Sum("amount")``).  Of these alone the output has the columns of the key, the window as
        ``window_start`` and ``window_end``, and the results; they are computed by columns where
        assigner and trigger allow it, which `explain` of the result tells.

        ``accumulator_type`` is there for PyFlink's sake: accumulators are whatever can be
        pickled.
        """
        built_in = built_in_aggregates(aggregate_function)
        if built_in is not None:
            built_in = resolved(built_in, self._stream._rows.in_columns())
            if window_function is None and schema is None and output_type is None:
                return self._aggregate(built_in)
            aggregate_function = BuiltInAggregates(built_in)
        definition = self._definition.with_aggregate(
            aggregate_function, window_function, keyed=self.keyed
        )
        return self._run(definition, schema if schema is not None else output_type)

    def _aggregate(self, aggregates: Sequence[BuiltInAggregate]) -> ProcessedStream:
        """Built-in aggregates alone: by columns if that is possible."""
        keys = self._stream._keyed.keys.columns
        columns = arrow_schema(self._stream._rows.schema)
        vector, reason = vector_plan(self._definition, aggregates, keys, columns)
        if self._options.order == "timestamp":
            vector, reason = None, "order='timestamp' hands rows over one by one"
        output = output_of(self._definition, aggregates, keys, columns)
        if vector is None:
            definition = self._definition.with_aggregate(
                BuiltInAggregates(aggregates), WindowRows(len(keys))
            )
            return self._run(definition, spark_schema(output), reason)
        # A batch costs some milliseconds a key group, and by columns little else.
        _, settings = plan_settings(self._stream._keyed, "windows", self._options, fewest_groups=4)
        read = [columns.field(name) for name in vector.columns(keys, columns)]
        plan = OperatorPlan(
            operator=vector,
            strategy=ByColumns(),
            output=output,
            output_type=None,
            **(settings | {"schema": pa.schema(read)}),
        )
        return self._stream._processed(
            plan, Output(spark_schema(output), None), f"by columns: {reason}"
        )

    # --- the operator

    def _run(
        self, definition: WindowDefinition, declared: Declared | Output, reason: str | None = None
    ) -> ProcessedStream:
        rows = self._stream._rows
        for part in (definition.assigner, definition.trigger, definition.evictor):
            check_function(part, f"the {type(part).__name__}", restarts=rows.restarts)
        for function in _parts(definition):
            check_function(
                function, f"the function {type(function).__name__}", restarts=rows.restarts
            )
        name, settings = plan_settings(
            self._stream._keyed,
            definition.name,
            replace(self._options, processing_time_timers=self._clock(definition)),
        )
        if self._stream._rows.is_whole:
            _refuse_without_end(definition)
        output, written = output_settings(declared, name)
        plan = OperatorPlan(operator=definition, strategy=ByRows(), **written, **settings)
        return self._stream._processed(plan, output, f"row by row: {reason or _reason(definition)}")

    def _clock(self, definition: WindowDefinition) -> bool:
        """Whether timers on processing time are served."""
        asked = self._options.processing_time_timers
        needed = definition.uses_processing_time
        if asked is False and needed:
            raise UnsupportedOperationError(
                f"{definition.assigner!r} with {definition.trigger!r} fires by the clock, and "
                "processing_time_timers=False forbids it: leave that out"
            )
        return needed or bool(asked)


def _parts(definition: WindowDefinition) -> Sequence[Any]:
    return [one for one in (definition.function, definition.fold) if one is not None]


def _reason(definition: WindowDefinition) -> str:
    """Why Python is called for each element or window."""
    if definition.fold is not None:
        return f"{type(definition.fold).__name__} is called for each element"
    return f"{definition.name} is given the elements of each window"


def _refuse_without_end(definition: WindowDefinition) -> None:
    """A trigger that goes on for ever would, at the end of time of a batch DataFrame."""
    forever = (ContinuousEventTimeTrigger, ContinuousProcessingTimeTrigger)
    if not isinstance(definition.assigner, GlobalWindows):
        return
    for trigger in definition.triggers:
        if isinstance(trigger, forever):
            raise UnsupportedOperationError(
                f"{trigger!r} on a window that never ends would fire without end when a batch "
                "DataFrame is through: use GlobalWindows.create_with_end_of_stream_trigger(), or "
                "windows of time"
            )
