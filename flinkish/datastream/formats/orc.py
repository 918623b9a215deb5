"""PyFlink's module of ORC files."""

from typing import TYPE_CHECKING

from flinkish.common.pyflink_names import pyflink_names
from flinkish.environment.connectors.columnar import OrcBulkWriters

if not TYPE_CHECKING:
    __getattr__ = pyflink_names(__name__)

__all__ = ["OrcBulkWriters"]
