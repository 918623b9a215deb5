"""The operator that runs a KeyedProcessFunction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from flinkish._core.keyed_process import (
    KeyedContext,
    KeyedProcess,
    KeyedTimerContext,
    KeyedTimerService,
)
from flinkish.common.elements import StreamRecord, Watermark
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.notes import add_note
from flinkish.common.output_tag import OutputTag
from flinkish.functions.process import KeyedProcessFunction
from flinkish.operators.base import LifeCycle, OperatorEnvironment, Output
from flinkish.operators.keyed import KeyedOperator
from flinkish.operators.outputs import emit_taken
from flinkish.time.domain import TimeDomain
from flinkish.time.internal_timer_service import ProcessingTimeHead, merge_services
from flinkish.time.namespaces import VOID_NAMESPACE
from flinkish.time.timer_service import TimerService

__all__ = ["KeyedProcessOperator"]

TimerService.register(KeyedTimerService)
KeyedProcessFunction.Context.register(KeyedContext)
KeyedProcessFunction.OnTimerContext.register(KeyedTimerContext)

_SERVICES = {"user-timers": VOID_NAMESPACE.name}
_NO_CLOCK = (
    "this operator was set up without a processing-time service, so nothing would call its "
    "processing-time timers: give its OperatorEnvironment one"
)


class KeyedProcessOperator(KeyedOperator):
    """Runs a KeyedProcessFunction, key by key.

    Records come out in the order in which the function yields them, with the timestamp of the
    element or event-time timer that they came of, and none from a processing-time timer.  A
    watermark fires its timers before it goes on (Flink: B.25).

    Late elements (at or behind the watermark) reach the function like all others, as in Flink.

    What the function raises leaves the operator as it is, with a note that names function,
    method and key.

    Metrics: ``numRecordsIn``, ``numLateRecords``, ``numFiredTimers``, ``numRegisteredTimers``,
    ``numDeletedTimers``.
    """

    def __init__(self, function: KeyedProcessFunction) -> None:
        super().__init__()
        missing = [
            method
            for method in ("process_element", "on_timer", "open", "close")
            if not callable(getattr(function, method, None))
        ]
        if isinstance(function, type) or missing:
            raise ArgumentTypeError(
                f"KeyedProcessOperator needs a KeyedProcessFunction, not {function!r}"
                + (f", which has no {', '.join(missing)}" if missing else "; make an instance")
            )
        self.function = function

    def setup(self, output: Output, environment: OperatorEnvironment | None = None) -> None:
        """As declared."""
        super().setup(output, environment)
        environment = self.environment
        clock = environment.processing_time_service
        self._head: ProcessingTimeHead | None = None
        timers = KeyedTimerService(
            self.table, 0, self._move_head, _NO_CLOCK if clock is None else None
        )
        self.process = KeyedProcess(
            self.table,
            timers,
            self.function.process_element,
            self.function.on_timer,
            OutputTag,
            TimeDomain.EVENT_TIME,
            TimeDomain.PROCESSING_TIME,
        )
        if clock is not None:
            self._head = ProcessingTimeHead(
                clock, self.process.next_processing_timer, self._on_processing_time
            )
        self._count_all(environment)

    def _count_all(self, environment: OperatorEnvironment) -> None:
        metrics, process = environment.metrics, self.process
        metrics.gauge("numRecordsIn", lambda: process.processed)
        metrics.gauge("numLateRecords", lambda: process.late)
        metrics.gauge("numFiredTimers", lambda: process.fired)
        metrics.gauge("numRegisteredTimers", lambda: process.timers.registered)
        metrics.gauge("numDeletedTimers", lambda: process.timers.deleted)

    def open(self) -> None:
        """Open the function, then wait for restored processing-time timers (Flink: B.16)."""
        super().open()
        merge_services(_SERVICES, self._restored_services)
        self.table.processing_time = self._clock()
        try:
            self.function.open(self.runtime_context)
        except Exception as error:
            self._explain(error, "open")
            raise
        if self._head is not None:
            self._head.start()

    def _services(self) -> dict[str, str]:
        return _SERVICES

    # --- elements

    def process_element(self, record: StreamRecord) -> None:
        """Hand a record to the function."""
        if self.life is not LifeCycle.OPEN:
            self._require_open("process_element")
        self.use_key_of(record.value)
        table = self.table
        table.processing_time = self._clock()
        try:
            self.process.process(record.value, record.timestamp)
        except Exception as error:
            self._explain(error, "process_element")
            self._emit()
            raise
        table.clear_current_key()
        if self.process.has_output:
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
        try:
            self.process.process_batch(list(values), rows, times)
        except Exception as error:
            self._explain(error, "process_element")
            self._emit()
            raise
        self._emit()
        self._forget_keys()

    # --- time

    def process_watermark(self, watermark: Watermark) -> None:
        """Fire the timers that are due, then pass the watermark on (Flink: B.25)."""
        if self.try_advance_watermark(watermark.timestamp):
            self.output.emit(watermark)

    def try_advance_watermark(
        self, watermark: int, should_stop: Callable[[], bool] | None = None
    ) -> bool:
        """Fire the timers that are due at ``watermark`` (ms), without passing it on.

        After each timer ``should_stop()`` is asked, and whether the task is cancelled; False if
        one of them stopped it, and a further call goes on (Flink: A.64).
        """
        self._require_open("try_advance_watermark")
        self.table.processing_time = self._clock()
        is_cancelled = self.environment.is_cancelled
        if is_cancelled is not None and is_cancelled():
            return False
        stop = _either(is_cancelled, should_stop)
        try:
            done = self.process.advance_watermark(watermark, stop)
        except Exception as error:
            self._explain(error, "on_timer")
            self._emit()
            raise
        self._emit()
        self._forget_keys()
        return done

    def next_event_time_timer(self) -> int | None:
        """The time (ms) of the earliest event-time timer of all keys; None without one."""
        return self.process.next_event_timer()

    def _on_processing_time(self, timestamp: int) -> bool:
        self.table.processing_time = self._clock()
        is_cancelled = self.environment.is_cancelled
        if is_cancelled is not None and is_cancelled():
            return False
        try:
            done = self.process.advance_processing_time(timestamp, is_cancelled)
        except Exception as error:
            self._explain(error, "on_timer")
            self._emit()
            raise
        self._emit()
        self._forget_keys()
        return done

    def _move_head(self, timestamp: int) -> None:
        if self._head is not None:
            self._head.move(timestamp)

    # --- output and errors

    def _emit(self) -> None:
        if self.process.has_output:
            emit_taken(self.output, *self.process.take_output())

    def _explain(self, error: Exception, method: str) -> None:
        where = f"raised in {type(self.function).__name__}.{method}"
        if method != "open":
            where += (
                f" for the key {self.process.last_key!r}, timestamp {self.process.last_timestamp},"
            )
            self.table.clear_current_key()
        add_note(error, f"{where} of task {self.runtime_context.get_task_name_with_subtasks()}")

    # --- the end

    def finish(self) -> None:
        """Nothing is held back; processing-time timers that are left never fire, as in Flink."""
        super().finish()
        if self._head is not None:
            self._head.stop()

    def close(self) -> None:
        """Close the function, if it was opened, and give the memory back."""
        opened = self.life in (LifeCycle.OPEN, LifeCycle.FINISHED)
        if opened and self._head is not None:
            self._head.stop()
        try:
            if opened:
                self.function.close()
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
