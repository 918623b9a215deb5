"""The task of an operator with one input of elements."""

from __future__ import annotations

import time
from collections.abc import Callable

from flinkish.common.elements import (
    CancelCheckpointMarker,
    CheckpointBarrier,
    LatencyMarker,
    StreamElement,
    StreamRecord,
    Watermark,
    WatermarkStatus,
)
from flinkish.common.errors import ArgumentTypeError
from flinkish.common.timestamps import MAX_TIMESTAMP, MIN_TIMESTAMP
from flinkish.operators import OperatorEnvironment, StreamOperator
from flinkish.task.alignment import AlignmentAborted
from flinkish.task.checkpoint_storage import CheckpointStorage
from flinkish.task.checkpoint_types import CheckpointMetaData, CheckpointOptions
from flinkish.task.element_io import (
    Available,
    InputStatus,
    StopMode,
    StreamTaskInput,
    StreamTaskOutput,
    check_protocol,
)
from flinkish.task.multi_channel_input import CheckpointedInput
from flinkish.task.stream_task import StreamTask
from flinkish.task.watermark_processor import MailboxWatermarkProcessor
from flinkish.time import ProcessingTimeService

__all__ = ["OneInputStreamTask"]


class _OneInputProcessor:
    """Takes elements until there is mail, no more input or no room.

    As in Flink's AbstractStreamTaskNetworkInput.
    """

    def __init__(self, task: OneInputStreamTask, source: StreamTaskInput) -> None:
        check_protocol("the input of a task", source, ("poll_next", "get_available_future"))
        self._task = task
        self._poll = source.poll_next
        self._source = source

    def process_input(self) -> InputStatus:
        """Hand the next element to the operator."""
        poll, task = self._poll, self._task
        process, may_go_on = task.operator.process_element, task._can_emit_batch
        while True:
            element = poll()
            if type(element) is StreamRecord:
                process(element)
            elif isinstance(element, InputStatus):
                return element
            else:
                task._process_event(element)
            if not may_go_on():
                return InputStatus.MORE_AVAILABLE

    def get_available_future(self) -> Available:
        """A future that is done when there is something to process."""
        return self._source.get_available_future()


class OneInputStreamTask(StreamTask):
    """Feeds an operator from an input, and follows what comes with the records.

    - A watermark goes to the operator if it is greater than the last, and the input is active.
    - A watermark status is passed on when it changes; a latency marker always.
    - A checkpoint barrier goes out and the operator's snapshot is taken, between two records.
    - At END_OF_DATA event time ends: if the input did not say so, the task advances the operator
      to the greatest watermark, then finishes it.

    With ``interruptible_timers`` mails are served between two timers of one watermark, if the
    operator can stop there (see MailboxWatermarkProcessor, which Flink has, too); then
    ``intermediate_watermarks`` has interruptions emit how far event time has come.

    Other parameters, life cycle and threading are those of StreamTask.
    """

    operator: StreamOperator

    def __init__(
        self,
        operator: StreamOperator,
        input: StreamTaskInput,
        output: StreamTaskOutput | None = None,
        *,
        checkpoint_storage: CheckpointStorage | None = None,
        name: str = "task",
        environment: OperatorEnvironment | None = None,
        processing_time_service: ProcessingTimeService | None = None,
        interruptible_timers: bool = False,
        intermediate_watermarks: bool = False,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        if operator is None:
            raise ArgumentTypeError("a task with an input needs an operator, and this is None")
        super().__init__(
            _OneInputProcessor(self, input),
            output,
            operator=operator,
            checkpoint_storage=checkpoint_storage,
            name=name,
            environment=environment,
            processing_time_service=processing_time_service,
            clock=clock,
        )
        self._status = WatermarkStatus.ACTIVE
        self._watermark = MIN_TIMESTAMP
        self._watermarks: MailboxWatermarkProcessor | None = None
        if interruptible_timers:
            check_protocol(
                "an operator with interruptible timers",
                operator,
                ("try_advance_watermark", "next_event_time_timer"),
            )
            self._watermarks = MailboxWatermarkProcessor(
                operator,  # type: ignore[arg-type] # it was checked
                self._emit,
                self.mailbox_executor,
                intermediate=intermediate_watermarks,
            )
        self._source = input
        if isinstance(input, CheckpointedInput):
            self._checkpoints.in_flight = input.in_flight
        self._events: dict[type[StreamElement], Callable[..., object]] = {
            StreamRecord: operator.process_element,
            Watermark: self._on_watermark,
            WatermarkStatus: self._on_status,
            LatencyMarker: self._emit,
            CheckpointBarrier: self._on_barrier,
            CancelCheckpointMarker: self._checkpoints.on_cancel_marker,
            AlignmentAborted: self._on_alignment_aborted,
        }

    def _restore(self) -> None:
        super()._restore()
        if isinstance(self._source, CheckpointedInput):
            self._source.start(
                self._process_event, self._processor.main_mailbox_executor, self._timers
            )

    def _restore_in_flight(self, elements: list[list[StreamElement]]) -> None:
        if isinstance(self._source, CheckpointedInput):
            self._source.restore_in_flight(elements)
        else:
            super()._restore_in_flight(elements)

    def _can_emit_batch(self) -> bool:
        return not self._mailbox.has_mail() and self._outlets.is_available()

    def _emit(self, element: StreamElement) -> None:
        if self._output is not None:
            self._output.emit(element)

    def _process_event(self, element: StreamElement) -> None:
        for kind, process in self._events.items():
            if isinstance(element, kind):
                process(element)
                return
        raise ArgumentTypeError(
            f"poll_next must return a StreamElement or an InputStatus, not {element!r}"
        )

    def _on_watermark(self, watermark: Watermark) -> None:
        if self._status.is_idle() or watermark.timestamp <= self._watermark:
            return
        if self._was_finished:
            return  # its operator has seen the end of time
        self._watermark = watermark.timestamp
        if self._watermarks is None:
            self.operator.process_watermark(watermark)
        else:
            self._watermarks.process_watermark(watermark)

    def _on_status(self, status: WatermarkStatus) -> None:
        if status is not self._status:
            self._status = status
            self._emit(status)

    def _on_barrier(self, barrier: CheckpointBarrier) -> None:
        meta = CheckpointMetaData(barrier.id, barrier.timestamp)
        self.perform_checkpoint(meta, CheckpointOptions.of(barrier))

    def _on_alignment_aborted(self, aborted: AlignmentAborted) -> None:
        self._checkpoints.give_up(aborted.checkpoint_id, aborted.reason)

    def _end_event_time(self, mode: StopMode) -> None:
        if mode is StopMode.DRAIN and self._watermark < MAX_TIMESTAMP:
            self._status = WatermarkStatus.ACTIVE
            self._on_watermark(Watermark.MAX_WATERMARK)
        if self._watermarks is not None:
            self._watermarks.finish()
