"""PyFlink's module of sinks to databases."""

from typing import TYPE_CHECKING

from flinkish.common.pyflink_names import pyflink_names
from flinkish.environment.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
)

if not TYPE_CHECKING:
    __getattr__ = pyflink_names(__name__)

__all__ = ["JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink"]
