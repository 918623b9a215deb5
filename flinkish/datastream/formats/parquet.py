"""PyFlink's module of Parquet files."""

from flinkish.environment.connectors.avro import AvroParquetReaders, AvroParquetWriters
from flinkish.environment.connectors.columnar import (
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
)

__all__ = [
    "AvroParquetReaders",
    "AvroParquetWriters",
    "ParquetBulkWriters",
    "ParquetColumnarRowInputFormat",
]
