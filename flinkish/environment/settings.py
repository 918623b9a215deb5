"""Settings of an environment: its mode, and its checkpoints."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from flinkish.common.durations import Duration
from flinkish.common.errors import IllegalArgumentError, UnsupportedOperationError
from flinkish.common.kept_settings import Kept, keeps
from flinkish.environment.state_backends import CheckpointStorage

__all__ = [
    "CheckpointConfig",
    "CheckpointingMode",
    "ExternalizedCheckpointRetention",
    "RuntimeExecutionMode",
]


class RuntimeExecutionMode(Enum):
    """How operators see their rows."""

    STREAMING = 0
    BATCH = 1
    AUTOMATIC = 2


class CheckpointingMode(Enum):
    """How often state may count an element after a failure."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1


class ExternalizedCheckpointRetention(Enum):
    """The fate of checkpoints after a job was cancelled."""

    DELETE_ON_CANCELLATION = 0
    RETAIN_ON_CANCELLATION = 1
    NO_EXTERNALIZED_CHECKPOINTS = 2


_NO_BARRIERS = "micro-batches have no barriers that could be aligned"


@keeps(
    (
        Kept(
            "set_aligned_checkpoint_timeout",
            "alignment_timeout",
            "get_aligned_checkpoint_timeout",
            Duration.of_millis(0),
            _NO_BARRIERS,
        ),
        Kept(
            "set_alignment_timeout",
            "alignment_timeout",
            "get_alignment_timeout",
            Duration.of_millis(0),
            _NO_BARRIERS,
        ),
        Kept(
            "set_force_unaligned_checkpoints",
            "force_unaligned_checkpoints",
            "is_force_unaligned_checkpoints",
            False,
            _NO_BARRIERS,
        ),
    )
)
class CheckpointConfig:
    """The settings of checkpoints, which Spark takes with each micro-batch.

    The interval is that of micro-batches, and the storage is where the checkpoints of jobs lie,
    each in a directory of its own.  The other settings are kept and change nothing: state counts
    exactly once, and checkpoints stay after a job's end.
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # the methods that are kept

    def __init__(self) -> None:
        self._interval = -1
        self._mode = CheckpointingMode.EXACTLY_ONCE
        self._storage: str | None = None
        self._timeout = 600_000
        self._min_pause = 0
        self._most = 1
        self._failures = 0
        self._unaligned = False
        self._retention = ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION

    def is_checkpointing_enabled(self) -> bool:
        """Whether an interval was set."""
        return self._interval > 0

    def get_checkpoint_interval(self) -> int:
        """The interval of micro-batches in ms; -1: one after the other."""
        return self._interval

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        """Set the interval of micro-batches; IllegalArgumentError below 10 ms, as in Flink."""
        if checkpoint_interval < 10:
            raise IllegalArgumentError(
                f"the interval of checkpoints must be 10 ms or more, not {checkpoint_interval}"
            )
        self._interval = checkpoint_interval
        return self

    def get_checkpoint_storage(self) -> str | None:
        """Where checkpoints lie; None: in a temporary directory that ends with the job."""
        return self._storage

    def set_checkpoint_storage_dir(self, checkpoint_path: str) -> CheckpointConfig:
        """Set a directory, or the URL of one on a file system that Spark and its workers reach."""
        if not isinstance(checkpoint_path, str) or not checkpoint_path:
            raise IllegalArgumentError(
                f"the storage of checkpoints is a path or URL, not {checkpoint_path!r}"
            )
        self._storage = checkpoint_path
        return self

    def set_checkpoint_storage(self, storage: str | CheckpointStorage) -> CheckpointConfig:
        """The same as `set_checkpoint_storage_dir`, or the directory of a CheckpointStorage."""
        if not isinstance(storage, CheckpointStorage):
            return self.set_checkpoint_storage_dir(storage)
        path = storage.get_checkpoint_path()
        return self if path is None else self.set_checkpoint_storage_dir(path)

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """The mode that was set."""
        return self._mode

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Keep a mode; state counts exactly once in both."""
        if not isinstance(checkpointing_mode, CheckpointingMode):
            raise IllegalArgumentError(
                f"the mode is a CheckpointingMode, not {checkpointing_mode!r}"
            )
        self._mode = checkpointing_mode
        return self

    def get_checkpoint_timeout(self) -> int:
        """The timeout in ms."""
        return self._timeout

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        """Keep a timeout."""
        self._timeout = _positive(checkpoint_timeout, "the timeout of checkpoints")
        return self

    def get_min_pause_between_checkpoints(self) -> int:
        """The pause in ms."""
        return self._min_pause

    def set_min_pause_between_checkpoints(
        self, min_pause_between_checkpoints: int
    ) -> CheckpointConfig:
        """Keep a pause."""
        pause = min_pause_between_checkpoints
        if pause < 0:
            raise IllegalArgumentError(f"the pause must be 0 or more ms, not {pause}")
        self._min_pause = pause
        return self

    def get_max_concurrent_checkpoints(self) -> int:
        """How many checkpoints may be under way."""
        return self._most

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Keep a number of checkpoints; Spark has one under way."""
        self._most = _positive(max_concurrent_checkpoints, "the number of checkpoints")
        return self

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """How many checkpoints may fail in a row."""
        return self._failures

    def set_tolerable_checkpoint_failure_number(
        self, tolerable_checkpoint_failure_number: int
    ) -> CheckpointConfig:
        """Keep a number of failures; a micro-batch that fails ends the query."""
        number = tolerable_checkpoint_failure_number
        if number < 0:
            raise IllegalArgumentError(f"the number of failures must be 0 or more, not {number}")
        self._failures = number
        return self

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Whether a checkpoint that fails ends the query: it always does."""
        return True

    def set_fail_on_checkpointing_errors(
        self, fail_on_checkpointing_errors: bool
    ) -> CheckpointConfig:
        """Take True; UnsupportedOperationError for False."""
        if not fail_on_checkpointing_errors:
            raise UnsupportedOperationError(
                "set_fail_on_checkpointing_errors(False): a checkpoint is the end of a micro-batch "
                "of Spark's, and one that fails ends the query; start it again with the same "
                "checkpoint"
            )
        return self

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Whether checkpoints are kept after a job is cancelled: with a storage they are."""
        return self._storage is not None

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Keep the wish for unaligned checkpoints; micro-batches have no barriers."""
        self._unaligned = bool(enabled)
        return self

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Keep the wish for aligned checkpoints."""
        return self.enable_unaligned_checkpoints(False)

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Whether unaligned checkpoints were wished for."""
        return self._unaligned

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """The retention that was set."""
        return self._retention

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Keep what is to become of checkpoints; here they stay."""
        self._retention = retention_mode
        return self


def _positive(value: int, what: str) -> int:
    if value < 1:
        raise IllegalArgumentError(f"{what} must be 1 or more, not {value}")
    return value
