"""One task's run of a keyed function: columns in, the function's output as columns out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from flinkish._core.operators.keyed_process import KeyedTimerService
from flinkish._core.state.key_reader import KeyReader
from flinkish._core.state.table import StateTable
from flinkish._core.values.codec import unpack_payload
from flinkish.common.errors import IllegalStateError
from flinkish.common.notes import add_note, dated, shortened, spell_out_notes
from flinkish.common.output_tag import OutputTag
from flinkish.metrics import MetricGroup
from flinkish.operators.definition import EnginePlace, KeyedDefinition
from flinkish.operators.opened import OpenedFunctions
from flinkish.operators.runtime_context import KeyedRuntimeContext
from flinkish.spark.batches import joined
from flinkish.spark.kept_fields import OpenFields
from flinkish.spark.keyed.output_pieces import FIRST_OUTPUTS, cut
from flinkish.spark.keyed.packed_columns import element_keys, element_times
from flinkish.spark.keyed.packing import NULL_KEY_GROUP
from flinkish.spark.keyed.plan import AFTER_WATERMARK, EVENT_TIME, OperatorPlan
from flinkish.spark.keyed.result_rows import Result
from flinkish.spark.keyed.run_counts import RunCounts
from flinkish.spark.keyed.run_outputs import RunOutputs
from flinkish.state.backend import KeyedStateBackend

if TYPE_CHECKING:
    from flinkish.spark.control_plane.attempts import Attempt
    from flinkish.spark.control_plane.task import TaskPlane

__all__ = ["BLOCK", "OperatorRun"]

BLOCK = 512  # rows

_NO_PROCESSING_TIME = (
    "this operator serves no processing-time timers, since Spark then runs a batch at every "
    "trigger, with or without data; ask for them with {}(..., processing_time_timers=True)"
)


class OperatorRun:
    """The function, opened once for a task, over the table of one key group after another.

    `advance`, `process`, then `take_outputs`; the table must be open by then.  Each yields results
    as soon as there is a piece of them (see `output_pieces`), and goes on when it is asked for the
    next.

    On a control plane the task is let in before the function is opened.  It looks before each key
    group, each block of rows and each call of a keyed function whether it is still wanted, and has
    to be when it ends.
    """

    def __init__(
        self, plan: OperatorPlan, table: StateTable | None = None, subtask: int | None = None
    ) -> None:
        context = TaskContext.get()
        self._plan = plan
        self._subtask = context.partitionId() if subtask is None and context else subtask or 0
        self.query_id = _local_property(context, "sql.streaming.queryId") or plan.definition
        self.table = table or StateTable()
        self.backend = KeyedStateBackend(self.table)
        self.metrics = MetricGroup()
        self.counts = RunCounts(self._engine_counts, self.metrics)
        self.outputs = RunOutputs(plan, self._operator)
        self._key_group = 0
        self._calls_before = 0
        self._failing: str | None = None  # the element whose call raised
        self._task: TaskPlane | None = None
        self._functions = OpenedFunctions()
        self._fields: OpenFields | None = None
        try:
            if plan.control_plane is not None:
                self._task = plan.control_plane.task(plan.uid, self._attempt(subtask)).open()
            self._open(context)
        except BaseException as error:
            self._close_after(error)
            at = self._functions.at
            self._note(error, f"as {type(at).__name__ if at is not None else 'it'} was opened")
            self.leave(error)
            raise
        if self._task is not None:
            self._task.count_by(self.metrics.counts)
            self._task.count_by(self.counts.totals)

    def _attempt(self, subtask: int | None) -> Attempt | None:
        """The attempt for the control plane, if it differs from that of Spark's task."""
        if subtask is None:
            return None
        from flinkish.spark.control_plane.attempts import current_attempt

        return replace(current_attempt(self._plan.uid), partition=subtask)

    def _open(self, context: TaskContext | None) -> None:
        """Make the engine, open the functions."""
        plan = self._plan
        operator = plan.operator
        assert isinstance(operator, KeyedDefinition)
        self._definition = operator
        refusal = _NO_PROCESSING_TIME.format(operator.asked_with)
        timers = KeyedTimerService(
            self.table,
            refusal=None if plan.processing_time else refusal,
            event_refusal=plan.no_event_time,
        )
        context_of_run = self._runtime_context(context, of_key=operator.of_key)
        watch = None if self._task is None else self._watched
        self.engine = operator.make_engine(
            EnginePlace(self.backend, timers, context_of_run, names=plan.field_names, watch=watch)
        )
        self.engine.output_limit = FIRST_OUTPUTS
        self._functions.open(operator.functions, context_of_run)
        if plan.fields is not None:
            subtask = context.partitionId() if context else 0
            self._fields = OpenFields(plan.fields, operator, subtask)

    def _runtime_context(
        self, context: TaskContext | None, *, of_key: bool = False
    ) -> KeyedRuntimeContext:
        """The runtime context that functions are opened with."""
        plan = self._plan
        return KeyedRuntimeContext(
            self.backend,
            task_name=plan.uid,
            index=self._subtask,
            parallelism=plan.partitions or plan.tasks or plan.max_parallelism,
            max_parallelism=plan.max_parallelism,
            attempt=context.attemptNumber() if context else 0,
            metrics=self.metrics,
            job_parameters=plan.job_parameters,
            of_key=of_key,
        )

    def close(self, end: BaseException | None = None) -> None:
        """The task ends without an error of the operator: close the functions and leave.

        ``end`` is what ended it from outside.  Errors as in `leave`, and what ``close`` raises.
        """
        if self._fields is not None and end is None:
            self._fields.collect()
        try:
            self._functions.close()
        except Exception as error:
            self._note(error, "as it was closed")
            self.leave(error)
            raise
        self.leave(end)
        if end is None:
            self._succeed()

    def _succeed(self) -> None:
        """Pass the counts, and the fields that functions changed, to the job."""
        if self._plan.count is not None:
            self._plan.count(self.counts.of_job(self._plan.uid))
        if self._fields is not None:
            self._fields.give()

    def leave(self, error: BaseException | None = None) -> None:
        """The task ends; unless it failed, its control plane has to agree, if there is one.

        CancelTaskError or FencingTokenError if it does not.
        """
        if self._task is not None:
            task, self._task = self._task, None
            try:
                task.__exit__(None if error is None else type(error), error, None)
            except Exception as refused:
                self._note(refused, "as its task ended")
                raise

    def __enter__(self) -> OperatorRun:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception):
            self.fail(error)
        else:
            self.close(error)

    def fail(self, error: BaseException, key_group: int | None = None) -> None:
        """Close the function all the same, as Flink does; note on the error where it happened."""
        self._close_after(error)
        self.explain(error, key_group)
        self.leave(error)

    def end_after(self, error: BaseException) -> None:
        """Close the function after an error of its task, which has its notes."""
        self._close_after(error)
        self.leave(error)

    def _close_after(self, error: BaseException) -> None:
        try:
            self._functions.close()
        except Exception as closing:
            add_note(error, f"close() raised, too: {shortened(closing)}")

    def check(self) -> None:
        """Before a key group or a block of rows: what the control plane has against the task."""
        self._calls_before = self._calls()
        if self._task is not None:
            self._task.check()

    def _watched(self, method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """A method that is called only while the control plane wants the task."""
        assert self._task is not None
        check = self._task.check

        def call(subject: Any, context: Any) -> Any:
            check()
            return method(subject, context)

        return call

    def _calls(self) -> int:
        calls: int = self.engine.processed + self.engine.fired
        return calls

    def begin(self, key_group: int, watermark: int, now: int) -> None:
        """Set the clocks (ms) to where they stood, before a key group is worked on."""
        self._key_group = key_group
        self.table.processing_time = now
        self.table.watermark = watermark

    def explain(self, error: BaseException, key_group: int | None = None) -> None:
        """Note on an error where it happened."""
        group = "" if key_group is None else f", key group {key_group}"
        where = f"raised in {self._operator}{group}"
        if self._calls() > self._calls_before:
            # An output that does not fit may be of an element before the last.
            which = f", element {self._failing}" if self._failing else ", or before it"
            time = self.engine.last_timestamp  # none, too, of a call that has returned
            at = "" if time is None else f", timestamp {dated(time)}"
            with suppress(ValueError, IllegalStateError):  # the key may be forgotten by now
                where += f", for the key {shortened(self.engine.last_key)}{at}{which}"
        add_note(error, where)
        spell_out_notes(error)

    def _note(self, error: BaseException, when: str) -> None:
        """Note on an error of no element in which operator it happened."""
        add_note(error, f"raised in {self._operator}, {when}")
        spell_out_notes(error)

    @property
    def _operator(self) -> str:
        """The operator's name and function, for messages."""
        assert self._plan.operator is not None
        return f"operator {self._plan.uid!r} ({self._plan.operator.name})"

    def advance(self, watermark: int, now: int, phase: int) -> Iterator[Result]:
        """Move the watermark (ms) and fire what is due on both clocks."""
        while not self.engine.advance_watermark(watermark):
            yield from self.take_outputs(phase)
        if self._plan.processing_time:
            while not self.engine.advance_processing_time(now):
                yield from self.take_outputs(phase)

    def process(self, payloads: Iterable[bytes], phase: int) -> Iterator[Result]:
        """Hand packed rows to the function, in order of arrival or of time as planned."""
        batches = self.unpack(payloads)
        if self._plan.timestamp_order:
            found = list(batches)
            if not found:
                return
            rows = joined(found)
            del found
            times = element_times(rows)
            batches = iter([rows.take(pa.array(np.argsort(times, kind="stable")))])
        for batch in batches:
            yield from self.process_rows(batch, self.key_rows(batch), phase)

    def process_rows(self, batch: pa.RecordBatch, rows: np.ndarray, phase: int) -> Iterator[Result]:
        """Hand a packed batch, with the table's rows of its keys, to the function."""
        times = None
        if self._plan.timed:
            times = element_times(batch)
        yield from self.process_elements(self._plan.elements(batch).elements, rows, times, phase)

    def process_elements(
        self,
        read: Callable[[int, int], list[Any]],
        rows: np.ndarray,
        times: np.ndarray | None,
        phase: int,
    ) -> Iterator[Result]:
        """Hand the elements that ``read`` makes, from one number to another, to the function."""
        # The elements of a block are still in the processor's cache when they are used.
        for start in range(0, len(rows), BLOCK):
            self.check()
            stop = min(start + BLOCK, len(rows))
            block = times[start:stop] if times is not None else None
            yield from self._process_block(read(start, stop), rows[start:stop], block, phase)

    def _process_block(
        self,
        values: list[Any],
        rows: np.ndarray,
        times: np.ndarray | None,
        phase: int,
        inputs: np.ndarray | None = None,
    ) -> Iterator[Result]:
        """Hand some elements to the function."""

        def some(done: int) -> int:
            after: int = self.engine.process_batch(values, rows, times, inputs, done)
            return after

        yield from self._by_parts(values, some, phase)

    def process_groups(
        self,
        values: list[Any],
        keys: KeyReader,
        first: int,
        times: np.ndarray | None,
        groups: np.ndarray,
        phase: int,
    ) -> Iterator[Result]:
        """Hand elements of several key groups, all of which are open, to the function.

        ``keys`` has their keys from number ``first`` on.
        """
        tables = self.outputs.open_tables
        assert tables is not None
        self.check()

        def some(done: int) -> int:
            return tables.process(self.engine, values, keys, first, times, groups, done)

        yield from self._by_parts(values, some, phase)

    def _by_parts(
        self, values: list[Any], some: Callable[[int], int], phase: int
    ) -> Iterator[Result]:
        """Hand elements over; ``some`` does it from a number on until there is enough output."""
        engine, done = self.engine, 0
        while done < len(values):
            seen = engine.processed
            try:
                after = some(done)
            except Exception:
                if engine.processed > seen:
                    self._failing = shortened(values[done + engine.processed - seen - 1])
                raise
            if (done := after) < len(values):
                yield from self.take_outputs(phase)

    def key_rows(self, batch: pa.RecordBatch) -> np.ndarray:
        """The table's rows of the keys of a batch."""
        return element_keys(batch, self._plan.key_column).rows(self.table)

    def route_null_keys(self, lost: Iterable[pa.RecordBatch]) -> Iterator[Result]:
        """Count rows without a key and send them to the side output that was asked for."""
        for batch in lost:
            self.counts.add({"null_keys": batch.num_rows})
            if isinstance(self._plan.null_keys, OutputTag):
                rows = batch.select(self._plan.schema.names)
                times = (
                    batch.column(EVENT_TIME)
                    if self._plan.timed
                    else pa.nulls(len(rows), pa.int64())
                )
                tag = self._plan.null_keys.tag_id
                for piece in cut(rows.append_column(EVENT_TIME, times)):
                    yield Result(NULL_KEY_GROUP, AFTER_WATERMARK, tag, piece)
        yield self.counts.result(NULL_KEY_GROUP)

    def unpack(self, payloads: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
        """The packed batches of payloads."""
        return (unpack_payload(payload, self._plan.packed_schema) for payload in payloads)

    def next_wake_up(self, now: int) -> int | None:
        """When Spark must call again, on the clock of its timers; None for no timer at all.

        Watermarks of Spark are one more than Flink's.  Under processing time Spark has no timer
        on event time, so a key group with event-time timers is called in every batch.
        """
        event = self.engine.next_event_timer()
        if not self._plan.processing_time:
            return None if event is None else min(event + 1, 2**63 - 1)
        return now + 1 if event is not None else self.engine.next_processing_timer()

    # --- output

    def take_outputs(self, phase: int) -> Iterator[Result]:
        """The function's output since the last call, made in this phase of the batch."""
        return self.outputs.take(self.engine, self._key_group, phase)

    def _engine_counts(self) -> dict[str, int]:
        engine = self.engine
        return {
            "rows": engine.processed,
            "late_rows": self._definition.late_rows(engine),
            "timers_registered": engine.timers.registered,
            "timers_deleted": engine.timers.deleted,
            "timers_fired": engine.fired,
        }


def _local_property(context: TaskContext | None, name: str) -> str | None:
    return context.getLocalProperty(name) if context else None
