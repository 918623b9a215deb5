"""Tasks that run, fail, are cancelled and start again together."""

import itertools
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from flinkish.common import RestartStrategies
from flinkish.common.errors import (
    CheckpointError,
    IllegalStateError,
    JobCancellationError,
    JobExecutionError,
)
from flinkish.task import (
    FileSystemCheckpointStorage,
    Job,
    JobStatus,
    StreamTask,
)
from tests.task.sums import WAIT, Pipeline, alive, once
from tests.waiting import PATIENCE, until

# --- ends


def test_a_job_finishes(tmp_path: Path) -> None:
    one = Pipeline(tmp_path)
    assert one.job.status is JobStatus.CREATED
    with one.job as job:
        job.start()
        statistics = job.result(WAIT)
    assert (statistics.status, statistics.restarts, statistics.failures) == (
        JobStatus.FINISHED,
        0,
        0,
    )
    assert set(statistics.tasks) == {"numbers", "sum"}
    assert one.result() == sum(range(100))
    assert job.failure is None
    assert repr(job) == "<Job 'sums': finished>"
    with pytest.raises(IllegalStateError, match="finished, and a job is started once"):
        job.start()
    job.cancel()
    assert job.wait() is JobStatus.FINISHED
    until(lambda: not alive("sums"))


def test_a_failing_task_ends_the_others_and_the_job(tmp_path: Path) -> None:
    """They hung, without a word, and so did whoever waited for a checkpoint."""
    one = Pipeline(tmp_path, end=10**9)
    failing = threading.Event()
    one.fails = lambda value: failing.is_set()
    with one.job as job:
        job.start()
        until(lambda: job.statistics().tasks and all(t.is_running for t in one.tasks[0].values()))
        assert job.trigger_checkpoint().result(PATIENCE).checkpoint_id == 1
        failing.set()
        with pytest.raises(JobExecutionError, match="'sums' failed after 0 restarts") as caught:
            job.result(WAIT)
    assert job.status is JobStatus.FAILED
    assert isinstance(job.failure, ValueError)
    assert caught.value.__cause__ is job.failure
    assert "raised by task 'sum' of job 'sums'" in job.failure.__notes__
    states = {name: task.state.value for name, task in one.tasks[0].items()}
    assert states == {"numbers": "canceled", "sum": "failed"}
    until(lambda: not alive("sums"))


def test_a_pending_checkpoint_fails_with_the_job(tmp_path: Path) -> None:
    one = Pipeline(tmp_path, end=10, pause_at=5)
    pending: list[Future[Any]] = []

    def fails(value: int) -> bool:
        # Its barrier is behind this record, so the task has no part in it yet.
        if value == 4:
            pending.append(one.job.trigger_checkpoint())
            until(lambda: one.tasks[0]["numbers"].statistics().checkpoints_taken)
        return value == 4

    one.fails = fails
    with one.job as job:
        job.start()
        assert job.wait(WAIT) is JobStatus.FAILED
    error = pending[0].exception(0)
    assert isinstance(error, CheckpointError)
    assert error.reason == "TASK_FAILURE"
    assert job.statistics().checkpoints.pending == 0  # type: ignore[union-attr]


def test_a_cancelled_job(tmp_path: Path) -> None:
    one = Pipeline(tmp_path, end=10**9)
    with one.job as job:
        job.start()
        until(lambda: one.tasks and all(task.is_running for task in one.tasks[0].values()))
        job.cancel()
        job.cancel()
        with pytest.raises(JobCancellationError, match="'sums' was cancelled"):
            job.result(WAIT)
    assert job.status is JobStatus.CANCELED
    assert [task.state.value for task in one.tasks[0].values()] == ["canceled"] * 2
    assert job.failure is None
    until(lambda: not alive("sums"))


def test_the_end_of_the_statement_cancels(tmp_path: Path) -> None:
    one = Pipeline(tmp_path, end=10**9)
    with one.job as job:
        job.start()
    assert job.status is JobStatus.CANCELED
    with Pipeline(tmp_path).job as never:
        pass
    assert never.status is JobStatus.CANCELED
    with pytest.raises(IllegalStateError):
        never.start()


def test_waiting_with_a_limit(tmp_path: Path) -> None:
    one = Pipeline(tmp_path, end=10, pause_at=5)
    with one.job as job:
        job.start()
        assert job.wait("1 ms") is JobStatus.RUNNING
        with pytest.raises(TimeoutError, match="'sums' is running after 1"):
            job.result(1)
        until(lambda: one.sources)
        one.sources[0].go_on.set()
        assert job.wait() is JobStatus.FINISHED


