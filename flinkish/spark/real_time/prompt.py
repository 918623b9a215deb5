"""DataFrames whose rows reach Python as soon as they are there.

Spark's writer of Arrow batches lets a batch go when the next row is there, and fills it before.  So
the rows get pads: rows without a meaning, that push those before them out.  In a classic session
Java code of ours pads when no row is waiting (`rows.java`), and rows that come together go
together.  A client of Spark Connect reaches no JVM: there each row is followed by a copy, in
batches of one row.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from flinkish.spark.internals import map_in_jvm
from flinkish.spark.mapped_frame import MappedFrame
from flinkish.spark.real_time.arrivals import PAD, without_pads
from flinkish.spark.real_time.java import as_before, plain, source
from flinkish.spark.real_time_settings import (
    MAX_BATCH_BYTES,
    buffer_timeout_ms,
    check_real_time,
    is_real_time,
)
from flinkish.spark.session import context_of

__all__ = ["as_they_come", "in_time", "padded"]

_CLASS = "flinkish.realtime.PromptRows"


def as_they_come(frame: DataFrame, partitions: int = 0) -> DataFrame:
    """The rows, which go to Python as they come, and pads with the column PAD among them.

    With ``partitions`` the rows belong to an operator, of which each partition needs its own task:
    with fewer tasks the query fails instead of waiting for ever.

    IllegalStateError if a session for real-time mode has settings with which they would not.
    """
    check_real_time(frame.sparkSession)
    if context_of(frame.sparkSession) is None:
        return frame.withColumn(PAD, F.explode(F.array(F.lit(None).cast("binary"), F.lit(b""))))
    fields = frame.schema.fields
    rows = frame.select(*map(plain, fields), F.lit(None).cast("binary").alias(PAD))
    columns = [StructField(one.name, one.dataType, nullable=True) for one in rows.schema.fields]
    timeout_ns = buffer_timeout_ms(frame.sparkSession) * 1_000_000
    given = (len(columns), MAX_BATCH_BYTES, timeout_ns, partitions)
    rows = map_in_jvm(rows, StructType(columns), source(), _CLASS, given)
    return rows.select(*map(as_before, fields), PAD)


def padded(rows: MappedFrame) -> MappedFrame:
    """Rows that Spark has, which go to Python as they come, if they do not yet."""
    if PAD in rows.base.columns:
        return rows
    made = rows.made if rows.function is not None else rows.base.schema
    return MappedFrame(as_they_come(rows.base), without_pads(rows.function), made)


def in_time(rows: MappedFrame) -> MappedFrame:
    """The same rows; those that a function makes come as they are made, in real-time mode."""
    base = rows.base
    if rows.function is None or not base.isStreaming or not is_real_time(base.sparkSession):
        return rows
    return padded(rows)
