"""Tasks: records through one, through a channel between two, through several channels; checkpoints.

``time_`` figures are seconds for all ``RECORDS``: divide to get the cost of one.  ``track_`` are
medians: ms from asking a busy task for a checkpoint until it is taken.
"""

import threading
import time
from concurrent.futures import Future
from statistics import median

from flinkish.common import StreamRecord
from flinkish.common.elements import StreamElement
from flinkish.operators import StreamOperator
from flinkish.task import (
    CheckpointMetaData,
    ElementChannel,
    InputStatus,
    MultiChannelInput,
    OneInputStreamTask,
)

RECORDS = 200_000
CHECKPOINTS = 200
RECORD = StreamRecord(1, 1)
_READY: Future[None] = Future()
_READY.set_result(None)


class Forwarding(StreamOperator):
    """Passes records on."""

    def process_element(self, record: StreamRecord) -> None:
        self.output.emit(record)


class Endless:
    """An input of the same record, ``count`` times or without end."""

    def __init__(self, count: int | None) -> None:
        self.left = count
        self.ends = [InputStatus.END_OF_INPUT, InputStatus.END_OF_DATA]

    def poll_next(self) -> StreamElement | InputStatus:
        if self.left is not None:
            if not self.left:
                return self.ends.pop()
            self.left -= 1
        return RECORD

    def get_available_future(self) -> Future[None]:
        return _READY


class Nowhere:
    """An output that forgets."""

    def emit(self, element: StreamElement) -> None:
        pass

    def is_available(self) -> bool:
        return True

    def get_available_future(self) -> Future[None]:
        return _READY


class _Bench:
    number = 1
    repeat = (3, 7, 10.0)
    warmup_time = 0


class TaskRecords(_Bench):
    """Records through tasks."""

    def time_one_input(self) -> None:
        OneInputStreamTask(Forwarding(), Endless(RECORDS), Nowhere()).invoke()

    def time_the_same_calls_by_hand(self) -> None:
        """What the input and the operator cost without a task."""
        poll, process = Endless(RECORDS).poll_next, Forwarding()
        process.setup(Nowhere())
        for _ in range(RECORDS):
            element = poll()
            assert isinstance(element, StreamRecord)
            process.process_element(element)

    def time_several_channels(self) -> None:
        channels = [Endless(RECORDS // 4) for _ in range(4)]
        OneInputStreamTask(Forwarding(), MultiChannelInput(channels), Nowhere()).invoke()

    def time_two_tasks_with_a_channel_between_them(self) -> None:
        between = ElementChannel()
        first = OneInputStreamTask(Forwarding(), Endless(RECORDS), between.output)
        second = OneInputStreamTask(Forwarding(), between.input, Nowhere())
        thread = threading.Thread(target=first.invoke)
        thread.start()
        second.invoke()
        thread.join()


class TaskCheckpoints:
    """Checkpoints of a task that always has input."""

    unit = "ms"

    def track_until_a_busy_task_has_taken_a_checkpoint(self) -> float:
        task = OneInputStreamTask(Forwarding(), Endless(None), Nowhere())
        thread = threading.Thread(target=task.invoke)
        thread.start()
        while not task.is_running:
            time.sleep(0.001)
        spans = []
        for number in range(1, CHECKPOINTS + 1):
            begun = time.perf_counter()
            assert task.trigger_checkpoint_async(CheckpointMetaData(number, 0)).result(20)
            spans.append(time.perf_counter() - begun)
        task.cancel()
        thread.join()
        return median(spans) * 1000
