"""PyFlink's settings of environments of tables."""

from __future__ import annotations

from flinkish.common.configuration import Configuration

__all__ = ["EnvironmentSettings"]

_MODE = "execution.runtime-mode"
_CATALOG = "default_catalog"
_DATABASE = "default_database"


class EnvironmentSettings:
    """Whether programs are streaming or batch, and their configuration; `new_instance` begins one.

    The names of Flink's built-in catalog and database are kept, and change nothing: tables of a
    program have names of one part.
    """

    def __init__(self, configuration: Configuration, catalog: str, database: str) -> None:
        self._configuration = configuration
        self._catalog = catalog
        self._database = database

    class Builder:
        """The settings that are collected; streaming mode by default."""

        def __init__(self) -> None:
            self._configuration = Configuration()
            self._catalog = _CATALOG
            self._database = _DATABASE

        def with_configuration(self, config: Configuration) -> EnvironmentSettings.Builder:
            """Take over a configuration."""
            self._configuration.add_all(config)
            return self

        def in_batch_mode(self) -> EnvironmentSettings.Builder:
            """Ask for batch mode."""
            self._configuration.set_string(_MODE, "BATCH")
            return self

        def in_streaming_mode(self) -> EnvironmentSettings.Builder:
            """Ask for streaming mode."""
            self._configuration.set_string(_MODE, "STREAMING")
            return self

        def with_built_in_catalog_name(
            self, built_in_catalog_name: str
        ) -> EnvironmentSettings.Builder:
            """Keep a name of the catalog."""
            self._catalog = built_in_catalog_name
            return self

        def with_built_in_database_name(
            self, built_in_database_name: str
        ) -> EnvironmentSettings.Builder:
            """Keep a name of the database."""
            self._database = built_in_database_name
            return self

        def build(self) -> EnvironmentSettings:
            """Make the settings."""
            return EnvironmentSettings(self._configuration, self._catalog, self._database)

    def get_built_in_catalog_name(self) -> str:
        """The name of the catalog that was kept."""
        return self._catalog

    def get_built_in_database_name(self) -> str:
        """The name of the database that was kept."""
        return self._database

    def is_streaming_mode(self) -> bool:
        """Whether programs are in streaming mode."""
        return str(self._configuration.get_string(_MODE, "STREAMING")).upper() != "BATCH"

    def get_configuration(self) -> Configuration:
        """The configuration, with the mode in it."""
        return self._configuration

    @staticmethod
    def new_instance() -> EnvironmentSettings.Builder:
        """Begin with streaming mode and no configuration."""
        return EnvironmentSettings.Builder()

    @staticmethod
    def in_streaming_mode() -> EnvironmentSettings:
        """Settings of streaming mode."""
        return EnvironmentSettings.new_instance().in_streaming_mode().build()

    @staticmethod
    def in_batch_mode() -> EnvironmentSettings:
        """Settings of batch mode."""
        return EnvironmentSettings.new_instance().in_batch_mode().build()