# --- starting again


def test_it_starts_again_from_the_newest_checkpoint(tmp_path: Path) -> None:
    one = Pipeline(
        tmp_path, pause_at=50, restart_strategy=RestartStrategies.fixed_delay_restart(1, 0)
    )
    one.fails = once(70)
    with one.job as job:
        job.start()
        until(lambda: one.sums and one.sums[0].count == sum(range(50)))
        assert job.trigger_checkpoint().result(PATIENCE).checkpoint_id == 1
        one.pause_at = -1
        one.sources[0].go_on.set()
        statistics = job.result(WAIT)
    assert one.result() == sum(range(100))
    assert one.sums[1].events[0] == f"restore {sum(range(50))}"
    assert (statistics.restarts, statistics.failures) == (1, 1)
    assert isinstance(job.failure, ValueError)  # of the attempt that failed


def test_it_starts_again_until_its_strategy_has_enough(tmp_path: Path) -> None:
    one = Pipeline(tmp_path, restart_strategy=RestartStrategies.fixed_delay_restart(3, 1))
    one.fails = lambda value: value == 7
    with one.job as job:
        job.start()
        with pytest.raises(JobExecutionError, match="after 3 restarts"):
            job.result(WAIT)
    assert len(one.tasks) == 4
    assert job.statistics().failures == 4


def test_checkpoint_ids_rise_over_restarts(tmp_path: Path) -> None:
    """One that was begun and not completed before the failure has used its id up."""
    one = Pipeline(
        tmp_path, end=10, pause_at=5, restart_strategy=RestartStrategies.fixed_delay_restart(1, 0)
    )
    begun = itertools.count()

    def fails(value: int) -> bool:
        if value == 4 and next(begun) == 0:
            one.job.trigger_checkpoint()
            until(lambda: one.tasks[0]["numbers"].statistics().checkpoints_taken)
            return True
        return False

    one.fails = fails
    with one.job as job:
        job.start()
        until(lambda: len(one.sums) == 2 and one.sums[1].count == sum(range(5)))
        assert job.trigger_checkpoint().result(PATIENCE).checkpoint_id == 2
        one.sources[1].go_on.set()
        job.result(WAIT)


def test_no_checkpoint_between_two_starts(tmp_path: Path) -> None:
    one = Pipeline(tmp_path, restart_strategy=RestartStrategies.fixed_delay_restart(1, "1 hour"))
    one.fails = once(5)
    with one.job as job:
        refused = job.trigger_checkpoint().exception(0)
        assert isinstance(refused, CheckpointError)
        job.start()
        until(lambda: job.status is JobStatus.RESTARTING)
        error = job.trigger_checkpoint().exception(0)
        assert isinstance(error, CheckpointError)
        assert "'sums' is restarting" in str(error)
        job.cancel()  # and nobody waits for the hour
        assert job.wait(WAIT) is JobStatus.CANCELED
    assert len(one.tasks) == 1


def test_making_the_tasks_may_fail_and_be_tried_again(tmp_path: Path) -> None:
    one = Pipeline(tmp_path)
    tries = itertools.count()

    def make() -> Mapping[str, StreamTask]:
        if next(tries) < 2:
            raise OSError("the file is not there yet")
        return one.make()

    strategy = RestartStrategies.fixed_delay_restart(2, 0)
    with Job(make, one.storage, restart_strategy=strategy) as job:
        job.start()
        assert job.result(WAIT).restarts == 0
        assert job.statistics().failures == 2
    with Job(dict, one.storage) as wrong:
        wrong.start()
        assert wrong.wait(WAIT) is JobStatus.FAILED
        assert "must return tasks by name" in str(wrong.failure)


def test_tasks_that_were_used_are_refused(tmp_path: Path) -> None:
    one = Pipeline(tmp_path)
    made = one.make()
    one.fails = lambda value: True
    strategy = RestartStrategies.fixed_delay_restart(1, 0)
    with Job(lambda: made, restart_strategy=strategy) as job:
        job.start()
        assert job.wait(WAIT) is JobStatus.FAILED
    assert "make new tasks and new channels" in str(job.failure)


def test_a_state_of_other_tasks_fails_the_job(tmp_path: Path) -> None:
    FileSystemCheckpointStorage(tmp_path).save(1, {"other": b""})
    one = Pipeline(tmp_path)
    with one.job as job:
        job.start()
        assert job.wait(WAIT) is JobStatus.FAILED
    assert "'other'" in str(job.failure)
    until(lambda: not alive("flinkish-checkpoints"))
