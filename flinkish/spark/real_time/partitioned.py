"""Rows that travel to the partitions of an operator as they are, without a Python worker before it.

Where the key is columns and the event time is one, Java code of ours finds the partition of a row
and says how far its task has come (`rows.java`); the operator's own worker does the rest.  So a
row goes to Python once.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from flinkish.spark.internals import map_in_jvm
from flinkish.spark.keyed.plan import OperatorPlan
from flinkish.spark.mapped_frame import MappedFrame
from flinkish.spark.real_time.java import as_before, plain, source
from flinkish.spark.real_time_settings import buffer_timeout_ms
from flinkish.spark.session import context_of

__all__ = ["HIGHEST", "TASK", "can_travel", "partitioned", "task_of"]

# The columns with the task before the operator and how many there are (`task_of`), and with the
# highest event time (ms) of its rows so far, null before the first.
TASK = "__flinkish_task"
HIGHEST = "__flinkish_highest"

_PARTITION = "__flinkish_partition"
_CLASS = "flinkish.realtime.PartitionedRows"
_BITS = 32  # of the task, below the number of tasks

# Types of which Java's hash is Flink's.
_KEYS = (
    *(BooleanType, ByteType, ShortType, IntegerType, LongType),
    *(FloatType, DoubleType, StringType, BinaryType),
)

# How many of a column's numbers are a ms; the event time of an operator's output is in ms.
_PER_MS: dict[type[DataType], int] = {TimestampType: 1000, LongType: 1}


def task_of(number: int) -> tuple[int, int]:
    """The task that a row or a mark comes from, and of how many, out of the column TASK."""
    task = number if number >= 0 else -1 - number
    return task & (1 << _BITS) - 1, task >> _BITS


def can_travel(plan: OperatorPlan, rows: MappedFrame) -> bool:
    """Whether nothing before the operator needs Python."""
    if plan.channelled or plan.marked:  # a row says of which source it is, or is a mark
        return False
    if rows.function is not None or context_of(rows.base.sparkSession) is None:
        return False
    if not plan.strategy.shares_payloads or not plan.key_columns:
        return False
    kinds = {one.name: one.dataType for one in rows.base.schema}
    return (
        all(type(kinds[name]) in _KEYS for name in plan.key_columns)
        and not any(plan.key_types)
        and (plan.event_time is None or type(kinds[plan.event_time]) in _PER_MS)
    )


def partitioned(plan: OperatorPlan, rows: DataFrame) -> DataFrame:
    """The rows and marks of a source, in the partitions of the operator, with TASK and HIGHEST."""
    assert plan.partitions is not None
    spark = rows.sparkSession
    names = list(plan.schema.names)
    if plan.event_time is not None and plan.event_time not in names:
        names.append(plan.event_time)
    fields = [rows.schema[name] for name in names]
    columns = rows.select(*map(plain, fields))
    texts = [names.index(name) for name in plan.key_columns if _is_text(rows.schema[name])]
    time, per_ms = -1, 1
    if plan.event_time is not None:
        time = names.index(plan.event_time)
        per_ms = _PER_MS[type(fields[time].dataType)]
    arguments = (
        len(names),
        [names.index(name) for name in plan.key_columns],
        sorted(texts),
        time,
        per_ms,
        plan.max_parallelism,
        plan.partitions,
        int(plan.may_idle),
        buffer_timeout_ms(spark) * 1_000_000,
    )
    made = [StructField(one.name, one.dataType) for one in columns.schema]
    made.append(StructField(_PARTITION, IntegerType()))
    made += [StructField(name, LongType()) for name in (TASK, HIGHEST)]
    found = map_in_jvm(columns, StructType(made), source(), _CLASS, arguments)
    dealt = found.repartitionById(plan.partitions, F.col(_PARTITION))
    return dealt.select(*map(as_before, fields), TASK, HIGHEST)


def _is_text(field: StructField) -> bool:
    return isinstance(field.dataType, StringType)
