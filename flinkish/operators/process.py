"""The operator that runs a ProcessFunction: no keys, so no state and no timers."""

from __future__ import annotations

from typing import Any, NoReturn

from flinkish.common.elements import MIN_TIMESTAMP, StreamRecord, Watermark
from flinkish.common.errors import ArgumentTypeError, UnsupportedOperationError
from flinkish.common.notes import add_note, dated
from flinkish.common.output_tag import OutputTag
from flinkish.functions.process import ProcessFunction
from flinkish.operators.base import (
    LifeCycle,
    OperatorEnvironment,
    Output,
    StreamOperator,
)
from flinkish.operators.runtime_context import TaskRuntimeContext
from flinkish.time.timer_service import TimerService

__all__ = ["ProcessOperator"]


class _Clocks(TimerService):
    """Tells both times; timers are refused (Flink: B.26)."""

    def __init__(self, environment: OperatorEnvironment) -> None:
        self._environment = environment
        self.watermark = MIN_TIMESTAMP

    def current_processing_time(self) -> int:
        return self._environment.current_processing_time()

    def current_watermark(self) -> int:
        return self.watermark

    def _refuse(self) -> NoReturn:
        raise UnsupportedOperationError(
            "Setting timers is only supported on a keyed stream: use key_by before the function, "
            "and a KeyedProcessFunction"
        )

    def register_processing_time_timer(self, timestamp: int) -> None:
        self._refuse()

    def register_event_time_timer(self, timestamp: int) -> None:
        self._refuse()

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self._refuse()

    def delete_event_time_timer(self, timestamp: int) -> None:
        self._refuse()


class _Context(ProcessFunction.Context):
    def __init__(self, clocks: _Clocks) -> None:
        self._clocks = clocks
        self.time: int | None = None

    def timer_service(self) -> TimerService:
        return self._clocks

    def timestamp(self) -> int | None:
        return self.time


class ProcessOperator(StreamOperator):
    """Runs a ProcessFunction.  Output carries the timestamp of its element.

    What the function raises leaves the operator as it is, with a note that names function and
    method.  Metric: ``numRecordsIn``.
    """

    def __init__(self, function: ProcessFunction) -> None:
        super().__init__()
        if isinstance(function, type) or not callable(getattr(function, "process_element", None)):
            raise ArgumentTypeError(
                f"ProcessOperator needs an instance of a ProcessFunction, not {function!r}"
            )
        self.function = function

    def setup(self, output: Output, environment: OperatorEnvironment | None = None) -> None:
        """Say where elements go and what surrounds the operator."""
        super().setup(output, environment)
        environment = self.environment
        self._clocks = _Clocks(environment)
        self._context = _Context(self._clocks)
        self._records = environment.metrics.counter("numRecordsIn")
        self.runtime_context = TaskRuntimeContext(**environment.context_settings())

    def open(self) -> None:
        """Open the function."""
        super().open()
        try:
            self.function.open(self.runtime_context)
        except Exception as error:
            self._explain(error, "open")
            raise

    def process_element(self, record: StreamRecord) -> None:
        """Hand a record to the function."""
        self._require_open("process_element")
        self._records.inc()
        self._context.time = record.timestamp
        try:
            for value in _outputs(self.function.process_element(record.value, self._context)):
                if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], OutputTag):
                    self.output.emit_side(value[0], StreamRecord(value[1], record.timestamp))
                else:
                    self.output.emit(StreamRecord(value, record.timestamp))
        except Exception as error:
            self._explain(error, "process_element")
            raise
        finally:
            self._context.time = None

    def process_watermark(self, watermark: Watermark) -> None:
        """Pass the watermark on."""
        self._require_open("process_watermark")
        self._clocks.watermark = watermark.timestamp
        self.output.emit(watermark)

    def close(self) -> None:
        """Close the function, if it was opened."""
        opened = self.life in (LifeCycle.OPEN, LifeCycle.FINISHED)
        super().close()
        if opened:
            self.function.close()

    def _explain(self, error: Exception, method: str) -> None:
        when = (
            "" if method == "open" else f" for an element of timestamp {dated(self._context.time)}"
        )
        add_note(error, f"raised in {type(self.function).__name__}.{method}{when}")


def _outputs(result: Any) -> Any:
    """What a function returned, as an iterable of values."""
    if result is None:
        return ()
    one_value = isinstance(result, (str, bytes, dict)) or hasattr(result, "get_row_kind")
    if one_value or not hasattr(result, "__iter__"):
        raise ArgumentTypeError(
            f"process_element returned {result!r} of type {type(result).__name__}; yield each "
            "output value, or return an iterable of them or None"
        )
    return result
