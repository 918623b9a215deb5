"""The asynchronous operator as a task on Spark runs it."""

from __future__ import annotations

from typing import Any

from flinkish.common.elements import StreamRecord
from flinkish.operators import OperatorEnvironment, Output
from flinkish.operators.async_calls import AsyncCall
from flinkish.operators.async_output import CallOutput
from flinkish.operators.async_wait import AsyncWaitOperator
from flinkish.spark.async_answers import COUNTERS, Counts, Failure

__all__ = ["AnswerOperator"]


class AnswerOperator(AsyncWaitOperator):
    """Emits an Answer for each row, as the value of a record, and Counts at its end."""

    def setup(self, output: Output, environment: OperatorEnvironment | None = None) -> None:
        """As declared."""
        super().setup(output, environment)
        self._emitter = _AnswerOutput(output)

    def num_held(self) -> int:
        """As declared by HoldsElements."""
        return len(self._queue) + len(self._backlog)

    def finish(self) -> None:
        """Emit what was counted."""
        super().finish()
        seen = self.statistics()
        counts = dict.fromkeys(COUNTERS, 0) | {
            "rows": self._records.get_count(),
            "failed": seen.failed,
            "timed_out": seen.timed_out,
            "retried": seen.retried,
        }
        self.output.emit(StreamRecord(Counts(counts)))


class _AnswerOutput(CallOutput):
    """Emits answers; watermarks end here."""

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self.emit = self._emit_answers

    def _emit_answers(self, calls: list[Any], results: list[Any]) -> None:
        emit = self._output.emit
        for call, values in zip(calls, results, strict=True):
            if type(call) is AsyncCall:
                failed = len(values) == 1 and type(values[0]) is Failure
                what = values[0] if failed else values
                emit(StreamRecord((call.value, what, call.attempt)))
