"""The settings of an environment, and the needs of its workers."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from flinkish.common.configuration import Configuration
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.execution_config import ExecutionConfig
from flinkish.environment.settings import (
    CheckpointConfig,
    CheckpointingMode,
    RuntimeExecutionMode,
)
from flinkish.environment.state_backends import StateBackend

__all__ = ["Configured"]

Self = TypeVar("Self", bound="Configured")

_CHANGELOG = "state.changelog.enabled"
_MODE = "execution.runtime-mode"
_PARALLELISM = "parallelism.default"


class Configured:
    """The settings of an environment, made before its jobs start.

    What Flink has and Spark does not, such as slots and buffers, is kept and changes nothing.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = Configuration()
        self._config = ExecutionConfig()
        self._checkpoints = CheckpointConfig()
        self._mode = RuntimeExecutionMode.STREAMING
        self._local_parallelism = os.cpu_count() or 1
        self._state_backend: StateBackend | None = None
        self._prepared: list[Callable[[Any], Any]] = []
        self.configure(configuration)

    def configure(self, configuration: Configuration) -> None:
        """Take over settings: ``execution.runtime-mode``, ``parallelism.default``, and others.

        ``execution.savepoint.path`` is the checkpoint that the next job goes on from; keys that
        begin with ``spark.`` are for the session that is started.
        """
        self._configuration.add_all(configuration)
        self._read(configuration)

    def _read(self, configuration: Configuration) -> None:
        found = configuration.to_dict()
        if _MODE in found:
            self.set_runtime_mode(_mode_of(found[_MODE]))
        if _PARALLELISM in found:
            self.set_parallelism(int(found[_PARALLELISM]))

    def get_config(self) -> ExecutionConfig:
        """The settings of execution."""
        return self._config

    def get_checkpoint_config(self) -> CheckpointConfig:
        """The settings of checkpoints."""
        return self._checkpoints

    def set_runtime_mode(self: Self, execution_mode: RuntimeExecutionMode) -> Self:
        """How operators see rows: STREAMING, BATCH, or AUTOMATIC: BATCH for bounded sources."""
        if not isinstance(execution_mode, RuntimeExecutionMode):
            raise ArgumentTypeError(
                f"the mode is a RuntimeExecutionMode, such as RuntimeExecutionMode.BATCH, not "
                f"{execution_mode!r}"
            )
        self._mode = execution_mode
        return self

    def set_parallelism(self: Self, parallelism: int) -> Self:
        """How many tasks an operator with keys has; by default one for each core of Spark's."""
        self._config.set_parallelism(parallelism)
        return self

    def get_parallelism(self) -> int:
        """The parallelism that was set, else the number of cores of this machine."""
        given = self._config.get_parallelism()
        return given if given > 0 else os.cpu_count() or 1

    def set_max_parallelism(self: Self, max_parallelism: int) -> Self:
        """How many key groups the state of operators is kept in."""
        self._config.set_max_parallelism(max_parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """The number of key groups that was set, else -1."""
        return self._config.get_max_parallelism()

    def enable_checkpointing(self: Self, interval: int, mode: Any = None) -> Self:
        """Let unbounded programs begin a micro-batch, and so a checkpoint, every so many ms."""
        self._checkpoints.set_checkpoint_interval(interval)
        if mode is not None:
            self._checkpoints.set_checkpointing_mode(mode)
        return self

    def get_checkpoint_interval(self) -> int:
        """The interval of checkpoints in ms; -1 if it was not set."""
        return self._checkpoints.get_checkpoint_interval()

    def set_state_backend(self: Self, state_backend: StateBackend) -> Self:
        """Keep a state backend; state is in the checkpoint of Spark's query, whichever it is."""
        if not isinstance(state_backend, StateBackend):
            raise ArgumentTypeError(
                "set_state_backend takes a StateBackend, such as HashMapStateBackend(), not "
                f"{state_backend!r}"
            )
        self._state_backend = state_backend
        return self

    def get_state_backend(self) -> StateBackend | None:
        """The state backend that was set, None if none was."""
        return self._state_backend

    def set_buffer_timeout(self: Self, timeout_millis: int) -> Self:
        """Keep a timeout of buffers, which Spark does not have."""
        self._configuration.set_integer("execution.buffer-timeout", timeout_millis)
        return self

    def get_buffer_timeout(self) -> int:
        """The timeout that was kept, in ms; 100 without one, as in Flink."""
        return self._configuration.get_integer("execution.buffer-timeout", 100)

    def disable_operator_chaining(self: Self) -> Self:
        """Keep the wish for no chains: functions that follow each other run in one task anyway."""
        self._configuration.set_boolean("pipeline.operator-chaining", False)
        return self

    def is_chaining_enabled(self) -> bool:
        """Whether no call has wished for no chains."""
        return self._configuration.get_boolean("pipeline.operator-chaining", True)

    def register_slot_sharing_group(self: Self, slot_sharing_group: Any) -> Self:
        """Keep a group of slots, which Spark does not have."""
        self._configuration.set_string("slot-sharing-group", str(slot_sharing_group))
        return self

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """The mode of checkpoints that was set."""
        return self._checkpoints.get_checkpointing_mode()

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        """The same under Flink's newer name."""
        return self.get_checkpointing_mode()

    def is_force_unaligned_checkpoints(self) -> bool:
        """Whether unaligned checkpoints were forced."""
        return bool(self._checkpoints.is_force_unaligned_checkpoints())

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        """Whether operators of different numbers of key groups may run in one task."""
        key = "pipeline.operator-chaining.chain-operators-with-different-max-parallelism"
        return self._configuration.get_boolean(key, True)

    def enable_changelog_state_backend(self: Self, enabled: bool) -> Self:
        """Keep the setting, with a warning: each micro-batch writes only the changes of state."""
        warnings.warn(
            "enable_changelog_state_backend has no effect on Spark: each micro-batch writes the "
            "changes of state alone, in any case",
            stacklevel=2,
        )
        self._configuration.set_boolean(_CHANGELOG, enabled)
        return self

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """Whether a changelog was asked for; None if it was not set."""
        found = self._configuration.get_boolean(_CHANGELOG, False)
        return found if self._configuration.contains_key(_CHANGELOG) else None

    def get_default_local_parallelism(self) -> int:
        """The number of tasks if the program sets none: the cores of this machine."""
        return self._local_parallelism

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """Set how many tasks operators have if the program sets none."""
        self.set_parallelism(parallelism)
        self._local_parallelism = parallelism

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> None:
        """Refused: on Spark, functions get files in another way."""
        raise UnsupportedOperationError(
            f"register_cached_file({file_path!r}): PyFlink's functions cannot read such files "
            "either; send it with add_python_archive(path, 'data'), and functions open data/..."
        )

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Whether unaligned checkpoints were wished for."""
        return self._checkpoints.is_unaligned_checkpoints_enabled()

    def set_default_savepoint_directory(self: Self, directory: str) -> Self:
        """Set where checkpoints lie, which are what a stopped job leaves."""
        self._checkpoints.set_checkpoint_storage_dir(directory)
        return self

    def get_default_savepoint_directory(self) -> str | None:
        """Where checkpoints lie."""
        return self._checkpoints.get_checkpoint_storage()

    # --- needs of workers

    def add_python_file(self, file_path: str) -> None:
        """Send a Python file, a zip or an egg to the workers, where it can be imported."""
        self._prepared.append(lambda spark: spark.addArtifacts(file_path, pyfile=True))

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Send an archive to the workers, which unpack it as ``target_dir``."""
        place = archive_path if target_dir is None else f"{archive_path}#{target_dir}"
        self._prepared.append(lambda spark: spark.addArtifacts(place, archive=True))

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """Refused: workers have the packages of their own Python."""
        raise UnsupportedOperationError(
            "Spark installs no packages on workers: pack an environment that has those of "
            f"{requirements_file_path} (venv-pack or conda-pack), send it with "
            "add_python_archive(path, 'environment'), and set spark.pyspark.python to "
            "environment/bin/python"
        )

    def set_python_executable(self, python_exec: str) -> None:
        """Which Python workers run: for the session that a job starts."""
        self._configuration.set_string("spark.pyspark.python", python_exec)

    def add_jars(self, *jars_path: str) -> None:
        """Give the session that a job starts these jars, as ``spark.jars``."""
        before = self._configuration.get_string("spark.jars", "")
        self._configuration.set_string("spark.jars", ",".join(filter(None, [before, *jars_path])))

    def add_classpaths(self, *classpaths: str) -> None:
        """Give the session that a job starts these jars, as `add_jars` does."""
        self.add_jars(*classpaths)


def _mode_of(text: Any) -> RuntimeExecutionMode:
    try:
        return RuntimeExecutionMode[str(text).upper()]
    except KeyError:
        modes = ", ".join(mode.name for mode in RuntimeExecutionMode)
        raise IllegalArgumentError(f"{_MODE} must be one of {modes}, not {text!r}") from None
