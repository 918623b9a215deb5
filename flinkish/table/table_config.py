"""PyFlink's settings of a program of tables."""

from __future__ import annotations

from flinkish.common.configuration import Configuration
from flinkish.environment.environment import StreamExecutionEnvironment

__all__ = ["TableConfig"]


class TableConfig:
    """The settings of a program, by key; they are those of its StreamExecutionEnvironment.

    ``execution.runtime-mode`` and ``parallelism.default`` hold for the next job, keys that begin
    with ``spark.`` for the session that is started.  Those of Flink's planner change nothing.
    """

    def __init__(self, environment: StreamExecutionEnvironment) -> None:
        self._environment = environment

    def get(self, key: str, default_value: str) -> str:
        """The text of a key, or the default."""
        return str(self._environment._configuration.get_string(key, default_value))

    def set(self, key: str, value: str) -> TableConfig:
        """Set a key; the value is a text, as in a file of settings."""
        return self.add_configuration(Configuration({key: value}))

    def get_configuration(self) -> Configuration:
        """The settings, which `set` changes."""
        return self._environment._configuration

    def add_configuration(self, configuration: Configuration) -> TableConfig:
        """Take over settings."""
        self._environment.configure(configuration)
        return self
