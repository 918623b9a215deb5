"""Operators around a compiled loop over keyed state: elements and times in, output out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from flinkish._core.operators.keyed_process import KeyedProcess, KeyedTimerService
from flinkish.common.elements import StreamRecord, Watermark
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.notes import add_note, dated
from flinkish.operators.base import LifeCycle, OperatorEnvironment, Output
from flinkish.operators.definition import EnginePlace, KeyedDefinition
from flinkish.operators.keyed import KeyedOperator
from flinkish.operators.opened import OpenedFunctions
from flinkish.operators.outputs import emit_taken
from flinkish.operators.runtime_context import KeyedRuntimeContext
from flinkish.time.internal_timer_service import ProcessingTimeHead, merge_services

__all__ = ["KeyedEngineOperator"]

_NO_CLOCK = (
    "this operator was set up without a processing-time service, so nothing would call its "
    "processing-time timers: give its OperatorEnvironment one"
)


class KeyedEngineOperator(KeyedOperator):
    """An operator whose elements and timers go through a compiled loop, `engine`.

    Its definition makes the loop, names the functions that it calls and the timer service.

    What a function raises leaves the operator as it is, with a note that names function, method
    and key.

    Metrics: ``numRecordsIn``, ``numLateRecords``, ``numFiredTimers``, ``numRegisteredTimers``,
    ``numDeletedTimers``.
    """

    engine: KeyedProcess

    def __init__(self, definition: KeyedDefinition) -> None:
        super().__init__()
        self.definition = definition

    def _services(self) -> dict[str, str]:
        return self.definition.services()

    def setup(self, output: Output, environment: OperatorEnvironment | None = None) -> None:
        """Say where elements go and what surrounds the operator."""
        super().setup(output, environment)
        environment = self.environment
        clock = environment.processing_time_service
        self._head: ProcessingTimeHead | None = None
        self._opened = OpenedFunctions()
        timers = KeyedTimerService(
            self.table, 0, self._move_head, _NO_CLOCK if clock is None else None
        )
        if self.definition.of_key:
            self.runtime_context = KeyedRuntimeContext(
                self.backend, of_key=True, **environment.context_settings()
            )
        groups = range(self.key_groups.start_key_group, self.key_groups.end_key_group + 1)
        place = EnginePlace(self.backend, timers, self.runtime_context, groups=groups)
        self.engine = self.definition.make_engine(place)
        if clock is not None:
            self._head = ProcessingTimeHead(
                clock, self.engine.next_processing_timer, self._on_processing_time
            )
        self._count_all(environment)

    def _count_all(self, environment: OperatorEnvironment) -> None:
        metrics, engine = environment.metrics, self.engine
        metrics.gauge("numRecordsIn", lambda: engine.processed)
        metrics.gauge("numLateRecords", lambda: engine.late)
        metrics.gauge("numFiredTimers", lambda: engine.fired)
        metrics.gauge("numRegisteredTimers", lambda: engine.timers.registered)
        metrics.gauge("numDeletedTimers", lambda: engine.timers.deleted)

    def open(self) -> None:
        """Open the functions, then wait for restored processing-time timers.

        As in Flink's InternalTimerServiceImpl.
        """
        super().open()
        merge_services(self._services(), self._restored_services)
        self.table.processing_time = self._clock()
        try:
            self._opened.open(self.definition.functions, self.runtime_context)
        except Exception as error:
            self._explain(error, "open", self._opened.at)
            raise
        if self._head is not None:
            self._head.start()

    # --- elements

    def process_element(self, record: StreamRecord) -> None:
        """Hand a record to the function."""
        if self.life is not LifeCycle.OPEN:
            self._require_open("process_element")
        self.use_key_of(record.value)
        table = self.table
        table.processing_time = self._clock()
        try:
            self.engine.process(record.value, record.timestamp)
        except Exception as error:
            self._explain(error, self._on_element())
            self._emit()
            raise
        table.clear_current_key()
        if self.engine.has_output:
            self._emit()
        self._forget_keys()

    def process_batch(
        self,
        values: Sequence[Any],
        timestamps: Sequence[int] | npt.NDArray[np.int64] | None = None,
        keys: Any = None,
    ) -> None:
        """Hand many values to the function, in their order, as one step.

        ``timestamps`` are ms, one for each value, or None for values without.  ``keys`` may be
        what the key selector would say: a list, or an array of ints or strings, which is
        quicker.  The clock is read once, and output is passed on at the end.
        """
        self._require_open("process_batch")
        rows = self.rows_of(values, keys)
        times = None if timestamps is None else _milliseconds(timestamps, len(values))
        self.table.processing_time = self._clock()
        self._run(self._on_element(), self.engine.process_batch, list(values), rows, times)

    # --- time

    def process_watermark(self, watermark: Watermark) -> None:
        """Fire the timers that are due, then pass the watermark on.

        As in Flink's KeyedProcessOperator.
        """
        if self.try_advance_watermark(watermark.timestamp):
            self.output.emit(watermark)

    def try_advance_watermark(
        self, watermark: int, should_stop: Callable[[], bool] | None = None
    ) -> bool:
        """Fire the timers that are due at ``watermark`` (ms), without passing it on.

        After each timer ``should_stop()`` is asked, and whether the task is cancelled; False if
        one of them stopped it, and a further call goes on (Flink: MailboxWatermarkProcessor).
        """
        self._require_open("try_advance_watermark")
        return self._fire(self.engine.advance_watermark, watermark, should_stop)

    def next_event_time_timer(self) -> int | None:
        """The time (ms) of the earliest event-time timer of all keys; None without one."""
        return self.engine.next_event_timer()

    def _on_processing_time(self, timestamp: int) -> bool:
        return self._fire(self.engine.advance_processing_time, timestamp)

    def _fire(
        self,
        advance: Callable[..., bool],
        timestamp: int,
        should_stop: Callable[[], bool] | None = None,
    ) -> bool:
        """Fire the timers of one clock that are due; False if it was stopped."""
        self.table.processing_time = self._clock()
        is_cancelled = self.environment.is_cancelled
        if is_cancelled is not None and is_cancelled():
            return False
        stop = _either(is_cancelled, should_stop)
        done: bool = self._run(self.definition.on_time, advance, timestamp, stop)
        return done

    def _move_head(self, timestamp: int) -> None:
        if self._head is not None:
            self._head.move(timestamp)

    # --- output and errors

    def _run(self, method: str, call: Callable[..., Any], *args: Any) -> Any:
        """Have the loop call the function, in ``method`` of it, and pass on what it gave."""
        try:
            result = call(*args)
        except Exception as error:
            self._explain(error, method)
            self._emit()
            raise
        self._emit()
        self._forget_keys()
        return result

    def _emit(self) -> None:
        if self.engine.has_output:
            emit_taken(self.output, *self.engine.take_output())

    def _explain(self, error: Exception, method: str, function: Any = None) -> None:
        name = self.definition.name if function is None else type(function).__name__
        where = f"raised in {name}.{method}"
        if method != "open":
            where += f" for {self._whose_element()},"
            self.table.clear_current_key()
        add_note(error, f"{where} of task {self.runtime_context.get_task_name_with_subtasks()}")

    def _on_element(self) -> str:
        """The method of the function that is called with elements of the current input."""
        return self.definition.method_of(self.engine.input)

    def _whose_element(self) -> str:
        """Key and timestamp of what the loop was at, for messages."""
        return f"the key {self.engine.last_key!r}, timestamp {dated(self.engine.last_timestamp)}"

    # --- the end

    def finish(self) -> None:
        """Nothing is held back; processing-time timers that are left never fire, as in Flink."""
        super().finish()
        if self._head is not None:
            self._head.stop()

    def close(self) -> None:
        """Close the functions that were opened, and give the memory back."""
        opened = self.life in (LifeCycle.OPEN, LifeCycle.FINISHED)
        if opened and self._head is not None:
            self._head.stop()
        try:
            self._opened.close()
        finally:
            super().close()


def _either(
    first: Callable[[], bool] | None, second: Callable[[], bool] | None
) -> Callable[[], bool] | None:
    """Whether one of the two says so; None where neither is given."""
    if first is None or second is None:
        return first or second
    one, other = first, second
    return lambda: one() or other()


def _milliseconds(
    timestamps: Sequence[int] | npt.NDArray[np.int64], count: int
) -> npt.NDArray[np.int64]:
    times = np.asarray(timestamps)
    if times.dtype.kind not in "iu" and len(times):
        raise ArgumentTypeError(
            f"timestamps must be ints of milliseconds, not {times.dtype}; elements without a "
            "timestamp go into a batch of their own, or one by one"
        )
    if times.shape != (count,):
        raise IllegalArgumentError(f"{count} values came with timestamps of shape {times.shape}")
    return np.ascontiguousarray(times, np.int64)
