"""Jobs in trouble: tasks that do not end, cancels that block, races; and the table of states."""

import gc
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from flinkish.common import RestartStrategies
from flinkish.common.elements import StreamRecord
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    IllegalStateError,
    RejectedExecutionError,
    TaskCancellationError,
)
from flinkish.task import (
    CheckpointConfig,
    ElementChannel,
    FileSystemCheckpointStorage,
    Job,
    JobStatus,
    OneInputStreamTask,
    StreamTask,
)
from tests.forking import in_a_fork
from tests.racing import switched_every, together
from tests.task.jobs import Tracing
from tests.task.sums import WAIT, Pipeline, alive, once
from tests.waiting import PATIENCE, until

# --- what goes wrong


@pytest.mark.parametrize("ask", ["wait", "result", "cancel", "start", "statistics"])
def test_a_job_is_refused_in_a_forked_child(tmp_path: Path, ask: str) -> None:
    one = Pipeline(tmp_path, end=10**9)
    with one.job as job:
        in_a_fork(job.statistics)  # it has not begun
        job.start()
        until(lambda: one.tasks and one.tasks[0]["sum"].is_running)

        def child() -> None:
            with pytest.raises(RejectedExecutionError, match="before a fork, in the parent"):
                getattr(job, ask)()
            with job:
                pass  # nothing to end here

        with job._changed:  # whoever holds it is not in the child
            in_a_fork(child)
        assert job.status is JobStatus.RUNNING
        job.cancel()
        assert job.wait(WAIT) is JobStatus.CANCELED
    in_a_fork(lambda: job.wait(WAIT))


def test_a_job_that_has_not_begun_can_begin_in_a_forked_child(tmp_path: Path) -> None:
    one = Pipeline(tmp_path, end=3)

    def child() -> None:
        one.job.start()
        one.job.result(WAIT)

    in_a_fork(child)
    assert one.job.status is JobStatus.CREATED


def test_a_task_that_is_cancelled_alone_fails_the_job(tmp_path: Path) -> None:
    one = Pipeline(tmp_path, end=10**9)
    with one.job as job:
        job.start()
        until(lambda: one.tasks and one.tasks[0]["sum"].is_running)
        one.tasks[0]["sum"].cancel()
        assert job.wait(WAIT) is JobStatus.FAILED
    assert "task 'sum' of job 'sums' was cancelled alone" in str(job.failure)


def test_a_task_that_does_not_end_fails_the_job_and_is_never_doubled(tmp_path: Path) -> None:
    one = Pipeline(
        tmp_path,
        end=10**9,
        cancel_timeout=1,
        restart_strategy=RestartStrategies.fixed_delay_restart(9, 0),
    )
    stuck, let_go = threading.Event(), threading.Event()

    def fails(value: int) -> bool:
        stuck.set()
        let_go.wait(PATIENCE)
        return False

    one.fails = fails
    try:
        with one.job as job:
            job.start()
            assert stuck.wait(PATIENCE)
            one.tasks[0]["numbers"].report_throwable(OSError("the source broke"))
            assert job.wait(WAIT) is JobStatus.FAILED
        assert isinstance(job.failure, TaskCancellationError)
        assert "let_go.wait" in job.failure.stack
        assert isinstance(job.failure.__cause__, OSError)
        assert len(one.tasks) == 1
    finally:
        let_go.set()
    until(lambda: not alive("sums"))


def test_a_source_whose_cancel_blocks_does_not_block_the_job(tmp_path: Path) -> None:
    one = Pipeline(tmp_path, end=10**9, cancel_timeout=50)
    let_go = threading.Event()
    try:
        with one.job as job:
            job.start()
            until(lambda: one.tasks and all(task.is_running for task in one.tasks[0].values()))
            one.sources[0].cancel = lambda: let_go.wait(PATIENCE)  # type: ignore[assignment]
            job.cancel()
            assert job.wait(WAIT) is JobStatus.FAILED
        assert isinstance(job.failure, TaskCancellationError)
    finally:
        one.sources[0].canceled = True
        let_go.set()
    until(lambda: not alive("sums"))


def test_the_cause_is_named_though_its_consequence_comes_first(tmp_path: Path) -> None:
    """With a final checkpoint the failure of one task fails those that wait for it."""
    first = ElementChannel()
    first.output.end_of_data()
    second = ElementChannel()
    operator = Tracing()
    operator.fail_on = "element 1"

    def make() -> Mapping[str, StreamTask]:
        return {
            "waits": OneInputStreamTask(Tracing(), first.input, ElementChannel().output),
            "fails": OneInputStreamTask(operator, second.input, ElementChannel().output),
        }

    checkpoints = CheckpointConfig(final_checkpoint=True)
    storage = FileSystemCheckpointStorage(tmp_path)
    with switched_every(1e-6), Job(make, storage, checkpoints=checkpoints) as job:
        job.start()
        second.output.emit(StreamRecord(1))
        assert job.wait(WAIT) is JobStatus.FAILED
        assert isinstance(job.failure, ValueError)


def test_cancelling_races_with_failing_and_finishing(tmp_path: Path) -> None:
    """Whatever comes first, there is one end, and nothing is left."""
    ends = set()
    with switched_every(1e-5):
        for turn in range(30):
            one = Pipeline(
                tmp_path / str(turn),
                end=200,
                checkpoints=CheckpointConfig(interval=1, tolerable_failures=100),
                restart_strategy=RestartStrategies.fixed_delay_restart(turn % 3, 0),
            )
            one.fails = once(100 + turn)
            job = one.job
            job.start()
            together(job.cancel, lambda job=job: job.wait(WAIT), lambda: gc.collect(0))
            ends.add(job.wait(WAIT))
    assert ends <= {JobStatus.CANCELED, JobStatus.FAILED, JobStatus.FINISHED}
    until(lambda: not alive("sums"))


def test_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(ArgumentTypeError, match="a function that makes the tasks"):
        Job({})  # type: ignore[arg-type]
    with pytest.raises(IllegalArgumentError, match="checkpoints need a storage"):
        Job(dict, checkpoints=CheckpointConfig())
    with pytest.raises(IllegalStateError, match="make it with a storage"):
        Job(dict).trigger_checkpoint()


# --- the table


def test_the_table_of_states() -> None:
    ends = {JobStatus.FINISHED, JobStatus.CANCELED, JobStatus.FAILED}
    assert {status for status in JobStatus if status.is_terminal} == ends
    reached = {JobStatus.CREATED}
    for _ in JobStatus:
        reached |= {to for one in reached for to in JobStatus if one.may_become(to)}
    assert reached == set(JobStatus)
    for status in JobStatus:
        assert not status.may_become(status)
