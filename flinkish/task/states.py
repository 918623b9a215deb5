"""The life of a task."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["TaskState", "TaskStatistics"]


class TaskState(Enum):
    """CREATED, RESTORING, RUNNING, then one of the ends; ``cancel`` and errors go to theirs."""

    CREATED = "created"
    RESTORING = "restoring"
    RUNNING = "running"
    FINISHED = "finished"
    CANCELED = "canceled"
    FAILED = "failed"

    @property
    def is_terminal(self) -> bool:
        """Whether the task has ended."""
        return self in _ENDS

    @property
    def takes_checkpoints(self) -> bool:
        """Whether a trigger is worth a mail: it runs, or will before it looks at its mails."""
        return self in (TaskState.RESTORING, TaskState.RUNNING)


_ENDS = (TaskState.FINISHED, TaskState.CANCELED, TaskState.FAILED)


@dataclass(frozen=True)
class TaskStatistics:
    """A task at one moment; times in ms since it runs, ``busy_time_ms`` None where unknown."""

    state: TaskState
    idle_time_ms: int
    busy_time_ms: int | None
    back_pressured_time_ms: int
    checkpoints_taken: int
    checkpoints_declined: int
    checkpoints_failed: int
    last_completed_checkpoint: int | None
