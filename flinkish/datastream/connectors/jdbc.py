"""PyFlink's module of sinks to databases."""

from flinkish.environment.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
)

__all__ = ["JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink"]
