"""Checkpoints of one task, asked for and told of from other threads (Flink: A.47 - A.49)."""

import threading
from concurrent.futures import Future
from pathlib import Path

import pytest

from flinkish.common.elements import (
    CancelCheckpointMarker,
    CheckpointBarrier,
    StreamRecord,
)
from flinkish.common.errors import (
    ArgumentTypeError,
    CheckpointError,
    CheckpointStorageError,
    CorruptStateError,
    IllegalStateError,
    IncompatibleStateError,
)
from flinkish.operators import OperatorEnvironment
from flinkish.task import (
    AlignmentType,
    CheckpointCoordinator,
    CheckpointMetaData,
    CheckpointOptions,
    ElementChannel,
    FileSystemCheckpointStorage,
    InputStatus,
    OneInputStreamTask,
    StreamTask,
    TaskState,
)
from tests.task.jobs import Output, Script, Tracing, filled, running
from tests.waiting import PATIENCE, until

META = CheckpointMetaData(1, 10)


def test_a_triggered_checkpoint_sends_its_barrier_and_takes_the_state(tmp_path: Path) -> None:
    """A.47; with a storage of its own the task starts again from it."""
    output, operator = Output(), Tracing()
    storage = FileSystemCheckpointStorage(tmp_path)
    task = OneInputStreamTask(
        operator, filled(1, 2, end=False).input, output, checkpoint_storage=storage
    )
    with running(task):
        until(lambda: operator.count == 2)
        assert task.trigger_checkpoint_async(META, CheckpointOptions()).result(PATIENCE) is True
        until(lambda: task.statistics().last_completed_checkpoint == 1)
    assert output.elements == [StreamRecord(1), StreamRecord(2), CheckpointBarrier(1, 10)]
    assert operator.events[3:5] == ["snapshot 1", "complete 1"]

    operator = Tracing()
    again = OneInputStreamTask(operator, filled(3).input, Output(), checkpoint_storage=storage)
    again.invoke()
    assert operator.events[:3] == ["restore 2", "open", "element 3"]
    other = OneInputStreamTask(
        Tracing(), filled(3).input, checkpoint_storage=storage, name="another"
    )
    with pytest.raises(IncompatibleStateError, match=r"\['task'\], and this task is 'another'"):
        other.invoke()


def test_a_task_that_does_not_run_declines() -> None:
    """A.48"""
    declined = []

    class Responder:
        def acknowledge_checkpoint(self, meta: object, state: bytes) -> None:
            raise AssertionError

        def decline_checkpoint(self, meta: CheckpointMetaData, error: CheckpointError) -> None:
            declined.append((meta.id, error.reason))

        def close(self) -> None: ...

    task = StreamTask(Script())
    task.set_checkpoint_responder(Responder())
    assert task.trigger_checkpoint_async(META).result(0) is False
    task.invoke()
    assert task.trigger_checkpoint_async(CheckpointMetaData(2, 0)).result(0) is False
    assert task.notify_checkpoint_complete_async(1).result(0) is None
    assert declined == [
        (1, "CHECKPOINT_DECLINED_TASK_NOT_READY"),
        (2, "CHECKPOINT_DECLINED_TASK_NOT_READY"),
    ]


def test_a_mail_that_finds_the_task_not_running_cancels_downstream() -> None:
    """A.48: the marker tells those who would wait for the barrier."""
    output = Output()

    class Early(Tracing):
        def open(self) -> None:
            super().open()
            self.output.emit(StreamRecord("opened"))

    task = StreamTask(Script(), output, operator=Early())
    assert task.perform_checkpoint(META) is False
    assert output.elements == [CancelCheckpointMarker(1)]


def test_a_failing_snapshot_fails_future_and_task() -> None:
    """A.47, A.48"""
    operator = Tracing()
    operator.fail_on = "snapshot 1"
    task = StreamTask(Script(InputStatus.NOTHING_AVAILABLE), Output(), operator=operator)
    with running(task) as (run,):
        future = task.trigger_checkpoint_async(META)
        error = future.exception(PATIENCE)
        assert run.join() is error
    assert isinstance(error, CheckpointError)
    assert "Could not perform checkpoint 1" in str(error)
    assert isinstance(error.__cause__, ValueError)


def test_a_failing_storage_fails_the_checkpoint_alone(tmp_path: Path) -> None:
    storage = FileSystemCheckpointStorage(tmp_path / "gone")
    task = StreamTask(
        Script(InputStatus.NOTHING_AVAILABLE), operator=Tracing(), checkpoint_storage=storage
    )
    with running(task):
        (tmp_path / "gone").rmdir()
        with pytest.raises(CheckpointStorageError):
            task.trigger_checkpoint_async(META).result(PATIENCE)
        assert task.is_running
        (tmp_path / "gone").mkdir()
        assert task.trigger_checkpoint_async(CheckpointMetaData(2, 0)).result(PATIENCE) is True
    assert task.statistics().checkpoints_failed == 1


def test_triggers_that_are_never_run_are_answered() -> None:
    """The mailbox is closed over them: declined."""
    operator, entered, go_on = Tracing(), threading.Event(), threading.Event()

    def block() -> None:
        entered.set()
        go_on.wait(PATIENCE)
        raise ValueError("end")

    task = StreamTask(Script(InputStatus.NOTHING_AVAILABLE), operator=operator)
    with running(task) as (run,):
        task.mailbox_executor.execute(block)
        entered.wait(PATIENCE)
        trigger = task.trigger_checkpoint_async(META)
        told = task.notify_checkpoint_complete_async(1)
        go_on.set()
        assert isinstance(run.join(), ValueError)
    # The notification has the higher priority and yet its turn behind the mail that failed.
    assert trigger.result(0) is False
    assert told.result(0) is None
    assert operator.events == ["open", "close"]


