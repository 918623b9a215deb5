"""Checkpoints of several tasks, step by step: tasks, clock and storage are told what to do (F)."""

import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from flinkish.common.errors import (
    CheckpointError,
    CheckpointStorageError,
    IllegalArgumentError,
    IllegalStateError,
    IncompatibleStateError,
)
from flinkish.task import (
    CheckpointCoordinator,
    CheckpointMetaData,
    CompletedCheckpoint,
    CoordinatorStatistics,
    FileSystemCheckpointStorage,
    StoredCheckpoint,
    TaskState,
)
from flinkish.task.checkpoint_requests import MAX_QUEUED, CheckpointRequest, CheckpointRequests
from tests.task.bench import Task
from tests.waiting import PATIENCE


def reason(future: Future[Any]) -> str:
    error = future.exception(0)
    assert isinstance(error, CheckpointError)
    assert error.reason is not None
    return error.reason


# --- the usual course


def test_a_checkpoint_is_complete_when_all_tasks_gave_their_state(bench: Any) -> None:
    """F.5, F.7, F.8"""
    one = bench()
    future = one.trigger()
    assert (one.a.triggered, one.b.triggered) == ([1], [])
    one.a.acknowledge(1, b"of a")
    assert not future.done()
    one.clock.set_current_time(1_030)
    one.b.acknowledge(1, b"of b!")
    assert future.result(0) == CompletedCheckpoint(1, 1_000, 1_030, {"a": 4, "b": 5})
    assert one.storage.load_latest() == StoredCheckpoint(1, {"a": b"of a", "b": b"of b!"})
    assert one.a.told == one.b.told == [1]
    assert one.coordinator.statistics() == CoordinatorStatistics(0, 0, 1, 0, 1)
    assert one.clock.num_active_timers == 0


def test_acknowledgements(bench: Any) -> None:
    """F.7: twice is once; unknown checkpoints and tasks are not known; expired ones are."""
    one = bench(timeout=100, tolerable_failures=9)
    receive = one.coordinator.receive_acknowledge_message
    future = one.trigger()
    assert receive("a", 1, b"first")
    assert receive("a", 1, b"second")
    assert not receive("c", 1, b"")
    assert not receive("a", 2, b"")
    assert receive("b", 1, b"")
    assert future.done()
    assert one.storage.load_latest().state["a"] == b"first"
    assert not receive("a", 1, b"late")
    one.trigger()
    one.clock.set_current_time(1_100)
    assert receive("a", 2, b"too late")
    assert one.storage.load_latest().checkpoint_id == 1


def test_a_decline_aborts(bench: Any) -> None:
    """F.10, F.11: tasks are told of the abort and of the latest complete checkpoint."""
    one = bench(tolerable_failures=9)
    one.trigger()
    one.complete(1)
    future = one.trigger()
    cause = ValueError("no")
    one.b.decline(2, cause)
    assert reason(future) == "CHECKPOINT_DECLINED"
    assert future.exception(0).__cause__ is cause
    assert one.a.told == one.b.told == [1, (2, 1)]
    one.b.decline(2, cause)
    one.b.decline(77, cause)
    one.a.acknowledge(2)
    assert len(one.a.told) == 2
    with pytest.raises(IllegalArgumentError, match="no task 'c'"):
        one.coordinator.receive_decline_message("c", 2, cause)


def test_a_checkpoint_expires(bench: Any) -> None:
    """F.6"""
    one = bench(timeout=100, tolerable_failures=9)
    future = one.trigger()
    one.a.acknowledge(1)
    one.clock.set_current_time(1_099)
    assert not future.done()
    one.clock.set_current_time(1_100)
    assert reason(future) == "CHECKPOINT_EXPIRED"
    assert "still missing: b" in str(future.exception(0))
    assert one.a.told == [(1, 0)]


def test_older_ones_are_subsumed(bench: Any) -> None:
    """F.8: the newer is told after; a savepoint is not subsumed."""
    one = bench(max_concurrent=3)
    first, second, third = one.trigger(), one.trigger(), one.trigger()
    assert one.a.triggered == [1, 2, 3]
    one.complete(2)
    assert second.done()
    assert reason(first) == "CHECKPOINT_SUBSUMED"
    assert one.a.told == [(1, 2), 2]
    assert not third.done()


def test_a_storage_that_fails(bench: Any, tmp_path: Path) -> None:
    """F.9"""
    one = bench(tolerable_failures=9)
    for path in tmp_path.iterdir():
        path.unlink()
    tmp_path.rmdir()
    future = one.trigger()
    one.complete(1)
    assert reason(future) == "FINALIZE_CHECKPOINT_FAILURE"
    assert isinstance(future.exception(0).__cause__, CheckpointStorageError)
    assert one.a.told == [(1, 0)]


