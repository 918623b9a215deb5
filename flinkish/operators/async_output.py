"""How completed calls become elements of an output."""

from __future__ import annotations

from typing import Any

from flinkish.common.elements import StreamRecord
from flinkish.common.output_tag import OutputTag
from flinkish.operators.async_calls import AsyncCall
from flinkish.operators.base import BatchOutput, Output

__all__ = ["CallOutput"]


class CallOutput:
    """Emits values with the timestamp of their call, and watermarks between them.

    As in Flink's AsyncWaitOperator.  Values go out in batches where the output takes them so.  A
    pair of an OutputTag and a value goes to that side output.
    """

    def __init__(self, output: Output) -> None:
        self._output = output
        self.emit = self._emit_batches if isinstance(output, BatchOutput) else self._emit_each

    def _emit_each(self, calls: list[Any], results: list[Any]) -> None:
        emit = self._output.emit
        for call, values in zip(calls, results, strict=True):
            if type(call) is not AsyncCall:
                emit(call)
                continue
            timestamp = call.timestamp
            for value in values:
                if type(value) is tuple and len(value) == 2 and isinstance(value[0], OutputTag):
                    self._output.emit_side(value[0], StreamRecord(value[1], timestamp))
                else:
                    emit(StreamRecord(value, timestamp))

    def _emit_batches(self, calls: list[Any], results: list[Any]) -> None:
        output: Any = self._output
        main: list[Any] = []
        times: list[int | None] = []
        for call, values in zip(calls, results, strict=True):
            if type(call) is not AsyncCall:
                if main:
                    output.emit_batch(None, main, times)
                    main, times = [], []
                output.emit(call)
                continue
            timestamp = call.timestamp
            for value in values:
                if type(value) is tuple and len(value) == 2 and isinstance(value[0], OutputTag):
                    output.emit_side(value[0], StreamRecord(value[1], timestamp))
                else:
                    main.append(value)
                    times.append(timestamp)
        if main:
            output.emit_batch(None, main, times)
