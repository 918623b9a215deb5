"""PyFlink's module of the names `JsonRowDeserializationSchema`, `JsonRowSerializationSchema`."""

from flinkish.environment.connectors.formats import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]
