"""PyFlink's module of CSV."""

from typing import TYPE_CHECKING

from flinkish.common.pyflink_names import pyflink_names
from flinkish.environment.connectors.csv_files import (
    CsvBulkWriters,
    CsvReaderFormat,
    CsvSchema,
    CsvSchemaBuilder,
)
from flinkish.environment.connectors.formats import (
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
)

if not TYPE_CHECKING:
    __getattr__ = pyflink_names(__name__)

__all__ = [
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]
