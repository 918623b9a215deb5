"""PyFlink's module of the names `CsvRowDeserializationSchema`, `CsvRowSerializationSchema`."""

from flinkish.environment.connectors.formats import (
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
)

__all__ = ["CsvRowDeserializationSchema", "CsvRowSerializationSchema"]
