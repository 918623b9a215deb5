"""The asynchronous operator as a task on Spark runs it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from pyspark import TaskContext

from flinkish.common.elements import StreamRecord, Watermark
from flinkish.common.errors import RejectedExecutionError
from flinkish.common.futures import complete
from flinkish.operators import OperatorEnvironment, Output
from flinkish.operators.async_batch import AsyncBatchWaitOperator
from flinkish.operators.async_calls import AsyncCall
from flinkish.operators.async_output import CallOutput
from flinkish.operators.async_wait import AsyncWaitOperator
from flinkish.spark.calls.answers import COUNTERS, Counts, Failure
from flinkish.spark.calls.context import KeyOf, current_row
from flinkish.spark.calls.layers import CallLayer, add_layers
from flinkish.spark.kept_fields import KeptFields, OpenFields

__all__ = ["AnswerBatchOperator", "AnswerOperator", "WarmUp"]

_STEP_MS = 10  # how often an operator that warms up looks


class WarmUp:
    """Brings a worker process up to its capacity over a time (ms), once.

    ``definition`` stands for the operator: the tasks of one that follow each other in a process go
    on where the last one was.
    """

    _since: dict[str, int] = {}  # noqa: RUF012 - it is meant to be the process's

    def __init__(self, definition: str, duration: int) -> None:
        self._definition = definition
        self._duration = duration

    def allowed(self, capacity: int, now: int) -> int:
        """How many rows may be under way at this time (ms); the time begins with the first call."""
        passed = now - self._since.setdefault(self._definition, now)
        return max(1, min(capacity, capacity * passed // self._duration))


class AnswerOperator(AsyncWaitOperator):
    """Emits an Answer for each row, as the value of a record, and Counts at its end.

    ``key_of`` makes the idempotency key of a row, ``layers`` lie around each call.  While a tenth
    of the capacity waits in layers, no more rows are taken in.
    """

    def __init__(
        self,
        fn: Any,
        *,
        key_of: KeyOf | None = None,
        warm_up: WarmUp | None = None,
        layers: Sequence[CallLayer] = (),
        fields: KeptFields | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(fn, **settings)
        self._key_of = key_of
        self._warm_up = warm_up
        self._layers = layers
        self._kept = fields
        self._fields: OpenFields | None = None
        self._may_wait = max(self.settings.capacity // 10, 1)
        self._only_capacity = warm_up is None and not layers
        self._looks = False  # whether a timer is on its way to look for room
        add_layers(self._invoker, layers)

    # --- life

    def setup(self, output: Output, environment: OperatorEnvironment | None = None) -> None:
        """Say where answers go and what surrounds the operator."""
        super().setup(output, environment)
        self._emitter = _AnswerOutput(output)
        self._metrics = self.environment.metrics
        self._not_own = [*self._metrics.counts()]  # those of the operator

    def open(self) -> None:
        """Open the layers and the function."""
        for layer in self._layers:
            layer.open(self.runtime_context, self._on_free)
        super().open()
        if self._kept is not None:
            context = TaskContext.get()
            subtask = context.partitionId() if context else 0
            self._fields = OpenFields(self._kept, self.function, subtask)

    def finish(self) -> None:
        """Emit what was counted."""
        super().finish()
        if self._fields is not None:
            self._fields.collect()
            self._fields.give()
        counts = dict.fromkeys(COUNTERS, 0) | self.counted()
        self.output.emit(StreamRecord(Counts(counts, self.own_counts())))

    def counted(self) -> dict[str, int]:
        """The counts so far, of those in COUNTERS that are the operator's; from any thread."""
        seen = self.statistics()
        return {
            "rows": self._records.get_count(),
            "timed_out": seen.timed_out,
            "retried": seen.retried,
            "saved": sum(layer.num_saved() for layer in self._layers),
        }

    def own_counts(self) -> dict[str, int]:
        """The counters that the function made; from any thread."""
        own = self._metrics.counts()
        for name in self._not_own:
            del own[name]
        return own

    def close(self) -> None:
        """Close the function, then the layers."""
        try:
            super().close()
        finally:
            for layer in self._layers:
                layer.close()

    def let_go(self) -> int:
        """How many elements are held."""
        return len(self._queue) + len(self._backlog)

    # --- rows

    def _accept(self, element: StreamRecord | Watermark) -> None:
        if self._key_of is None or not isinstance(element, StreamRecord):
            super()._accept(element)
            return
        token = current_row.set((element.value, self._key_of))
        try:
            super()._accept(element)  # the call gets a copy of the context
        finally:
            current_row.reset(token)

    # --- room

    def is_available(self) -> bool:
        """Whether a row may be taken: there is room for it and a call may start."""
        return super().is_available() and (self._only_capacity or self._may_take())

    def _may_take(self) -> bool:
        if any(layer.num_waiting() >= self._may_wait for layer in self._layers):
            return False
        if self._warm_up is None:
            return True
        capacity = self.settings.capacity
        allowed = self._warm_up.allowed(capacity, self._now())
        return allowed == capacity or len(self._queue) < allowed

    def get_available_future(self) -> Future[None]:
        """A future that is done when a row may be taken."""
        future = super().get_available_future()
        if self._warm_up is not None and not future.done():
            self._look_soon()
        return future

    def _look_soon(self) -> None:
        service = self.environment.processing_time_service
        if service is not None and not self._looks:
            self._looks = True
            service.register_timer(self._now() + _STEP_MS, self._look_again)

    def _look_again(self, timestamp: int) -> None:
        self._looks = False
        self._look_for_room()
        if not self._room.done():
            self._look_soon()

    def _on_free(self) -> None:
        """Fewer calls wait in a layer; on any thread."""
        try:
            self._executor.execute(self._look_for_room, "look for room")
        except RejectedExecutionError:
            return  # the task has ended

    def _look_for_room(self) -> None:
        if not self._room.done() and self.is_available():
            complete(self._room, None)


class AnswerBatchOperator(AnswerOperator, AsyncBatchWaitOperator):
    """The same for functions of many rows: a list of rows stands for the row in an Answer."""

    def let_go(self) -> int:
        """How many elements are held; what was gathered for a batch goes to the function now."""
        if self._gathering:
            self._is_due = True
            self._refill()
        return super().let_go() + len(self._gathering)


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
                emit(StreamRecord((call.value, what, call.attempt, call.timestamp)))