def test_savepoints(bench: Any, tmp_path: Path) -> None:
    """F.8: kept where they were wanted; nobody is told, nothing is subsumed; they go first."""
    one = bench()
    elsewhere = FileSystemCheckpointStorage(tmp_path / "savepoint")
    usual = one.trigger()
    future = one.coordinator.trigger_savepoint(elsewhere)
    assert one.a.triggered == [1, 2]
    one.complete(2)
    assert future.result(0).checkpoint_id == 2
    assert elsewhere.load_latest().checkpoint_id == 2
    assert one.storage.load_latest() is None
    assert one.a.told == []
    one.complete(1)
    assert usual.result(0).checkpoint_id == 1


# --- the queue


def test_the_order_of_requests(bench: Any, tmp_path: Path) -> None:
    """F.1, F.2: savepoints, forced, asked for, periodic; each by its time."""
    one = bench(interval=10)
    first = one.trigger()
    one.coordinator.start()
    one.clock.set_current_time(1_010)
    asked = [one.trigger(), one.trigger()]
    assert one.coordinator.statistics().queued == 3
    assert one.a.triggered == [1]
    forced = one.trigger(forced=True)
    one.coordinator.trigger_savepoint(FileSystemCheckpointStorage(tmp_path / "savepoint"))
    assert one.a.triggered == [1, 2, 3]
    one.complete(2)
    assert forced.done()
    assert reason(first) == "CHECKPOINT_SUBSUMED"
    one.complete(3)
    one.complete(4)
    assert asked[0].result(0).checkpoint_id == 4
    assert not asked[1].done()
    one.complete(5)
    assert asked[1].done()
    assert one.coordinator.statistics().queued == 0
    assert one.a.triggered == [1, 2, 3, 4, 5, 6]


def test_too_many_requests(bench: Any) -> None:
    """F.1: periodic ones go first."""
    one = bench(interval=10)
    one.trigger()
    one.coordinator.start()
    one.clock.set_current_time(1_010)
    futures = [one.trigger() for _ in range(MAX_QUEUED)]
    assert one.coordinator.statistics().queued == MAX_QUEUED
    assert one.coordinator.statistics().failed == 1
    assert not any(future.done() for future in futures)
    assert reason(one.trigger()) == "TOO_MANY_CHECKPOINT_REQUESTS"


def test_the_pause_between_checkpoints(bench: Any) -> None:
    """F.3: only periodic ones are refused, and asked for again after the rest of the pause."""
    one = bench(interval=10, min_pause=100)
    one.coordinator.start()  # the pause is longer than the interval, so after the interval
    one.clock.set_current_time(1_010)
    one.complete(1)
    one.clock.set_current_time(1_020)
    assert one.a.triggered == [1]
    assert one.clock.active_timer_timestamps == [1_110]
    asked = one.trigger()
    assert one.a.triggered == [1, 2]
    one.complete(2)
    assert asked.done()
    one.clock.set_current_time(1_110)
    assert one.a.triggered == [1, 2]
    assert one.clock.active_timer_timestamps == [1_120]
    one.clock.set_current_time(1_120)
    assert one.a.triggered == [1, 2, 3]


def test_a_clock_that_is_set_back_lengthens_no_pause() -> None:
    """F.3: else there would be no checkpoints for as long as it was set back."""
    for pause in (0, 100):
        requests, one = CheckpointRequests(1, pause), CheckpointRequest(0, 1, periodic=True)
        requests.add(one)
        assert requests.choose(5_000, pending=0, last_completion=3_600_000) == (one, pause)


def test_the_first_periodic_checkpoint_comes_at_some_time(bench: Any) -> None:
    """F.4"""
    starts = set()
    for _ in range(40):
        one = bench(interval=12, min_pause=8)
        one.coordinator.start()
        one.coordinator.start()
        (at,) = one.clock.active_timer_timestamps
        starts.add(at - 1_000)
        one.coordinator.shutdown()
    assert starts <= set(range(8, 13))
    assert len(starts) > 1


def test_all_tasks_must_run(bench: Any) -> None:
    one = bench()
    one.b.state = TaskState.FINISHED
    future = one.trigger()
    assert reason(future) == "NOT_ALL_REQUIRED_TASKS_RUNNING"
    assert "b: finished" in str(future.exception(0))
    assert one.a.triggered == []
    assert one.a.failure is None  # F.12: a circumstance, not a failure


def test_a_decline_while_it_is_triggered_starts_the_next(bench: Any) -> None:
    """F.2, F.11: the queue is looked at again when triggering is over."""
    one = bench(tolerable_failures=9)

    def decline(meta: CheckpointMetaData, options: object) -> None:
        one.a.triggered.append(meta.id)
        if meta.id < 3:
            one.a.decline(meta.id, ValueError())

    one.a.trigger_checkpoint_async = decline
    futures = [one.trigger() for _ in range(4)]
    assert [future.done() for future in futures] == [True, True, False, False]
    assert one.a.triggered == [1, 2, 3]


# --- failures and the end


