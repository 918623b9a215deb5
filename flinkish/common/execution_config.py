"""PyFlink's ExecutionConfig: how a program is to be run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from flinkish.common.errors import IllegalArgumentError
from flinkish.common.kept_settings import Flag, Kept, keeps

__all__ = ["ExecutionConfig"]

_MOST_GROUPS = 32768

_KEPT = (
    Flag(
        "enable_closure_cleaner",
        "disable_closure_cleaner",
        "is_closure_cleaner_enabled",
        True,
        "functions travel by cloudpickle, which takes what they name",
    ),
    Kept(
        "set_latency_tracking_interval",
        "interval",
        "get_latency_tracking_interval",
        0,
        "the times of a query's batches are in its progress, flinkish.spark.stream_progress",
    ),
    Kept(
        "set_task_cancellation_interval",
        "interval",
        "get_task_cancellation_interval",
        30_000,
        "Spark ends the tasks of a query that is stopped",
    ),
    Kept(
        "set_task_cancellation_timeout",
        "timeout",
        "get_task_cancellation_timeout",
        180_000,
        "Spark ends the tasks of a query that is stopped",
    ),
    Flag(
        "enable_force_kryo",
        "disable_force_kryo",
        "is_force_kryo_enabled",
        False,
        "elements of a declared type travel as columns, others by cloudpickle",
    ),
    Flag(
        "disable_generic_types",
        "enable_generic_types",
        "has_generic_types_disabled",
        False,
        "elements of a declared type travel as columns, others by cloudpickle",
    ),
    Flag(
        "enable_auto_generated_uids",
        "disable_auto_generated_uids",
        "has_auto_generated_uids_enabled",
        True,
        "an operator without a uid is identified by its name",
    ),
    Flag(
        "enable_force_avro",
        "disable_force_avro",
        "is_force_avro_enabled",
        False,
        "elements of a declared type travel as columns, others by cloudpickle",
    ),
    Kept(
        "set_use_snapshot_compression",
        "use_snapshot_compression",
        "is_use_snapshot_compression",
        False,
        "state is written in a format of its own",
    ),
)


@keeps(_KEPT)
class ExecutionConfig:
    """The settings of a program's execution; -1 stands for one that was not set."""

    PARALLELISM_DEFAULT = -1
    PARALLELISM_UNKNOWN = -2

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # the methods of _KEPT

    def __init__(self) -> None:
        self._parallelism = -1
        self._max_parallelism = -1
        self._watermark_interval = 200
        self._object_reuse = False
        self._parameters: dict[str, Any] = {}

    def get_parallelism(self) -> int:
        """How many tasks an operator with keys has; -1: one for each core of Spark's."""
        return self._parallelism

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Set the number of tasks; IllegalArgumentError below 1, unless it is -1."""
        if parallelism < 1 and parallelism != -1:
            raise IllegalArgumentError(f"parallelism must be 1 or more, not {parallelism}")
        self._parallelism = parallelism
        return self

    def get_max_parallelism(self) -> int:
        """How many key groups the state of operators is kept in; -1: by the parallelism."""
        return self._max_parallelism

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Set the number of key groups, from 1 to 32768."""
        if not 1 <= max_parallelism <= _MOST_GROUPS:
            raise IllegalArgumentError(
                f"max_parallelism must be from 1 to {_MOST_GROUPS}, not {max_parallelism}"
            )
        self._max_parallelism = max_parallelism
        return self

    def get_auto_watermark_interval(self) -> int:
        """The interval of watermarks in ms; kept alone: here they move with micro-batches."""
        return self._watermark_interval

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Keep an interval of watermarks, 0 or more ms."""
        if interval < 0:
            raise IllegalArgumentError(f"the interval must be 0 or more ms, not {interval}")
        self._watermark_interval = interval
        return self

    def enable_object_reuse(self) -> ExecutionConfig:
        """Keep the wish to reuse objects."""
        self._object_reuse = True
        return self

    def disable_object_reuse(self) -> ExecutionConfig:
        """Keep the wish not to reuse objects."""
        self._object_reuse = False
        return self

    def is_object_reuse_enabled(self) -> bool:
        """Whether objects are to be reused."""
        return self._object_reuse

    def get_global_job_parameters(self) -> dict[str, Any]:
        """The parameters that functions get of `runtime_context.get_job_parameter`."""
        return dict(self._parameters)

    def set_global_job_parameters(
        self, global_job_parameters_dict: Mapping[str, Any]
    ) -> ExecutionConfig:
        """Set the parameters of functions; they get them as texts."""
        self._parameters = {
            str(name): str(value) for name, value in global_job_parameters_dict.items()
        }
        return self

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        """The classes with serializers of Kryo: none."""
        return {}

    def get_registered_kryo_types(self) -> list[str]:
        """The types that Kryo knows: none."""
        return []

    def get_registered_pojo_types(self) -> list[str]:
        """The Java classes that are known: none."""
        return []
