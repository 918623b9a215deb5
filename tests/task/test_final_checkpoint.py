"""The checkpoint after the end of all data (Flink: A.51, first step)."""

import threading
from pathlib import Path
from typing import Any

import pytest

from flinkish.common.elements import CheckpointBarrier, StreamRecord, Watermark
from flinkish.common.errors import CheckpointError, CheckpointStorageError, IllegalStateError
from flinkish.task import (
    CheckpointCoordinator,
    ElementChannel,
    FileSystemCheckpointStorage,
    InputStatus,
    MultiChannelInput,
    OneInputStreamTask,
    SourceStreamTask,
    StopMode,
    StreamTask,
    TaskState,
)
from flinkish.task.in_flight import TaskSnapshot
from tests.task.jobs import Counting, Tracing, running
from tests.waiting import PATIENCE, until


class Committing(Tracing):
    """Writes what it is given when a checkpoint that covers it is complete."""

    def __init__(self, written: list[Any]) -> None:
        super().__init__()
        self.written = written
        self.waiting: list[Any] = []
        self.covered: list[Any] = []

    def process_element(self, record: StreamRecord) -> None:
        self.waiting.append(record.value)

    def snapshot_state(self, checkpoint_id: int) -> bytes:
        self.covered, self.waiting = self.covered + self.waiting, []
        return super().snapshot_state(checkpoint_id)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        super().notify_checkpoint_complete(checkpoint_id)
        self.written += self.covered
        self.covered = []


class Held(Counting):
    """Emits its elements when it is let."""

    def __init__(self, end: int, go: threading.Event) -> None:
        super().__init__(end)
        self.go = go

    def run(self, ctx: Any) -> None:
        self.go.wait()
        super().run(ctx)

    def cancel(self) -> None:
        super().cancel()
        self.go.set()


class Job:
    """Two sources and a sink that commits with checkpoints."""

    def __init__(self, directory: Path, **options: Any) -> None:
        self.written: list[Any] = []
        self.go = threading.Event()
        self.channels = [ElementChannel(), ElementChannel()]
        self.sources = [Counting(5), Held(3, self.go)]
        self.sink = Committing(self.written)
        reader = MultiChannelInput([channel.input for channel in self.channels])
        self.out = ElementChannel()
        self.tasks: dict[str, StreamTask] = {
            "left": SourceStreamTask(self.sources[0], self.channels[0].output),
            "right": SourceStreamTask(self.sources[1], self.channels[1].output),
            "sink": OneInputStreamTask(self.sink, reader, self.out.output),
        }
        self.storage = FileSystemCheckpointStorage(directory)
        self.coordinator = CheckpointCoordinator(
            self.tasks, self.storage, final_checkpoint=True, **options
        )

    def await_end_of_left(self) -> None:
        """The sink has its elements, and its task knows that no more come."""
        until(lambda: len(self.sink.waiting) == 5 and self.tasks["left"]._data_ended)

    def errors(self, started: list[Any]) -> list[BaseException | None]:
        return [one.join() for one in started]


def test_what_came_last_is_covered_by_a_checkpoint_before_the_tasks_end(tmp_path: Path) -> None:
    job = Job(tmp_path)
    with job.coordinator, running(*job.tasks.values()) as started:
        job.await_end_of_left()
        assert job.tasks["left"].is_running  # its data have ended, and it waits
        assert job.written == []
        job.go.set()
        assert job.errors(started) == [None] * 3
    assert sorted(job.written) == sorted([*range(5), *range(3)])
    assert job.sink.events[-6:-4] == ["watermark 9223372036854775807", "end input"]
    assert job.sink.events[-4:] == ["finish", "snapshot 1", "complete 1", "close"]
    assert [task.state for task in job.tasks.values()] == [TaskState.FINISHED] * 3
    assert job.out.drain() == [Watermark.MAX_WATERMARK]


