"""The tasks of a coordinator, addressed together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flinkish.common.errors import IllegalArgumentError, IncompatibleStateError
from flinkish.common.names import did_you_mean
from flinkish.task.checkpoint_storage import StoredCheckpoint
from flinkish.task.checkpoint_types import CheckpointMetaData, CheckpointOptions
from flinkish.task.source_task import SourceStreamTask
from flinkish.task.stream_task import StreamTask

__all__ = ["TaskGroup"]


class TaskGroup:
    """Tasks by name; ``triggered`` names those that begin a checkpoint.

    By default these are the legacy sources, or all if there are none.

    Threading: any.
    """

    def __init__(self, tasks: Mapping[str, StreamTask], triggered: Iterable[str] | None) -> None:
        if not tasks:
            raise IllegalArgumentError("a coordinator needs at least one task")
        self._tasks = dict(tasks)
        sources = [name for name, task in tasks.items() if isinstance(task, SourceStreamTask)]
        self._triggered = list(triggered) if triggered is not None else sources or list(tasks)
        unknown = sorted(set(self._triggered) - set(tasks))
        if unknown or not self._triggered:
            raise IllegalArgumentError(
                f"triggered must name some of the tasks {sorted(tasks)}, not {unknown or 'none'}"
                + (did_you_mean(unknown[0], tasks) if unknown else "")
            )

    @property
    def names(self) -> set[str]:
        """The names of all."""
        return set(self._tasks)

    def __contains__(self, name: str) -> bool:
        return name in self._tasks

    def require(self, name: str) -> None:
        """IllegalArgumentError if there is no task of this name."""
        if name not in self._tasks:
            raise IllegalArgumentError(f"there is no task {name!r}, only {sorted(self._tasks)}")

    def items(self) -> Iterable[tuple[str, StreamTask]]:
        """Names and tasks."""
        return self._tasks.items()

    def restore(self, stored: StoredCheckpoint) -> None:
        """Give each task its state; IncompatibleStateError when it is one of other tasks."""
        if set(stored.state) != self.names:
            raise IncompatibleStateError(
                f"checkpoint {stored.checkpoint_id} holds the state of {sorted(stored.state)}, and "
                f"the tasks are {sorted(self._tasks)}: give them those names, or another directory",
                setting="tasks",
                was=sorted(stored.state),
                now=sorted(self._tasks),
            )
        for name, task in self._tasks.items():
            task.set_initial_state(stored.checkpoint_id, stored.state[name])

    def idle(self) -> str:
        """Which tasks do not run, and the state of the first; empty when all run."""
        idle = [name for name, task in self._tasks.items() if not task.is_running]
        return f"{', '.join(idle)}: {self._tasks[idle[0]].state.value}" if idle else ""

    def trigger(self, meta: CheckpointMetaData, options: CheckpointOptions) -> None:
        """Have the triggered ones begin a checkpoint."""
        for name in self._triggered:
            self._tasks[name].trigger_checkpoint_async(meta, options)

    def tell_complete(self, checkpoint_id: int) -> None:
        """Tell all that a checkpoint is kept."""
        for task in self._tasks.values():
            task.notify_checkpoint_complete_async(checkpoint_id)

    def tell_aborted(self, checkpoint_id: int, latest_completed_id: int) -> None:
        """Tell all that a checkpoint will never be."""
        for task in self._tasks.values():
            task.notify_checkpoint_aborted_async(checkpoint_id, latest_completed_id)

    def fail(self, error: BaseException) -> None:
        """Fail all."""
        for task in self._tasks.values():
            task.report_throwable(error)
