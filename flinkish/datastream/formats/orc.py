"""PyFlink's module of ORC files."""

from flinkish.environment.connectors.columnar import OrcBulkWriters

__all__ = ["OrcBulkWriters"]