def test_tasks_whose_data_have_ended_take_part_in_other_checkpoints(tmp_path: Path) -> None:
    """And a restart has nothing to do for them: their state says that they had finished."""
    job = Job(tmp_path)
    with job.coordinator, running(*job.tasks.values()):
        job.await_end_of_left()
        job.coordinator.trigger_checkpoint().result(PATIENCE)
        until(lambda: job.written == [0, 1, 2, 3, 4])
    stored = job.storage.load_latest()
    assert stored is not None
    finished = {name: TaskSnapshot.from_bytes(s).finished for name, s in stored.state.items()}
    assert finished == {"left": True, "right": False, "sink": False}

    again = Job(tmp_path)
    again.coordinator.restore_latest()
    ran: list[Any] = []
    again.sources[0].run = ran.append  # type: ignore[method-assign]
    with again.coordinator, running(*again.tasks.values()) as started:
        again.go.set()
        assert again.errors(started) == [None] * 3
    assert ran == []
    assert again.written == [0, 1, 2]
    assert "end input" in again.sink.events


def test_a_job_that_had_ended_does_nothing_again(tmp_path: Path) -> None:
    job = Job(tmp_path)
    job.go.set()
    with job.coordinator, running(*job.tasks.values()) as started:
        assert job.errors(started) == [None] * 3
    again = Job(tmp_path)
    again.coordinator.restore_latest()
    with again.coordinator, running(*again.tasks.values()) as started:
        assert again.errors(started) == [None] * 3
    assert again.written == []
    assert again.sink.events == ["restore 0", "open", "snapshot 2", "complete 2", "close"]


def test_tasks_fail_when_the_final_checkpoint_does(tmp_path: Path) -> None:
    job = Job(tmp_path / "gone")
    with job.coordinator, running(*job.tasks.values()) as started:
        (tmp_path / "gone").rmdir()
        job.go.set()
        errors = job.errors(started)
    assert all(isinstance(error, CheckpointError) for error in errors)
    assert isinstance(errors[0], CheckpointError)
    assert isinstance(errors[0].__cause__, CheckpointStorageError)


def test_tasks_that_wait_fail_when_the_coordinator_is_shut_down(tmp_path: Path) -> None:
    job = Job(tmp_path)
    with running(*job.tasks.values()) as started:
        job.await_end_of_left()
        job.coordinator.shutdown()
        job.go.set()
        errors = job.errors(started)
    assert {getattr(error, "reason", None) for error in errors} == {
        "CHECKPOINT_COORDINATOR_SHUTDOWN"
    }


def test_tasks_that_wait_are_cancelled(tmp_path: Path) -> None:
    job = Job(tmp_path)
    with job.coordinator, running(*job.tasks.values()) as started:
        job.await_end_of_left()
        for task in job.tasks.values():
            task.cancel()
        assert job.errors(started) == [None] * 3
    assert job.tasks["left"].state is TaskState.CANCELED


@pytest.mark.parametrize("mode", list(StopMode))
def test_a_channel_takes_barriers_between_the_end_of_the_data_and_its_own(mode: StopMode) -> None:
    channel = ElementChannel(1)
    channel.output.emit(StreamRecord(1))
    channel.output.notify_end_of_data(mode)
    end = InputStatus.END_OF_DATA if mode is StopMode.DRAIN else InputStatus.STOPPED
    poll = channel.input.poll_next
    assert [poll(), poll(), poll()] == [StreamRecord(1), end, InputStatus.NOTHING_AVAILABLE]
    available = channel.input.get_available_future()
    assert not available.done()
    with pytest.raises(IllegalStateError, match="after the end of the data"):
        channel.output.emit(StreamRecord(2))
    barrier = CheckpointBarrier(1, 0, unaligned=True)
    channel.output.emit(barrier)
    assert available.done()
    assert channel.input.overtake(1) is None
    assert [poll(), poll()] == [barrier, InputStatus.NOTHING_AVAILABLE]
    available = channel.input.get_available_future()
    channel.output.end_of_data()
    assert available.done()
    assert [poll(), poll()] == [InputStatus.END_OF_INPUT] * 2
    with pytest.raises(IllegalStateError, match="after the end of the data"):
        channel.output.emit(barrier)
