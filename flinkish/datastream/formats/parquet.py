"""PyFlink's module of Parquet files."""

from typing import TYPE_CHECKING

from flinkish.common.pyflink_names import pyflink_names
from flinkish.environment.connectors.avro import AvroParquetReaders, AvroParquetWriters
from flinkish.environment.connectors.columnar import (
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
)

if not TYPE_CHECKING:
    __getattr__ = pyflink_names(__name__)

__all__ = [
    "AvroParquetReaders",
    "AvroParquetWriters",
    "ParquetBulkWriters",
    "ParquetColumnarRowInputFormat",
]
