"""The Spark session of a program: the one that is active, or a local one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

from flinkish.spark.jobs.quiet import with_quiet_log
from flinkish.spark.session import configure, context_of
from flinkish.spark.streams.rows import SHUFFLE_PARTITIONS

__all__ = ["session_for", "tasks_of", "unchanged_plans"]

_ADAPTIVE = "spark.sql.adaptive.enabled"


def session_for(settings: Mapping[str, str], name: str) -> SparkSession:
    """The program's session, or one that is made with these settings of Spark's; local by default.

    A session that is created here logs only errors, unless the user has configured the log.
    """
    spark = SparkSession.getActiveSession()
    if spark is not None and context_of(spark) is not None:
        # createDataFrame in a foreachBatch function makes the query's copy of the session the
        # active one, for all of Python; the copy has other views, and ends with the query.
        spark = SparkSession.builder.getOrCreate()
    if spark is None:
        builder = SparkSession.builder.appName(name)
        for key, value in with_quiet_log(settings).items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
    return configure(spark)


def tasks_of(spark: SparkSession) -> int:
    """How many tasks an operator has unless the program says it: one for each core."""
    context = context_of(spark)
    if context is not None:
        return max(1, context.defaultParallelism)
    return int(spark.conf.get(SHUFFLE_PARTITIONS) or 1)


@contextmanager
def unchanged_plans(spark: SparkSession) -> Iterator[None]:
    """Keep Spark from changing plans as it runs them: it would leave out tasks without rows."""
    before = spark.conf.get(_ADAPTIVE, None)
    spark.conf.set(_ADAPTIVE, "false")
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(_ADAPTIVE)
        else:
            spark.conf.set(_ADAPTIVE, before)
