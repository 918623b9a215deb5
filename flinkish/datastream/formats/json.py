"""PyFlink's module of the names `JsonRowDeserializationSchema`, `JsonRowSerializationSchema`."""

from typing import TYPE_CHECKING

from flinkish.common.pyflink_names import pyflink_names
from flinkish.environment.connectors.formats import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)

if not TYPE_CHECKING:
    __getattr__ = pyflink_names(__name__)

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]
