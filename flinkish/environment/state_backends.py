"""Where Flink keeps state and checkpoints: settings, of which flinkish uses only the paths.

Whichever backend a program names, flinkish keeps state in the checkpoint of Spark's query, so a
state backend changes nothing.  The path of a checkpoint storage is the directory of the jobs'
checkpoints.
"""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

from flinkish.common.errors import IllegalArgumentError, UnsupportedOperationError

__all__ = [
    "CheckpointStorage",
    "CustomCheckpointStorage",
    "CustomStateBackend",
    "EmbeddedRocksDBStateBackend",
    "FileSystemCheckpointStorage",
    "HashMapStateBackend",
    "JobManagerCheckpointStorage",
    "PredefinedOptions",
    "StateBackend",
]


class StateBackend:
    """A place for the state of operators."""


class HashMapStateBackend(StateBackend):
    """Flink's state on the heap; flinkish keeps it as it keeps all state."""


class PredefinedOptions(Enum):
    """Flink's sets of RocksDB options for different disks."""

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


class EmbeddedRocksDBStateBackend(StateBackend):
    """Flink's state in RocksDB; flinkish keeps it as it keeps all state."""

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        self._incremental = bool(enable_incremental_checkpointing)
        self._paths: list[str] = []
        self._options = PredefinedOptions.DEFAULT
        self._factory: str | None = None
        self._threads = 4

    def set_db_storage_paths(self, *paths: str) -> None:
        """Keep directories; IllegalArgumentError for none."""
        if not paths:
            raise IllegalArgumentError("set_db_storage_paths takes a path or several")
        self._paths = list(paths)

    def get_db_storage_paths(self) -> list[str]:
        """The directories that were set."""
        return list(self._paths)

    def is_incremental_checkpoints_enabled(self) -> bool:
        """Whether incremental checkpoints were asked for; flinkish's checkpoints always are."""
        return self._incremental

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Keep a set of options; it changes nothing here."""
        self._options = options

    def get_predefined_options(self) -> PredefinedOptions:
        """The options that were set."""
        return self._options

    def set_options(self, options_factory_class_name: str) -> None:
        """Keep the name of a factory of options."""
        self._factory = options_factory_class_name

    def get_options(self) -> str | None:
        """The name of the factory, None if none was set."""
        return self._factory

    def get_number_of_transfer_threads(self) -> int:
        """How many threads were set."""
        return self._threads

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """Keep a number of threads."""
        self._threads = number_of_transfering_threads


class CustomStateBackend(StateBackend):
    """Refused: a state backend written in Java."""

    def __init__(self, j_custom_state_backend: object) -> None:
        raise UnsupportedOperationError(
            "flinkish runs on Spark, where Flink's state backends in Java cannot be used: leave "
            "set_state_backend out; state lies in the checkpoint of Spark's query"
        )


class CheckpointStorage:
    """A place for checkpoints."""

    def __init__(self, checkpoint_path: str | None) -> None:
        self._path = None if checkpoint_path is None else str(checkpoint_path)

    def get_checkpoint_path(self) -> str | None:
        """The directory of the checkpoints; None: a temporary one that ends with the job."""
        return self._path

    def get_savepoint_path(self) -> str | None:
        """The directory of savepoints: that of the checkpoints, since there are no others here."""
        return self._path


class JobManagerCheckpointStorage(CheckpointStorage):
    """Flink's checkpoints on the heap of the job manager; flinkish keeps them in files."""

    DEFAULT_MAX_STATE_SIZE: ClassVar[int] = 5 * 1024 * 1024

    def __init__(
        self, checkpoint_path: str | None = None, max_state_size: int | None = None
    ) -> None:
        super().__init__(checkpoint_path)
        self._most = self.DEFAULT_MAX_STATE_SIZE if max_state_size is None else max_state_size

    def get_max_state_size(self) -> int:
        """The size that was set, in bytes; it limits nothing here."""
        return self._most


class FileSystemCheckpointStorage(CheckpointStorage):
    """Checkpoints in files below a directory or URL that the workers can reach."""

    MAX_FILE_STATE_THRESHOLD: ClassVar[int] = 1024 * 1024

    def __init__(
        self,
        checkpoint_path: str,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
    ) -> None:
        if not checkpoint_path:
            raise IllegalArgumentError("FileSystemCheckpointStorage needs checkpoint_path")
        super().__init__(checkpoint_path)
        threshold = 20 * 1024 if file_state_size_threshold is None else file_state_size_threshold
        if not -1 <= threshold <= self.MAX_FILE_STATE_THRESHOLD:
            raise IllegalArgumentError(
                f"file_state_size_threshold must be from -1 to {self.MAX_FILE_STATE_THRESHOLD} "
                f"bytes, not {threshold}"
            )
        self._threshold = threshold
        self._buffer = max(4096, threshold) if write_buffer_size < 0 else write_buffer_size

    def get_min_file_size_threshold(self) -> int:
        """The threshold that was set, in bytes; it changes nothing here."""
        return self._threshold

    def get_write_buffer_size(self) -> int:
        """The size of buffers that was set, in bytes; it changes nothing here."""
        return self._buffer


class CustomCheckpointStorage(CheckpointStorage):
    """Refused: a checkpoint storage written in Java."""

    def __init__(self, j_custom_checkpoint_storage: object) -> None:
        raise UnsupportedOperationError(
            "flinkish runs on Spark, where Flink's checkpoint storages in Java cannot be used: "
            "take FileSystemCheckpointStorage(path)"
        )
