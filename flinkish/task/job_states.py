"""The life of a job.

    CREATED ---> RUNNING <--> RESTARTING
       |          |  |  |       |    |
       |          |  |  +-------+-> FAILING ------> FAILED
       |          |  +----------+-> CANCELLING ---> CANCELED, or FAILED
       |          +---------------> FINISHED
       +--------------------------> CANCELED

Names and meanings are those of Flink's JobStatus.  CANCELLING ends in FAILED only if a task, or the
thread of its source, does not end: then the job cannot say that it has let go of everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from flinkish.task.checkpoint_types import CoordinatorStatistics
from flinkish.task.states import TaskStatistics

__all__ = ["JobStatistics", "JobStatus"]


class JobStatus(Enum):
    """Where a job is in its life."""

    CREATED = "created"
    RUNNING = "running"
    RESTARTING = "restarting"
    FAILING = "failing"
    CANCELLING = "cancelling"
    FINISHED = "finished"
    CANCELED = "canceled"
    FAILED = "failed"

    @property
    def is_terminal(self) -> bool:
        """Whether the job has ended."""
        return not _NEXT[self]

    def may_become(self, other: JobStatus) -> bool:
        """Whether a job may go from here to there at once."""
        return other in _NEXT[self]


_S = JobStatus
_NEXT: dict[JobStatus, frozenset[JobStatus]] = {
    _S.CREATED: frozenset({_S.RUNNING, _S.CANCELED}),
    _S.RUNNING: frozenset({_S.RESTARTING, _S.FAILING, _S.CANCELLING, _S.FINISHED}),
    _S.RESTARTING: frozenset({_S.RUNNING, _S.FAILING, _S.CANCELLING}),
    _S.FAILING: frozenset({_S.FAILED}),
    _S.CANCELLING: frozenset({_S.CANCELED, _S.FAILED}),
    _S.FINISHED: frozenset(),
    _S.CANCELED: frozenset(),
    _S.FAILED: frozenset(),
}


@dataclass(frozen=True)
class JobStatistics:
    """A job at one moment.

    ``restarts`` counts starts but the first, ``failures`` those of whole attempts.  ``tasks`` and
    ``checkpoints`` are of the attempt that runs, or ran last; ``checkpoints`` is None for a job
    without a storage.
    """

    status: JobStatus
    restarts: int
    failures: int
    tasks: dict[str, TaskStatistics]
    checkpoints: CoordinatorStatistics | None
