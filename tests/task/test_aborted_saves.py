"""Checkpoints that end badly while a storage saves them, and tasks that end before they answer."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from flinkish.common.elements import StreamRecord
from flinkish.common.errors import (
    CheckpointError,
    CheckpointStorageError,
    UnsupportedOperationError,
)
from flinkish.task import (
    CheckpointCoordinator,
    CheckpointStorage,
    ElementChannel,
    FileSystemCheckpointStorage,
    OneInputStreamTask,
    StoredCheckpoint,
    TaskState,
)
from tests.task.bench import Bench
from tests.task.jobs import Tracing
from tests.waiting import PATIENCE, until


class Hooked(FileSystemCheckpointStorage):
    """Does something while it saves, before and after the checkpoint is there to be loaded."""

    before: Callable[[], object] | None = None
    after: Callable[[], object] | None = None

    def save(self, checkpoint_id: int, state: Mapping[str, bytes]) -> None:
        before, self.before = self.before, None
        if before is not None:
            before()
        super().save(checkpoint_id, state)
        after, self.after = self.after, None
        if after is not None:
            after()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Any]:
    made: list[Bench] = []

    def make(**settings: Any) -> Bench:
        made.append(Bench(tmp_path, tolerable_failures=9, timeout=100, **settings))
        made[-1].storage = made[-1].coordinator._storage = Hooked(tmp_path, retain=1)
        return made[-1]

    yield make
    for one in made:
        one.coordinator.shutdown()


def reason(future: Future[Any]) -> str | None:
    error = future.exception(0)
    assert isinstance(error, CheckpointError)
    return error.reason


@pytest.mark.parametrize("moment", ["before", "after"])
def test_one_that_expires_while_it_is_saved_is_not_kept(
    bench: Any, tmp_path: Path, moment: str
) -> None:
    """And the one before it is, though the storage retains only one."""
    one = bench()
    one.trigger()
    one.complete(1)
    seen = []

    def expire() -> None:
        one.clock.set_current_time(1_200)
        seen.append((reason(future), list(one.a.told)))

    future = one.trigger()
    setattr(one.storage, moment, expire)
    one.complete(2)
    # The caller hears of it at once, and the tasks when it cannot be restored any more.
    assert seen == [("CHECKPOINT_EXPIRED", [1])]
    assert one.a.told == one.b.told == [1, (2, 1)]
    assert one.storage.load_latest().checkpoint_id == 1
    one.trigger()
    one.complete(3)
    assert one.storage.load_latest().checkpoint_id == 3
    assert [path.name[-2:] for path in tmp_path.iterdir()] == ["03"]


def test_stopping_while_one_is_saved(bench: Any) -> None:
    one = bench()
    one.storage.after = one.coordinator.stop
    future = one.trigger()
    one.complete(1)
    assert reason(future) == "CHECKPOINT_COORDINATOR_SUSPEND"
    assert one.storage.load_latest() is None
    assert one.a.told == [(1, 0)]


def test_a_save_that_fails_after_the_checkpoint_is_there(bench: Any) -> None:
    one = bench()

    def fail() -> None:
        raise CheckpointStorageError("the names in the directory could not be flushed")

    one.storage.after = fail
    future = one.trigger()
    one.complete(1)
    assert reason(future) == "FINALIZE_CHECKPOINT_FAILURE"
    assert one.storage.load_latest() is None
    assert one.a.told == [(1, 0)]


def test_tasks_fail_if_an_aborted_checkpoint_cannot_be_removed(bench: Any) -> None:
    """They are not told that it was aborted: it may be what they are started from."""
    one = bench()

    def refuse(checkpoint_id: int) -> None:
        raise CheckpointStorageError(f"no right to remove {checkpoint_id}")

    one.storage.discard = refuse
    one.storage.after = one.coordinator.stop
    one.trigger()
    one.complete(1)
    assert one.a.told == []
    assert "no right to remove 1" in str(one.a.failure)


def test_old_checkpoints_that_cannot_be_removed_are_no_failure(
    bench: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one = bench()
    one.trigger()
    one.complete(1)
    (tmp_path / ".unfinished-of-another").write_bytes(b"")
    one.storage._fs = _NoRemoval(one.storage._fs)
    future = one.trigger()
    one.complete(2)
    assert future.result(0).checkpoint_id == 2
    assert "could not be removed" in caplog.text


class _NoRemoval:
    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def delete_file(self, path: str) -> None:
        raise OSError(f"not permitted: {path}")


def test_real_threads_abort_while_a_checkpoint_is_saved(tmp_path: Path) -> None:
    storage = Hooked(tmp_path)
    entered, go_on = Event(), Event()
    channel = ElementChannel()
    operator = _Told()
    task = OneInputStreamTask(operator, channel.input, ElementChannel().output)

    def hold() -> None:
        entered.set()
        assert go_on.wait(PATIENCE)

    storage.after = hold
    with (
        ThreadPoolExecutor(1) as threads,
        CheckpointCoordinator({"task": task}, storage) as coordinator,
    ):
        ended = threads.submit(task.invoke)
        until(lambda: task.is_running)
        future = coordinator.trigger_checkpoint()
        assert entered.wait(PATIENCE)
        coordinator.stop()
        assert reason(future) == "CHECKPOINT_COORDINATOR_SUSPEND"
        assert operator.told == []
        go_on.set()
        until(lambda: operator.told)
        assert operator.told == ["aborted 1"]
        assert storage.load_latest() is None
        channel.output.end_of_data()
        ended.result(PATIENCE)


class _Told(Tracing):
    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.told.append(f"aborted {checkpoint_id}")


# --- storages of others


class Memory(CheckpointStorage):
    def __init__(self) -> None:
        self.saved: list[StoredCheckpoint] = []

    def save(self, checkpoint_id: int, state: Mapping[str, bytes]) -> None:
        self.saved.append(StoredCheckpoint(checkpoint_id, dict(state)))

    def load_latest(self) -> StoredCheckpoint | None:
        return self.saved[-1] if self.saved else None


def test_a_storage_of_ones_own(bench: Any) -> None:
    one = bench()
    storage = one.coordinator._storage = Memory()
    one.trigger()
    one.complete(1)
    assert storage.load_latest() == StoredCheckpoint(1, {"a": b"state", "b": b"state"})
    with pytest.raises(UnsupportedOperationError, match=r"Memory .* define .*discard"):
        storage.discard(1)


def test_a_storage_must_derive_from_the_interface() -> None:
    with pytest.raises(TypeError, match="abstract"):
        CheckpointStorage()  # type: ignore[abstract]


# --- tasks that end


@pytest.mark.parametrize(
    ("failure", "expected"),
    [(ValueError("no"), "TASK_FAILURE"), (None, "CHECKPOINT_DECLINED_TASK_CLOSING")],
)
def test_a_task_that_ends_fails_what_lacks_its_state_at_once(
    bench: Any, failure: Exception | None, expected: str
) -> None:
    one = bench(interval=10)
    pending, queued = one.trigger(), one.trigger()
    one.coordinator.start()
    one.a.acknowledge(1)
    one.b.state = TaskState.FAILED
    one.b.responder.task_ended(failure)
    assert reason(pending) == expected
    assert pending.exception(0).__cause__ is failure
    assert reason(queued) == "NOT_ALL_REQUIRED_TASKS_RUNNING"
    assert one.clock.num_active_timers == 0  # no periodic ones follow, which would all fail
    assert one.a.failure is None


def test_one_that_has_the_state_of_an_ended_task_goes_on(bench: Any) -> None:
    one = bench()
    future = one.trigger()
    one.a.acknowledge(1)
    one.a.responder.task_ended(None)
    one.b.acknowledge(1)
    assert future.result(0).checkpoint_id == 1


def test_a_pending_checkpoint_does_not_outlive_a_failed_task(tmp_path: Path) -> None:
    """With real threads: it had to wait for its ten minutes."""
    failing, idle = ElementChannel(), ElementChannel()
    operator = Tracing()
    tasks = {
        "failing": OneInputStreamTask(operator, failing.input, ElementChannel().output),
        "idle": OneInputStreamTask(Tracing(), idle.input, ElementChannel().output),
    }
    operator.fail_on = "element 1"
    with (
        ThreadPoolExecutor(2) as threads,
        CheckpointCoordinator(
            tasks, FileSystemCheckpointStorage(tmp_path), triggered=["idle"]
        ) as coordinator,
    ):
        ended = [threads.submit(task.invoke) for task in tasks.values()]
        until(lambda: all(task.is_running for task in tasks.values()))
        pending = coordinator.trigger_checkpoint()
        until(lambda: tasks["idle"].statistics().checkpoints_taken)
        failing.output.emit(StreamRecord(1))
        error = pending.exception(PATIENCE)
        assert isinstance(error, CheckpointError)
        assert error.reason == "TASK_FAILURE"
        assert isinstance(error.__cause__, ValueError)
        tasks["idle"].cancel()
        assert isinstance(ended[0].exception(PATIENCE), ValueError)
        assert ended[1].exception(PATIENCE) is None


def test_a_task_that_waits_for_the_final_checkpoint_fails_with_another(tmp_path: Path) -> None:
    failing, done = ElementChannel(), ElementChannel()
    operator = Tracing()
    tasks = {
        "failing": OneInputStreamTask(operator, failing.input, ElementChannel().output),
        "done": OneInputStreamTask(Tracing(), done.input, ElementChannel().output),
    }
    operator.fail_on = "element 1"
    storage = FileSystemCheckpointStorage(tmp_path)
    with (
        ThreadPoolExecutor(2) as threads,
        CheckpointCoordinator(tasks, storage, final_checkpoint=True),
    ):
        ended = [threads.submit(task.invoke) for task in tasks.values()]
        done.output.end_of_data()
        until(lambda: all(task.is_running for task in tasks.values()))
        failing.output.emit(StreamRecord(1))
        error = ended[1].exception(PATIENCE)
        assert isinstance(error, CheckpointError)
        assert "'failing' has failed before" in str(error)
        assert error.__cause__ is ended[0].exception(PATIENCE)