def test_failures_in_a_row_fail_the_job(bench: Any) -> None:
    """F.12: a success begins the count anew."""
    one = bench(tolerable_failures=1, timeout=10)
    for declined in (1, 3, 4):
        one.trigger()
        one.b.decline(declined, ValueError(declined))
        if declined == 1:
            one.trigger()
            one.complete(2)
        assert (one.a.failure is None) == (declined < 4)
    assert isinstance(one.b.failure, CheckpointError)
    assert one.b.failure.checkpoint_id == 4

    seen: list[CheckpointError] = []
    other = bench(failure_handler=seen.append)
    other.trigger()
    other.b.decline(3, ValueError())
    assert [error.checkpoint_id for error in seen] == [3]


def test_a_failure_handler_that_raises_is_logged(
    bench: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def handler(error: CheckpointError) -> None:
        raise KeyError("in the handler")

    one = bench(failure_handler=handler)
    future = one.trigger()
    one.b.decline(1, ValueError())
    assert reason(future) == "CHECKPOINT_DECLINED"
    assert one.a.told == [(1, 0)]
    assert "in the handler" in caplog.text


def test_stopping(bench: Any) -> None:
    """F.13: others may follow."""
    one = bench(interval=10)
    pending, queued = one.trigger(), one.trigger()
    one.coordinator.start()
    one.clock.set_current_time(1_010)
    one.coordinator.stop()
    assert reason(pending) == reason(queued) == "CHECKPOINT_COORDINATOR_SUSPEND"
    assert one.clock.num_active_timers == 0
    assert not one.trigger().done()


def test_shutting_down(bench: Any) -> None:
    """F.13; what is full and not saved yet is aborted, too."""
    one = bench()
    one.io.held = []
    pending, queued = one.trigger(), one.trigger()
    one.complete(1)
    one.coordinator.shutdown()
    one.io.held[0]()
    for future in (pending, queued, one.trigger()):
        assert reason(future) == "CHECKPOINT_COORDINATOR_SHUTDOWN"
    assert one.storage.load_latest() is None
    one.coordinator.shutdown()


def test_restoring(bench: Any, tmp_path: Path) -> None:
    one = bench()
    assert one.coordinator.restore_latest() is None
    one.trigger()
    one.a.acknowledge(1, b"a1")
    one.b.acknowledge(1, b"b1")
    again = bench()
    assert again.coordinator.restore_latest() == 1
    assert (again.a.initial, again.b.initial) == ((1, b"a1"), (1, b"b1"))
    again.trigger()
    assert again.a.triggered == [2]
    foreign = CheckpointCoordinator({"x": Task()}, one.storage)  # type: ignore[dict-item]
    with foreign, pytest.raises(IncompatibleStateError, match=r"\['a', 'b'\], and .* \['x'\]"):
        foreign.restore_latest()


def test_bad_settings(tmp_path: Path) -> None:
    storage = FileSystemCheckpointStorage(tmp_path)
    tasks: Any = {"a": Task()}
    with pytest.raises(IllegalArgumentError, match="at least one task"):
        CheckpointCoordinator({}, storage)
    with pytest.raises(IllegalArgumentError, match="max_concurrent"):
        CheckpointCoordinator(tasks, storage, max_concurrent=0)
    with pytest.raises(IllegalArgumentError, match="'z'"):
        CheckpointCoordinator(tasks, storage, triggered=["z"])
    with (
        CheckpointCoordinator(tasks, storage) as coordinator,
        pytest.raises(IllegalStateError, match="need an interval"),
    ):
        coordinator.start()


@pytest.mark.stress
def test_every_future_is_answered_once_whatever_races(tmp_path: Path) -> None:
    """K1, K2: requests, acknowledgements, declines and a shutdown from many threads."""
    tasks = {"a": Task(), "b": Task()}
    coordinator = CheckpointCoordinator(
        tasks,  # type: ignore[arg-type]
        FileSystemCheckpointStorage(tmp_path),
        max_concurrent=4,
        tolerable_failures=10**9,
    )
    begun: list[int] = []
    for task in tasks.values():
        task.trigger_checkpoint_async = lambda meta, _: begun.append(meta.id)  # type: ignore[method-assign]
    futures: list[Future[CompletedCheckpoint]] = []
    stop = threading.Event()

    def answer(task: Task, salt: int) -> None:
        at = 0
        while not stop.is_set():
            while at < len(begun):
                if (begun[at] + salt) % 5 == 0:
                    task.decline(begun[at], ValueError())
                else:
                    task.acknowledge(begun[at])
                at += 1
            time.sleep(0.0005)

    def ask() -> None:
        for _ in range(30):
            futures.append(coordinator.trigger_checkpoint())

    threads = [threading.Thread(target=ask) for _ in range(3)]
    threads += [
        threading.Thread(target=answer, args=(task, salt))
        for salt, task in enumerate(tasks.values())
    ]
    for thread in threads:
        thread.start()
    for thread in threads[:3]:
        thread.join()
    for future in futures[:45]:
        future.exception(PATIENCE)
    coordinator.shutdown()
    stop.set()
    for thread in threads[3:]:
        thread.join()
    answers = [future.exception(PATIENCE) for future in futures]
    completed = answers.count(None)
    statistics = coordinator.statistics()
    assert (statistics.completed, statistics.failed) == (completed, len(futures) - completed)
    assert statistics.pending == statistics.queued == 0
    assert completed > 0
