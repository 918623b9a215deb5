"""PyFlink's settings of a program of tables."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from flinkish.common.configuration import Configuration
from flinkish.common.errors import UnsupportedOperationError
from flinkish.common.kept_settings import Kept, keeps
from flinkish.common.refusals import refuses
from flinkish.environment.environment import StreamExecutionEnvironment
from flinkish.table.sql_dialect import SqlDialect

__all__ = ["TableConfig"]


_ZONE = "spark.sql.session.timeZone"
_PYTHON = "spark.pyspark.python"


@refuses(
    {
        "set_idle_state_retention get_idle_state_retention": "queries keep no state between "
        "micro-batches; windows remove theirs when they are over",
        "get_default": "settings belong to an environment: TableEnvironment.get_config()",
    }
)
@keeps(
    (
        Kept(
            "set_max_generated_code_length",
            "max_generated_code_length",
            "get_max_generated_code_length",
            4000,
            "Spark makes its own code",
        ),
    )
)
class TableConfig:
    """The settings of a program, by key; they are those of its StreamExecutionEnvironment.

    ``execution.runtime-mode`` and ``parallelism.default`` hold for the next job, keys that begin
    with ``spark.`` for the session that is started.  Those of Flink's planner change nothing.
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # methods that are kept or refused

    def __init__(self, environment: StreamExecutionEnvironment) -> None:
        self._environment = environment

    def get(self, key: str, default_value: str) -> str:
        """The text of a key, or the default."""
        return str(self._environment._configuration.get_string(key, default_value))

    def set(self, key: str, value: str) -> TableConfig:
        """Set a key; the value is a text, as in a file of settings."""
        return self.add_configuration(Configuration({key: value}))

    def get_local_timezone(self) -> str:
        """The time zone of TIMESTAMP_LTZ, which is that of Spark's session."""
        return str(self._environment._session().conf.get(_ZONE))

    def set_local_timezone(self, timezone_id: str) -> None:
        """Set the time zone of TIMESTAMP_LTZ, for Spark's session."""
        self._environment._session().conf.set(_ZONE, timezone_id)

    def get_sql_dialect(self) -> SqlDialect:
        """The dialect of statements: Spark's, whose name in Flink is the default."""
        return SqlDialect.DEFAULT

    def set_sql_dialect(self, sql_dialect: SqlDialect) -> None:
        """Accept the default; UnsupportedOperationError for another dialect."""
        if sql_dialect is not SqlDialect.DEFAULT:
            raise UnsupportedOperationError(
                f"statements are of Spark's SQL, which resembles Hive's: not {sql_dialect}"
            )

    def get_python_executable(self) -> str:
        """The Python that workers run."""
        return str(self._environment._configuration.get_string(_PYTHON, sys.executable))

    def set_python_executable(self, python_exec: str) -> None:
        """Which Python workers run: for the session that a job starts."""
        self._environment.set_python_executable(python_exec)

    def to_map(self) -> dict[str, str]:
        """The settings that were set, as texts."""
        settings = self._environment._configuration.to_dict()
        return {key: str(value) for key, value in settings.items()}

    def get_configuration(self) -> Configuration:
        """The settings, which `set` changes."""
        return self._environment._configuration

    def add_configuration(self, configuration: Configuration) -> TableConfig:
        """Take over settings."""
        self._environment.configure(configuration)
        return self
