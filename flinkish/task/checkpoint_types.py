"""The records of checkpoints: their options, metrics, and notices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.elements import CheckpointBarrier
from flinkish.common.errors import IllegalArgumentError

__all__ = [
    "AlignmentType",
    "CheckpointConfig",
    "CheckpointFailureReason",
    "CheckpointMetaData",
    "CheckpointOptions",
    "CompletedCheckpoint",
    "CoordinatorStatistics",
]


@dataclass(frozen=True, slots=True)
class CheckpointMetaData:
    """Checkpoint ``id``, begun at ``timestamp`` (ms since the epoch)."""

    id: int
    timestamp: int

    def __post_init__(self) -> None:
        if not isinstance(self.id, int) or self.id < 0:
            raise IllegalArgumentError(f"a checkpoint id is an int of at least 0, not {self.id!r}")


class AlignmentType(Enum):
    """How a checkpoint treats what is under way."""

    ALIGNED = "aligned"
    UNALIGNED = "unaligned"


@dataclass(frozen=True, slots=True)
class CheckpointOptions:
    """How a checkpoint is taken.

    The trigger of an ``UNALIGNED`` one is an urgent mail, which passes others (Flink: StreamTask),
    and its barriers overtake what is queued for a MultiChannelInput.  With ``alignment_timeout``
    (ms or a duration, from the checkpoint's beginning) an ``ALIGNED`` one becomes so where it is
    late (Flink: SingleCheckpointBarrierHandler).
    """

    alignment: AlignmentType = AlignmentType.ALIGNED
    alignment_timeout: DurationLike | None = None

    def __post_init__(self) -> None:
        if self.alignment_timeout is not None:
            millis = to_millis(self.alignment_timeout, "alignment_timeout", minimum=0)
            object.__setattr__(self, "alignment_timeout", millis)

    def is_unaligned_checkpoint(self) -> bool:
        """Whether trigger and barriers pass what is before them."""
        return self.alignment is AlignmentType.UNALIGNED

    @staticmethod
    def of(barrier: CheckpointBarrier) -> CheckpointOptions:
        """Those that a barrier carries."""
        alignment = AlignmentType.UNALIGNED if barrier.unaligned else AlignmentType.ALIGNED
        return CheckpointOptions(alignment, barrier.alignment_timeout)

    def barrier(self, meta: CheckpointMetaData) -> CheckpointBarrier:
        """The barrier that carries them."""
        timeout = self.alignment_timeout
        assert timeout is None or isinstance(timeout, int)
        return CheckpointBarrier(meta.id, meta.timestamp, self.is_unaligned_checkpoint(), timeout)


@dataclass(frozen=True)
class CheckpointConfig:
    """When and how the checkpoints of a Job are taken: see CheckpointCoordinator for each."""

    interval: DurationLike | None = None
    min_pause: DurationLike = 0
    timeout: DurationLike = "10 minutes"
    max_concurrent: int = 1
    options: CheckpointOptions | None = None
    final_checkpoint: bool = False
    tolerable_failures: int = 0
    triggered: Iterable[str] | None = None


@dataclass(frozen=True, slots=True)
class CompletedCheckpoint:
    """A checkpoint that is kept: its id, when it began and ended (ms), bytes of state by task."""

    checkpoint_id: int
    timestamp: int
    completed_at: int
    state_sizes: dict[str, int]


@dataclass(frozen=True, slots=True)
class CoordinatorStatistics:
    """A coordinator at one moment."""

    queued: int
    pending: int
    completed: int
    failed: int
    latest_completed_id: int | None


class CheckpointFailureReason(Enum):
    """Why a checkpoint did not come about; Flink's names.

    ``counts`` says whether it is held against the job (Flink: CheckpointFailureManager): failures
    of the work itself are, and circumstances that pass are not.
    """

    MINIMUM_TIME_BETWEEN_CHECKPOINTS = ("The pause since the last checkpoint is too short", False)
    TOO_MANY_CHECKPOINT_REQUESTS = ("Too many checkpoints have been asked for", False)
    NOT_ALL_REQUIRED_TASKS_RUNNING = ("Not all tasks are running", False)
    PERIODIC_SCHEDULER_SHUTDOWN = ("Periodic checkpoints were stopped", False)
    CHECKPOINT_COORDINATOR_SHUTDOWN = ("The coordinator was shut down", False)
    CHECKPOINT_COORDINATOR_SUSPEND = ("The coordinator was stopped", False)
    CHECKPOINT_SUBSUMED = ("A newer checkpoint is complete", False)
    TASK_FAILURE = ("A task failed", False)
    CHECKPOINT_DECLINED_TASK_NOT_READY = ("A task was not running", False)
    CHECKPOINT_DECLINED_TASK_CLOSING = ("A task was ending", False)
    CHECKPOINT_DECLINED_SUBSUMED = ("A newer barrier came first", False)
    CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER = ("A task was told not to wait for it", False)
    CHECKPOINT_DECLINED_INPUT_END_OF_STREAM = ("An input ended before it came", False)
    CHECKPOINT_DECLINED = ("A task declined it", True)
    CHECKPOINT_EXPIRED = ("It was not complete in time", True)
    CHECKPOINT_ASYNC_EXCEPTION = ("The state could not be kept", True)
    TRIGGER_CHECKPOINT_FAILURE = ("It could not be started", True)
    FINALIZE_CHECKPOINT_FAILURE = ("The collected state could not be kept", True)

    def __init__(self, text: str, counts: bool) -> None:
        self.text = text
        self.counts = counts
