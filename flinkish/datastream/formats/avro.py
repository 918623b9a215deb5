"""PyFlink's module of Avro."""

from typing import TYPE_CHECKING

from flinkish.common.avro import AvroSchema, GenericRecordAvroTypeInfo
from flinkish.common.pyflink_names import pyflink_names
from flinkish.environment.connectors.avro import (
    AvroBulkWriters,
    AvroInputFormat,
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
)

if not TYPE_CHECKING:
    __getattr__ = pyflink_names(__name__)

__all__ = [
    "AvroBulkWriters",
    "AvroInputFormat",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "GenericRecordAvroTypeInfo",
]
