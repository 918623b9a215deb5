"""One start of a job: its tasks, each on a thread, and their coordinator.

Invariant: for each task exactly one ``TaskEnd`` is reported, after its ``invoke`` has returned.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from flinkish.common.errors import (
    ArgumentTypeError,
    JobExecutionError,
    TaskCancellationError,
)
from flinkish.common.notes import add_note
from flinkish.common.stacks import stack_of
from flinkish.task.checkpoint_storage import CheckpointStorage
from flinkish.task.checkpoint_types import CheckpointConfig
from flinkish.task.coordinator import CheckpointCoordinator
from flinkish.task.states import TaskState
from flinkish.task.stream_task import StreamTask

__all__ = ["JobAttempt", "TaskEnd"]


@dataclass(frozen=True)
class TaskEnd:
    """A task has ended; ``failure`` is what ``invoke`` raised, None if nothing."""

    task: str
    state: TaskState
    failure: BaseException | None


class JobAttempt:
    """Makes the tasks and restores them; ``start`` runs them.

    ``report(TaskEnd)`` is called on the thread of the task.

    Threading: the thread of the job.
    """

    def __init__(
        self,
        job: str,
        make_tasks: Callable[[], Mapping[str, StreamTask]],
        storage: CheckpointStorage | None,
        checkpoints: CheckpointConfig,
        next_id: int,
        report: Callable[[TaskEnd], object],
    ) -> None:
        self._job = job
        self._report = report
        self._periodic = checkpoints.interval is not None
        self.tasks = _checked(make_tasks())
        self.threads: dict[str, threading.Thread] = {}
        self.left = set(self.tasks)
        self.failures: dict[str, BaseException] = {}
        self.coordinator: CheckpointCoordinator | None = None
        if storage is not None:
            self.coordinator = CheckpointCoordinator(
                self.tasks, storage, next_id=next_id, **vars(checkpoints)
            )
            try:
                self.coordinator.restore_latest()
            except BaseException:
                self.coordinator.shutdown()
                raise

    def start(self) -> None:
        """Run the tasks, and begin periodic checkpoints."""
        for name, task in self.tasks.items():
            thread = threading.Thread(
                target=self._run, args=(name, task), name=f"{self._job}-{name}", daemon=True
            )
            self.threads[name] = thread
            try:
                thread.start()
            except RuntimeError as error:  # the system has no more threads
                self._report(TaskEnd(name, task.state, error))
        if self.coordinator is not None and self._periodic:
            self.coordinator.start()

    def _run(self, name: str, task: StreamTask) -> None:
        failure: BaseException | None = None
        try:
            task.invoke()
        except BaseException as error:
            failure = error
        self._report(TaskEnd(name, task.state, failure))

    def cancel(self) -> None:
        """Have all tasks end.

        Each is cancelled on a thread of its own, for a source's ``cancel`` is user code, which may
        block and may not keep the job from looking at its other tasks.
        """
        for name in self.left:
            cancel = self.tasks[name].cancel
            threading.Thread(target=cancel, name=f"{self._job}-{name}-cancel", daemon=True).start()

    def ended(self, end: TaskEnd, expected: bool) -> BaseException | None:
        """Take in that a task has ended; its failure, or the job's if it should not have ended."""
        self.left.discard(end.task)
        failure = end.failure
        if failure is None and end.state is TaskState.CANCELED and not expected:
            failure = JobExecutionError(
                f"task {end.task!r} of job {self._job!r} was cancelled alone: cancel the job"
            )
        if failure is not None:
            add_note(failure, f"raised by task {end.task!r} of job {self._job!r}")
            self.failures[end.task] = failure
        return failure

    def root_of(self, failure: BaseException) -> BaseException:
        """The failure of another task that this one is a consequence of, if it is one.

        Tasks report on threads of their own, so a consequence may come before its cause.
        """
        cause = failure.__cause__
        known = any(cause is one for one in self.failures.values())
        return failure if cause is None or not known else cause

    def stuck(self, patience_ms: int) -> TaskCancellationError:
        """The error for tasks that have not ended in time, with the stack of the first."""
        name = min(self.left)
        stack = stack_of(self.threads[name].ident)
        return TaskCancellationError(
            f"task {name!r} of job {self._job!r} has not ended within {patience_ms} ms; its thread "
            "is left behind. Have its operator, or source, wait with time-outs, or give the job a "
            f"longer cancel_timeout. It was here:\n{stack}",
            stack=stack,
        )

    def close(self) -> int:
        """End the coordinator; the id that its next checkpoint would have had."""
        if self.coordinator is None:
            return 1
        self.coordinator.shutdown()
        return self.coordinator.next_id


def _checked(tasks: Mapping[str, StreamTask]) -> dict[str, StreamTask]:
    if not isinstance(tasks, Mapping) or not tasks:
        raise ArgumentTypeError(
            f"make_tasks must return tasks by name, such as {{'count': task}}, not {tasks!r}"
        )
    for name, task in tasks.items():
        if not isinstance(name, str) or not isinstance(task, StreamTask):
            raise ArgumentTypeError(f"make_tasks gave {task!r} as {name!r}, which is not a task")
        if task.state is not TaskState.CREATED:
            raise ArgumentTypeError(
                f"make_tasks gave task {name!r} again, which is {task.state.value}: a task runs "
                "once, so make new tasks and new channels in each call"
            )
    return dict(tasks)