@pytest.mark.parametrize(
    ("alignment", "first"),
    [(AlignmentType.UNALIGNED, "snapshot 1"), (AlignmentType.ALIGNED, "mail")],
)
def test_only_an_unaligned_checkpoint_is_urgent(alignment: AlignmentType, first: str) -> None:
    """A.47"""
    operator = Tracing()

    def put() -> InputStatus:
        task.mailbox_executor.execute(lambda: operator.note("mail"))
        task.trigger_checkpoint_async(META, CheckpointOptions(alignment))
        return InputStatus.MORE_AVAILABLE

    task = StreamTask(Script(put, InputStatus.MORE_AVAILABLE), operator=operator)
    task.invoke()
    assert operator.events[1] == first


def test_notifications_are_seen_by_every_yield() -> None:
    """A.49: mails of the highest priority."""
    operator = Tracing()

    def yield_once() -> InputStatus:
        task._processor.main_mailbox_executor.execute(lambda: operator.note("of no operator"))
        told = task.notify_checkpoint_complete_async(3)
        assert task.mailbox_executor.try_yield()
        assert told.done()
        return InputStatus.MORE_AVAILABLE

    task = StreamTask(Script(yield_once, InputStatus.MORE_AVAILABLE), operator=operator)
    task.invoke()
    assert operator.events[1:3] == ["complete 3", "of no operator"]


def test_notifications_know_what_was_told() -> None:
    """A.49: old completions are ignored; an abort first tells the latest completion."""
    operator = Tracing()
    task = StreamTask(Script(InputStatus.NOTHING_AVAILABLE), operator=operator)
    with running(task):
        task.notify_checkpoint_complete_async(4)
        task.notify_checkpoint_complete_async(4)
        task.notify_checkpoint_complete_async(3)
        task.notify_checkpoint_aborted_async(7, 6)
        task.notify_checkpoint_aborted_async(8, 0).result(PATIENCE)
    assert operator.events[1:-1] == ["complete 4", "complete 6", "aborted 7", "aborted 8"]


def test_an_error_in_a_notification_fails_future_and_task() -> None:
    """A.49"""
    operator = Tracing()
    operator.fail_on = "complete 1"
    task = StreamTask(Script(InputStatus.NOTHING_AVAILABLE), operator=operator)
    with running(task) as (run,):
        error = task.notify_checkpoint_complete_async(1).exception(PATIENCE)
        assert isinstance(error, ValueError)
        assert run.join() is error


def test_a_checkpoint_that_was_aborted_before_it_came_is_cancelled_downstream() -> None:
    output, operator = Output(), Tracing()
    channel = ElementChannel()
    task = OneInputStreamTask(operator, channel.input, output)
    with running(task) as (run,):
        task.notify_checkpoint_aborted_async(1, 0).result(PATIENCE)
        channel.output.emit(CheckpointBarrier(1, 0))
        channel.output.emit(CheckpointBarrier(2, 0))
        channel.output.end_of_data()
        assert run.join() is None
    assert output.elements[:2] == [CancelCheckpointMarker(1), CheckpointBarrier(2, 0)]
    assert "snapshot 1" not in operator.events


def test_a_checkpoint_behind_the_end_of_the_data_is_declined() -> None:
    output = Output()

    def trigger() -> InputStatus:
        nonlocal future
        future = task.trigger_checkpoint_async(META)
        return InputStatus.MORE_AVAILABLE

    future: Future[bool] | None = None
    script = Script(InputStatus.END_OF_DATA, trigger, InputStatus.MORE_AVAILABLE)
    task = StreamTask(script, output, operator=Tracing())
    task.invoke()
    assert future is not None
    assert future.result(0) is False
    assert output.elements == []


def test_metrics_are_registered() -> None:
    environment = OperatorEnvironment()
    StreamTask(Script(), environment=environment).invoke()
    found = environment.metrics.snapshot()
    assert found["accumulateIdleTimeMs"] == 0
    assert found["accumulateBackPressuredTimeMs"] == 0
    assert found["accumulateBusyTimeMs"] >= 0


def test_meta_data_are_checked() -> None:
    with pytest.raises(ArgumentTypeError, match="CheckpointMetaData"):
        StreamTask(Script()).trigger_checkpoint_async(1)  # type: ignore[arg-type]


def test_a_checkpoint_belongs_to_the_thread_of_the_task() -> None:
    task = StreamTask(Script(InputStatus.NOTHING_AVAILABLE))
    with running(task), pytest.raises(IllegalStateError, match="use trigger_checkpoint_async"):
        task.perform_checkpoint(META)


def test_a_directory_with_a_foreign_checkpoint_is_refused(tmp_path: Path) -> None:
    (tmp_path / f"checkpoint-{7:020d}").write_bytes(b"of another program")
    storage = FileSystemCheckpointStorage(tmp_path)
    task = StreamTask(Script(), operator=Tracing(), checkpoint_storage=storage)
    with pytest.raises(CorruptStateError, match="none of the 1 checkpoints"):
        task.invoke()
    assert task.state is TaskState.FAILED
    with pytest.raises(CorruptStateError):
        CheckpointCoordinator({"task": StreamTask(Script())}, storage)


def test_a_task_keeps_its_checkpoints_itself_or_leaves_them_to_a_coordinator(
    tmp_path: Path,
) -> None:
    storage = FileSystemCheckpointStorage(tmp_path)
    task = StreamTask(Script(), checkpoint_storage=storage)
    with pytest.raises(IllegalStateError, match="make it without checkpoint_storage"):
        CheckpointCoordinator({"task": task}, storage)
    task.invoke()
    with pytest.raises(IllegalStateError, match="finished: make a new task"):
        task.set_initial_state(1, b"")
