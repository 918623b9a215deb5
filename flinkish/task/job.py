"""Tasks that run, fail, are cancelled and start again together.

One thread, the job's, does all that changes its life; others leave events in its queue.

Invariants:
  J1  ``_status`` goes only where the table in ``job_states`` lets it, under ``_changed``.
  J2  An attempt begins only after every task of the one before has ended: two of them would write
      to the same outside.  If a task does not end, the job fails, whatever its restart strategy.
  J3  Terminal is the last: the tasks have ended (but for J2's), checkpoints are answered, the
      coordinator is shut down.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from queue import Empty, SimpleQueue

from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import (
    ArgumentTypeError,
    CheckpointError,
    IllegalArgumentError,
    IllegalStateError,
    JobCancellationError,
    JobExecutionError,
    RejectedExecutionError,
    TaskCancellationError,
)
from flinkish.common.forks import AFTER_FORK, call_in_children
from flinkish.common.futures import fail
from flinkish.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from flinkish.task.checkpoint_storage import CheckpointStorage
from flinkish.task.checkpoint_types import (
    CheckpointConfig,
    CheckpointFailureReason,
    CompletedCheckpoint,
)
from flinkish.task.job_attempt import JobAttempt, TaskEnd
from flinkish.task.job_states import JobStatistics, JobStatus
from flinkish.task.restart_backoff import backoff_of
from flinkish.task.stream_task import StreamTask

__all__ = ["Job"]

_LOG = logging.getLogger(__name__)
_CANCEL = None  # in the queue of events
_END = {  # where a job goes when there is no further start
    JobStatus.RUNNING: JobStatus.FINISHED,
    JobStatus.FAILING: JobStatus.FAILED,
    JobStatus.CANCELLING: JobStatus.CANCELED,
}


class Job:
    """Runs several tasks as one.

    If a task fails, the others are cancelled, pending checkpoints fail, and the job starts again
    from its newest complete checkpoint, as often as its restart strategy lets it; else it has
    failed.

    Args:
        make_tasks: called at each start, on the job's thread; new tasks by name, with new channels
            between them.
        storage: where checkpoints are kept.  Without one there are none, and a restart begins anew.
        checkpoints: when and how checkpoints are taken.
        restart_strategy: one of RestartStrategies; by default the first failure ends the job.
        name: of the job, for threads, logs and errors.
        cancel_timeout: how long tasks may take to end when they are to; a job whose task does not
            end has failed, with a TaskCancellationError, and the thread is left behind.

    Life cycle: ``start``, once; ``wait`` or ``result``; or ``cancel``.  At the end of a ``with``
    statement the job is cancelled if it has not ended, and awaited.  The threads are daemons: a
    program that ends ends its jobs.

    Threading: everything is for any thread but those of the job's own tasks, which may not wait.
    In a forked child a job that has not ended is refused: its threads are in the parent process.
    """

    def __init__(
        self,
        make_tasks: Callable[[], Mapping[str, StreamTask]],
        storage: CheckpointStorage | None = None,
        *,
        checkpoints: CheckpointConfig | None = None,
        restart_strategy: RestartStrategyConfiguration | None = None,
        name: str = "job",
        cancel_timeout: DurationLike = "3 minutes",
    ) -> None:
        if not callable(make_tasks):
            raise ArgumentTypeError(
                f"make_tasks must be a function that makes the tasks by name, not {make_tasks!r}: "
                "a job that starts again needs new ones"
            )
        if checkpoints is not None and storage is None:
            raise IllegalArgumentError("checkpoints need a storage: give the job one")
        self.name = name
        self._make_tasks = make_tasks
        self._storage = storage
        self._checkpoints = checkpoints or CheckpointConfig()
        self._backoff = backoff_of(restart_strategy or RestartStrategies.no_restart())
        self._patience_ms = to_millis(cancel_timeout, "cancel_timeout", minimum=0)
        self._changed = threading.Condition()
        self._status = JobStatus.CREATED
        self._failure: BaseException | None = None
        self._broken: BaseException | None = None  # why the tasks cannot be said to have ended
        self._attempt: JobAttempt | None = None
        self._events: SimpleQueue[TaskEnd | None] = SimpleQueue()
        self._attempts = self._failures = 0
        self._next_id = 1
        self._in_child = False
        call_in_children(self)

    # --- what it is

    @property
    def status(self) -> JobStatus:
        """Where it is in its life."""
        return self._status

    @property
    def failure(self) -> BaseException | None:
        """The error of its last failed attempt; that which made the job fail, if it has."""
        return self._failure

    def statistics(self) -> JobStatistics:
        """The job at this moment."""
        self._check_process()
        with self._changed:
            attempt = self._attempt
            status, starts, failures = self._status, self._attempts, self._failures
        tasks = {} if attempt is None else attempt.tasks
        coordinator = None if attempt is None else attempt.coordinator
        return JobStatistics(
            status,
            max(starts - 1, 0),
            failures,
            {name: task.statistics() for name, task in tasks.items()},
            None if coordinator is None else coordinator.statistics(),
        )

    def __repr__(self) -> str:
        return f"<Job {self.name!r}: {self._status.value}>"

    def _forked(self) -> None:
        """In a forked child, where none of its threads are; its lock may be held for ever."""
        self._changed = threading.Condition()
        begun = self._status is not JobStatus.CREATED and not self._status.is_terminal
        self._in_child = self._in_child or begun

    def _check_process(self) -> None:
        if self._in_child:
            raise RejectedExecutionError(f"job {self.name!r} {AFTER_FORK}")

    # --- what others want of it

    def start(self) -> None:
        """Begin, on threads of the job's own."""
        self._check_process()
        with self._changed:
            if self._status is not JobStatus.CREATED:
                raise IllegalStateError(
                    f"job {self.name!r} is {self._status.value}, and a job is started once: make "
                    "a new one"
                )
            # It waits for the status.
            threading.Thread(target=self._run, name=self.name, daemon=True).start()
            self._become(JobStatus.RUNNING)

    def cancel(self) -> None:
        """Have all tasks end without finishing; does not wait.  An ended job stays as it ended.

        Nor does a job that fails become a cancelled one.
        """
        self._check_process()
        with self._changed:
            if self._status is JobStatus.CREATED:
                self._become(JobStatus.CANCELED)
            elif self._status.may_become(JobStatus.CANCELLING):
                self._become(JobStatus.CANCELLING)
                self._events.put(_CANCEL)

    def wait(self, timeout: DurationLike | None = None) -> JobStatus:
        """Wait until the job has ended, at most for ``timeout``; its status then."""
        self._check_process()
        seconds = None if timeout is None else to_millis(timeout, "timeout", minimum=0) / 1000
        with self._changed:
            self._changed.wait_for(lambda: self._status.is_terminal, seconds)
            return self._status

    def result(self, timeout: DurationLike | None = None) -> JobStatistics:
        """Wait until the job has finished; its statistics.

        JobExecutionError, with its cause, if it has failed; JobCancellationError if it was
        cancelled; TimeoutError if it has not ended in time.
        """
        status = self.wait(timeout)
        if not status.is_terminal:
            raise TimeoutError(f"job {self.name!r} is {status.value} after {timeout!r}")
        if status is JobStatus.FAILED:
            raise JobExecutionError(
                f"job {self.name!r} failed after {max(self._attempts - 1, 0)} restarts: "
                f"{self._failure!r}"
            ) from self._failure
        if status is JobStatus.CANCELED:
            raise JobCancellationError(f"job {self.name!r} was cancelled")
        return self.statistics()

    def trigger_checkpoint(self, *, forced: bool = False) -> Future[CompletedCheckpoint]:
        """Take a checkpoint, as ``CheckpointCoordinator.trigger_checkpoint`` does."""
        return self._ask(None, forced)

    def trigger_savepoint(self, storage: CheckpointStorage) -> Future[CompletedCheckpoint]:
        """Take a checkpoint and keep it in ``storage``; see CheckpointCoordinator."""
        return self._ask(storage, True)

    def _ask(
        self, savepoint: CheckpointStorage | None, forced: bool
    ) -> Future[CompletedCheckpoint]:
        if self._storage is None:
            raise IllegalStateError(
                f"job {self.name!r} takes no checkpoints: make it with a storage"
            )
        self._check_process()
        with self._changed:
            attempt, status = self._attempt, self._status
        if status is JobStatus.RUNNING and attempt is not None and attempt.coordinator is not None:
            if savepoint is not None:
                return attempt.coordinator.trigger_savepoint(savepoint)
            return attempt.coordinator.trigger_checkpoint(forced=forced)
        refused: Future[CompletedCheckpoint] = Future()
        reason = CheckpointFailureReason.NOT_ALL_REQUIRED_TASKS_RUNNING
        error = CheckpointError(
            f"the checkpoint failed: {reason.text} (job {self.name!r} is {status.value})",
            reason=reason.name,
        )
        fail(refused, error)
        return refused

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._in_child:  # where there is nothing to end
            self.cancel()
            self.wait()

    # --- the job's thread

    def _become(self, status: JobStatus) -> bool:
        """Go on to ``status``, if the table lets it (J1); under ``_changed``."""
        if not self._status.may_become(status):
            return False
        _LOG.debug("job %s: %s, then %s", self.name, self._status.value, status.value)
        self._status = status
        self._changed.notify_all()
        return True

    def _run(self) -> None:
        try:
            while self._run_attempt():
                pass
        except BaseException as error:  # a fault of ours: a caller must not wait for ever
            _LOG.exception("job %s: its thread failed", self.name)
            self._broken = error
        with self._changed:
            if self._broken is not None:
                self._broken.__cause__, self._failure = self._failure, self._broken
                self._become(JobStatus.FAILING)
                self._become(JobStatus.FAILED)
            else:
                self._become(_END[self._status])

    def _run_attempt(self) -> bool:
        """Run the tasks until all have ended; whether the job is to start again."""
        try:
            attempt = JobAttempt(
                self.name,
                self._make_tasks,
                self._storage,
                self._checkpoints,
                self._next_id,
                self._events.put,
            )
        except Exception as error:
            return self._pause(self._failed(error))
        try:
            delay = self._supervise(attempt)
        finally:
            self._next_id = attempt.close()
        return self._pause(delay)

    def _supervise(self, attempt: JobAttempt) -> int | None:
        """Start the tasks and see them end; ms until the next start, None if there is none."""
        with self._changed:
            if self._status is JobStatus.CANCELLING:
                return None
            self._attempt = attempt
            self._attempts += 1
            self._become(JobStatus.RUNNING)
        attempt.start()
        deadline: float | None = None  # once the tasks are to end
        delay: int | None = None
        while attempt.left:
            try:
                event = self._events.get(timeout=_left(deadline))
            except Empty:
                self._broken = attempt.stuck(self._patience_ms)
                return None
            failure = None if event is _CANCEL else attempt.ended(event, deadline is not None)
            cancelling = self.status is JobStatus.CANCELLING
            if cancelling and isinstance(failure, TaskCancellationError):
                self._broken = failure
            if deadline is None and (event is _CANCEL or failure is not None):
                if failure is not None:
                    delay = self._failed(failure)
                deadline = time.monotonic() + self._patience_ms / 1000
                attempt.cancel()
        with self._changed:
            if self._failure is not None:
                self._failure = attempt.root_of(self._failure)
        return delay

    def _failed(self, failure: BaseException) -> int | None:
        """An attempt has failed: what comes of that, and ms until the next start (None: none)."""
        with self._changed:
            if self._status is JobStatus.CANCELLING:
                _LOG.info("job %s: while it was cancelled: %r", self.name, failure)
                return None
            self._failures += 1
            self._failure = failure
            delay = self._backoff.failed(time.monotonic_ns() // 1_000_000)
            self._become(JobStatus.FAILING if delay is None else JobStatus.RESTARTING)
        if delay is not None:
            _LOG.warning(
                "job %s starts again %d ms after its tasks have ended, for it failed: %r",
                *(self.name, delay, failure),
            )
        return delay

    def _pause(self, delay: int | None) -> bool:
        """Wait before the next start; whether there is one."""
        if delay is None or self._broken is not None:
            return False
        with self._changed:
            over = self._changed.wait_for(
                lambda: self._status is not JobStatus.RESTARTING, delay / 1000
            )
        return not over


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else max(deadline - time.monotonic(), 0)
