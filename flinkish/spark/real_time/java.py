"""The Java code of real-time mode, and columns of the types that it takes and gives."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DateType, StringType, StructField, TimestampType

from flinkish.common.names import in_backticks
from flinkish.spark.internals import column_in_jvm

__all__ = ["as_before", "plain", "source", "stage_tasks"]


def source() -> str:
    """The classes PromptRows, PartitionedRows and StageTasks."""
    return Path(__file__).with_name("rows.java").read_text()


def stage_tasks(spark: SparkSession) -> Column:
    """How many tasks the stage has that a row is in; for a classic session."""
    return column_in_jvm(spark, source(), "flinkish.realtime.StageTasks")


def plain(field: StructField) -> Column:
    """The column as a type that Java has, too, so that its values are not converted."""
    column, kind = _column(field), field.dataType
    if isinstance(kind, StringType):
        column = column.cast(BinaryType())
    elif isinstance(kind, TimestampType):
        column = F.unix_micros(column)
    elif isinstance(kind, DateType):
        column = F.unix_date(column)
    return column.alias(field.name)


def as_before(field: StructField) -> Column:
    """The column of `plain` as the type of the field."""
    column, kind = _column(field), field.dataType
    if isinstance(kind, StringType):
        column = column.cast(kind)
    elif isinstance(kind, TimestampType):
        column = F.timestamp_micros(column)
    elif isinstance(kind, DateType):
        column = F.date_from_unix_date(column)
    return column.alias(field.name, metadata=field.metadata)


def _column(field: StructField) -> Column:
    return F.col(in_backticks(field.name))
