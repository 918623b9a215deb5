"""Parquet and ORC files of rows, by Spark's own readers and writers."""

from __future__ import annotations

from collections.abc import Mapping

from flinkish.common.bulk import (
    BulkWriterFactory,
    RowDataBulkWriterFactory,
    check_row_type,
    kind_in_files,
    shifted,
)
from flinkish.common.configuration import Configuration
from flinkish.common.data_types import RowType
from flinkish.common.ddl import schema_ddl
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.names import in_backticks
from flinkish.environment.connectors.files import BulkFormat, Reading

__all__ = ["OrcBulkWriters", "ParquetBulkWriters", "ParquetColumnarRowInputFormat"]


class ParquetColumnarRowInputFormat(BulkFormat):
    """Rows of Parquet files, with fields of any type but times of day.

    A field that a file lacks is None, as in Flink; one of another type fails the job.  Names are
    compared as the session's ``spark.sql.caseSensitive`` says, and the rows of a batch are those of
    ``spark.sql.parquet.columnarReaderBatchSize``, whatever is asked for.  Datetimes are in the
    session's time zone, or in UTC if ``is_utc_timestamp``.  The ``hadoop_config`` goes to Spark's
    reader.
    """

    def __init__(
        self,
        row_type: RowType,
        hadoop_config: Configuration | None = None,
        batch_size: int = 2048,
        is_utc_timestamp: bool = False,
        is_case_sensitive: bool = True,
    ) -> None:
        if batch_size < 1:
            raise IllegalArgumentError(f"batch_size must be 1 or more, not {batch_size}")
        kind = kind_in_files(check_row_type(row_type).kind)
        selected = []
        for field in row_type.fields:
            name = in_backticks(field.name)
            value = name
            if is_utc_timestamp:
                value = shifted(kind_in_files(field.data_type.kind), name, "to_utc_timestamp")
            selected.append(f"{value} AS {name}")
        options = _options(hadoop_config)
        super().__init__(Reading("parquet", kind, options, schema_ddl(kind), [selected]))


class ParquetBulkWriters:
    """Writers of Parquet files of rows."""

    @staticmethod
    def for_row_type(
        row_type: RowType,
        hadoop_config: Configuration | None = None,
        utc_timestamp: bool = False,
    ) -> BulkWriterFactory:
        """Rows of this type; datetimes are in the session's time zone, or in UTC if so asked."""
        return RowDataBulkWriterFactory(
            "parquet", _options(hadoop_config), row_type, utc=utc_timestamp
        )


class OrcBulkWriters:
    """Writers of ORC files of rows."""

    @staticmethod
    def for_row_type(
        row_type: RowType,
        writer_properties: Configuration | None = None,
        hadoop_config: Configuration | None = None,
    ) -> BulkWriterFactory:
        """Rows of this type; datetimes are in the session's time zone."""
        options = {**_options(hadoop_config), **_options(writer_properties)}
        return RowDataBulkWriterFactory("orc", options, row_type)


def _options(config: Configuration | None) -> Mapping[str, str]:
    if config is not None and not isinstance(config, Configuration):
        raise ArgumentTypeError(f"settings of Hadoop are a Configuration, not {config!r}")
    return {} if config is None else {key: str(value) for key, value in config.to_dict().items()}
