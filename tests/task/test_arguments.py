"""What tasks are given, and what they do without."""

from typing import Any

import pytest

from flinkish.common.elements import (
    CheckpointBarrier,
    LatencyMarker,
    StreamRecord,
    Watermark,
    WatermarkStatus,
)
from flinkish.common.errors import ArgumentTypeError, UnsupportedOperationError
from flinkish.operators import StreamOperator
from flinkish.task import ElementChannel, InputStatus, OneInputStreamTask, StreamTask, TaskState
from flinkish.testing import TestProcessingTimeService
from flinkish.time import SystemProcessingTimeService


class Sink(StreamOperator):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[int] = []

    def process_element(self, record: StreamRecord) -> None:
        self.seen.append(record.value)


class Emitting(Sink):
    def process_element(self, record: StreamRecord) -> None:
        self.output.emit(record)


def run(operator: StreamOperator) -> OneInputStreamTask:
    channel = ElementChannel()
    task = OneInputStreamTask(operator, channel.input)
    for element in (
        StreamRecord(1),
        Watermark(10),
        WatermarkStatus.IDLE,
        WatermarkStatus.ACTIVE,
        LatencyMarker(1, 2, 3),
        CheckpointBarrier(1, 0),
        StreamRecord(2),
    ):
        channel.output.emit(element)
    channel.output.end_of_data()
    task.invoke()
    return task


def test_a_task_without_an_output() -> None:
    """Its watermarks, markers and barriers go nowhere."""
    sink = Sink()
    assert run(sink).state is TaskState.FINISHED
    assert sink.seen == [1, 2]


def test_its_records_do_not() -> None:
    with pytest.raises(UnsupportedOperationError, match="a task without an output: give the task"):
        run(Emitting())


class _Nothing:
    def process_input(self) -> InputStatus:
        return InputStatus.END_OF_INPUT

    def get_available_future(self) -> Any:
        raise AssertionError


@pytest.mark.parametrize("wrong", [len, "operator", Sink])
def test_an_operator_that_is_none_is_refused_at_once(wrong: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="a task runs an operator, not"):
        StreamTask(_Nothing(), operator=wrong)
    with pytest.raises(ArgumentTypeError, match="a task runs an operator, not"):
        OneInputStreamTask(wrong, ElementChannel().input)


def test_a_storage_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(ArgumentTypeError, match="a checkpoint storage needs the methods save"):
        StreamTask(_Nothing(), checkpoint_storage="/tmp/checkpoints")  # type: ignore[arg-type]


def test_the_clock_of_a_task() -> None:
    clock = TestProcessingTimeService()
    clock.set_current_time(7)
    task = StreamTask(_Nothing(), processing_time_service=clock)
    assert task.processing_time_service.get_current_processing_time() == 7
    assert isinstance(StreamTask(_Nothing()).processing_time_service, SystemProcessingTimeService)
