"""A legacy source inside its task: an operator without input, and the context it emits to."""

from __future__ import annotations

import threading

from flinkish.common.elements import StreamElement, StreamRecord, Watermark, WatermarkStatus
from flinkish.common.errors import CancelTaskError, CorruptStateError, UnsupportedOperationError
from flinkish.functions import CheckpointedFunction, SourceFunction
from flinkish.operators import LifeCycle, OperatorEnvironment, StreamOperator, TaskRuntimeContext
from flinkish.operators.base import Output
from flinkish.task.checkpoint_lock import CheckpointLock
from flinkish.task.element_io import StreamTaskOutput
from flinkish.task.io_metrics import PeriodTimer

__all__ = ["LegacySourceContext", "SourceOperator"]


class LegacySourceContext(SourceFunction.SourceContext):
    """Emits to the task's output, under the checkpoint lock.

    A thread that emits waits for room first: before the lock is taken, so that checkpoints go
    through meanwhile, or within it where the caller holds it and has filled the output by then.

    Threading: any thread of the source; ``close`` is for all.
    """

    def __init__(
        self, output: StreamTaskOutput, lock: CheckpointLock, back_pressured: PeriodTimer
    ) -> None:
        self._output = output
        self._lock = lock
        self._timer = back_pressured
        self._changed = threading.Condition()
        self._closed = ""
        self._idle = False

    def get_checkpoint_lock(self) -> CheckpointLock:
        """The lock that the source holds while it emits and changes its state."""
        return self._lock

    def collect(self, element: object) -> None:
        """Emit an element without a timestamp."""
        self._emit(StreamRecord(element))

    def collect_with_timestamp(self, element: object, timestamp: int) -> None:
        """Emit an element with its timestamp (ms)."""
        self._emit(StreamRecord(element, timestamp))

    def emit_watermark(self, mark: Watermark | int) -> None:
        """Emit a watermark (ms)."""
        self._emit(mark if isinstance(mark, Watermark) else Watermark(mark))

    def mark_as_temporarily_idle(self) -> None:
        """Say that no element comes for a while, so that others need not wait."""
        with self._lock:
            if not self._idle:
                self._emit(WatermarkStatus.IDLE)
                self._idle = True

    def close(self, why: str) -> None:
        """Raise CancelTaskError in everything that follows, and in those who wait for room."""
        with self._changed:
            self._closed = self._closed or why
            self._changed.notify_all()

    def _emit(self, element: StreamElement) -> None:
        with self._lock:
            if self._closed or not self._output.is_available():
                self.await_room()
            if self._idle:
                self._idle = False
                self._output.emit(WatermarkStatus.ACTIVE)
            self._output.emit(element)

    def await_room(self) -> None:
        """Return when the output is available; CancelTaskError once this is closed."""
        while not self._closed:
            if self._output.is_available():
                return
            room = self._output.get_available_future()
            room.add_done_callback(self._wake)
            self._timer.mark_start()
            try:
                with self._changed:
                    while not room.done() and not self._closed:
                        self._changed.wait()
            finally:
                self._timer.mark_end()
        raise CancelTaskError(f"nothing can be emitted any more: {self._closed}")

    def _wake(self, _: object) -> None:
        with self._changed:
            self._changed.notify_all()


class SourceOperator(StreamOperator):
    """Opens, snapshots and closes a SourceFunction; its state is that of a CheckpointedFunction."""

    def __init__(self, function: SourceFunction) -> None:
        super().__init__()
        self.function = function

    def setup(self, output: Output, environment: OperatorEnvironment | None = None) -> None:
        """Say where elements go and what surrounds the operator."""
        super().setup(output, environment)
        self._runtime_context = TaskRuntimeContext(**self.environment.context_settings())

    def initialize_state(self, state: bytes | None = None) -> None:
        """Hand the state to the function; CorruptStateError if it can take none."""
        super().initialize_state(state)
        if not state:
            return
        if not isinstance(self.function, CheckpointedFunction):
            raise CorruptStateError(
                f"there are {len(state)} bytes of state for {type(self.function).__name__}, which "
                "is no CheckpointedFunction: restore it with the function that wrote them"
            )
        self.function.restore_state(state)

    def open(self) -> None:
        """Open the function."""
        super().open()
        self.function.open(self._runtime_context)

    def process_element(self, record: StreamRecord) -> None:
        """A source has no input."""
        raise UnsupportedOperationError(f"a source takes no elements, and {record!r} came")

    def snapshot_state(self, checkpoint_id: int) -> bytes:
        """The function's snapshot; empty for a function without state."""
        super().snapshot_state(checkpoint_id)
        if isinstance(self.function, CheckpointedFunction):
            return self.function.snapshot_state(checkpoint_id)
        return b""

    def close(self) -> None:
        """Close the function, if it was opened."""
        opened = self.life in (LifeCycle.OPEN, LifeCycle.FINISHED)
        super().close()
        if opened:
            self.function.close()
