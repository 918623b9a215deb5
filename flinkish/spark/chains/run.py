"""One task's run of a chain: each element goes through all functions before the next one starts.

The functions are nested iterators, so that Python's own loop drives them: a chain costs little more
than the calls of its functions.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from flinkish.common.errors import UserFunctionError
from flinkish.common.notes import add_note, dated, shortened, spell_out_notes
from flinkish.common.output_tag import OutputTag
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.metrics import MetricGroup
from flinkish.operators.opened import OpenedFunctions
from flinkish.operators.runtime_context import TaskRuntimeContext
from flinkish.operators.unkeyed_context import NoTimers, UnkeyedContext, values_of
from flinkish.spark.chains.plan import ChainPlan
from flinkish.spark.chains.steps import Step
from flinkish.spark.channels import CHANNEL
from flinkish.spark.kept_fields import OpenFields, subtask_of_rows
from flinkish.spark.keyed.marks import highest_times
from flinkish.spark.keyed.output_pieces import FIRST_OUTPUTS, outputs_of
from flinkish.spark.keyed.plan import AFTER_WATERMARK, EVENT_TIME, MARK, PHASE
from flinkish.spark.keyed.result_rows import METRICS
from flinkish.spark.mapped_frame import Batches, MapBatches

__all__ = ["chain_function"]


def chain_function(plan: ChainPlan) -> MapBatches:
    """The function for `mapInArrow` that runs a chain."""

    def run(batches: Batches) -> Batches:
        with ChainRun(plan) as opened:
            for batch in batches:
                yield from opened.process(batch)
                if plan.prompt:
                    yield from opened.marks()
            if not plan.prompt:
                yield from opened.marks()
        opened.succeed()

    run.__name__ = plan.name  # in Spark's plans
    return run


class ChainRun:
    """The functions of a chain, opened once for a task.

    Threading: one thread.
    """

    def __init__(self, plan: ChainPlan) -> None:
        self._plan = plan
        self._encoder = plan.encoder()
        self._schema = plan.schema
        self._piece = FIRST_OUTPUTS
        self._highest: dict[int, int] = {}
        self._context = UnkeyedContext(NoTimers(lambda: time.time_ns() // 1_000_000))
        self._source = _Source([], [])
        self._functions = OpenedFunctions()
        self._fields: OpenFields | None = None
        self._metrics: dict[str, MetricGroup] = {}
        try:
            for step in plan.steps:
                opening = step.uid or plan.name
                if hasattr(step.function, "open"):
                    metrics = self._metrics.setdefault(step.uid or step.name, MetricGroup())
                    self._functions.open([step.function], _runtime_context(plan, step, metrics))
        except Exception as error:
            self._close_after(error)
            add_note(error, f"raised in operator {opening!r}, as it was opened")
            spell_out_notes(error)
            raise

    def __enter__(self) -> ChainRun:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception):
            self._close_after(error)
            return
        if self._fields is not None and error is None:
            self._fields.collect()
        try:
            self._functions.close()
        except Exception as closing:
            add_note(closing, f"raised in operator {self._plan.name!r}, as it was closed")
            spell_out_notes(closing)
            raise

    def _close_after(self, error: Exception) -> None:
        try:
            self._functions.close()
        except Exception as closing:
            add_note(error, f"close() raised, too: {shortened(closing)}")

    def process(self, batch: pa.RecordBatch) -> Batches:
        """Hand the elements of a batch to the functions; yields what comes out, in pieces."""
        plan = self._plan
        if plan.fields is not None and self._fields is None:
            functions = [step.function for step in plan.steps]
            self._fields = OpenFields(plan.fields, functions, subtask_of_rows())
        if plan.marked:
            is_mark = pc.equal(batch.column(PHASE), MARK)
            marks = batch.filter(is_mark)
            if marks.num_rows:
                yield self._marks(marks)
                batch = batch.filter(pc.invert(is_mark))
        stamps = [] if plan.stamped is None else plan.stamped.stamps(batch)
        if plan.makes_marks and batch.num_rows:
            assert plan.stamped is not None
            found = highest_times(batch, plan.stamped.column, plan.channelled)
            for channel, time in found.items():
                self._highest[channel] = max(self._highest.get(channel, MIN_TIMESTAMP), time)
        self._source = source = _Source(plan.elements(batch).elements(), stamps)
        outputs = self._through(source)
        while True:
            places: list[int] = []
            keep = places.append
            try:
                # `keep` returns None.
                values = [keep(source.at) or value for value in islice(outputs, self._piece)]
                if len(values) < self._piece:
                    source.check_end(plan.name)
            except Exception as error:
                self._explain(error)
                raise
            if not values:
                return
            encoded = self._encoder.encode(values)
            self._piece = outputs_of(encoded)
            yield self._stamped(encoded, places)

    def marks(self) -> Batches:
        """The marks that the task is to make, as of the rows that it has had."""
        if not self._highest:
            return
        times = pa.array(self._highest.values(), pa.int64())
        kind = self._schema.field(EVENT_TIME).type
        if kind != times.type:
            times = times.cast(pa.timestamp("ms", "UTC")).cast(kind)
        yield self._marks(pa.record_batch({EVENT_TIME: times, CHANNEL: list(self._highest)}))

    def succeed(self) -> None:
        """Pass the counts, and the fields that functions changed, to the job."""
        if self._plan.job.count is not None:
            self._plan.job.count(self.counts())
        if self._fields is not None:
            self._fields.give()

    def counts(self) -> dict[str, int]:
        """The counters that functions made, by the uid of the operator and their name."""
        return {
            f"{uid}.{METRICS}.{name}": count
            for uid, metrics in self._metrics.items()
            for name, count in metrics.counts().items()
        }

    def _through(self, source: _Source) -> Iterator[Any]:
        """The outputs of the last step, which ask the steps before for elements."""
        values: Iterator[Any] = iter(source)
        *before, last = self._plan.steps
        for step in before:
            values = self._step(step, values, None)
        return self._step(last, values, self._plan.tag)

    def _step(self, step: Step, values: Iterator[Any], tag: OutputTag | None) -> Iterator[Any]:
        if step.method == "map":
            return map(step.call, values)
        if step.method == "filter":
            return filter(step.call, values)
        if step.method == "flat_map":
            return _flattened(step, values)
        return self._processed(step, values, tag)

    def _processed(self, step: Step, values: Iterator[Any], tag: OutputTag | None) -> Iterator[Any]:
        """The values that a ProcessFunction yields: to the main output, or to a side output."""
        call, context, source = step.call, self._context, self._source
        stamped = self._plan.stamped
        for value in values:
            if stamped is not None:
                context.time = stamped.time_of(source.stamps[source.at])
            for result in values_of(call(value, context), "process_element"):
                if type(result) is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
                    if result[0] == tag:
                        yield result[1]
                elif tag is None:
                    yield result

    def _stamped(self, rows: pa.RecordBatch, places: list[int]) -> pa.RecordBatch:
        """Rows with the event time and phase of the elements at these places."""
        stamped = self._plan.stamped
        columns = list(rows.columns)
        if stamped is not None:
            stamps = self._source.stamps
            columns += stamped.columns(np.array([stamps[place] for place in places], np.int64))
        after = self._plan.channelled + self._plan.dealt
        if self._plan.phased and len(columns) < len(self._schema) - after:
            columns.append(pa.array(np.full(len(places), AFTER_WATERMARK, np.int32)))
        if self._plan.channelled:
            columns.append(pa.nulls(len(places), pa.int64()))
        if self._plan.dealt:
            columns.append(pa.array(self._plan.steps[-1].function.take(), pa.int32()))
        return pa.RecordBatch.from_arrays(columns, self._schema.names)

    def _marks(self, marks: pa.RecordBatch) -> pa.RecordBatch:
        """Marks with these times and channels as rows."""
        count = marks.num_rows
        said = {EVENT_TIME: marks.column(EVENT_TIME)}
        said[PHASE] = pa.array(np.full(count, MARK, np.int32))
        if self._plan.channelled:
            said[CHANNEL] = marks.column(CHANNEL)
        return pa.RecordBatch.from_arrays(
            [said.get(one.name, pa.nulls(count, one.type)) for one in self._schema],
            self._schema.names,
        )

    def _explain(self, error: Exception) -> None:
        """Note on an error whose function raised it, and for which element."""
        source = self._source
        step = _raised_by(error, self._plan.steps)
        which = "" if step is None else f" ({step.name}.{step.method})"
        operator = self._plan.name if step is None or step.uid is None else step.uid
        note = f"raised in operator {operator!r}{which}"
        if 0 <= source.at < len(source.values):
            note += f", for the element {shortened(source.values[source.at])}"
            if self._plan.stamped is not None:
                note += f", timestamp {dated(self._plan.stamped.time_of(source.stamps[source.at]))}"
        add_note(error, note)
        spell_out_notes(error)


class _Source:
    """The elements of a batch, and how far the functions are in them."""

    def __init__(self, values: list[Any], stamps: list[Any]) -> None:
        self.values = values
        self.stamps = stamps
        self.at = -1
        self.ended = False

    def __iter__(self) -> Iterator[Any]:
        for at, value in enumerate(self.values):
            self.at = at
            yield value
        self.ended = True

    def check_end(self, name: str) -> None:
        """UserFunctionError if the functions ended before the elements did.

        They would go on if they were asked again, with the element lost that ended them.
        """
        if not self.ended:
            raise UserFunctionError(
                "a function raised StopIteration, which would end the stream as if nothing "
                "followed: let it return, or raise another error",
                function=name,
                method="map",
            )


def _flattened(step: Step, values: Iterator[Any]) -> Iterator[Any]:
    call = step.call
    for value in values:
        yield from values_of(call(value), "flat_map")


def _raised_by(error: Exception, steps: tuple[Step, ...]) -> Step | None:
    """The step whose function raised an error, if its frame tells."""
    codes = {getattr(step.call, "__code__", None): step for step in steps}
    codes.pop(None, None)
    trace = error.__traceback__
    while trace is not None:
        if (step := codes.get(trace.tb_frame.f_code)) is not None:
            return step
        trace = trace.tb_next
    return steps[0] if len(steps) == 1 else None


def _runtime_context(plan: ChainPlan, step: Step, metrics: MetricGroup) -> TaskRuntimeContext:
    context = TaskContext.get()
    index = context.partitionId() if context else 0
    # Spark does not tell how many partitions there are.
    parallelism = max(index + 1, 128)
    return TaskRuntimeContext(
        task_name=step.uid or plan.name,
        index=index,
        parallelism=parallelism,
        max_parallelism=parallelism,
        attempt=context.attemptNumber() if context else 0,
        metrics=metrics,
        job_parameters=plan.job.parameters,
    )
