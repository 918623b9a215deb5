"""The settings that real-time mode needs of a session."""

from __future__ import annotations

import re

import pyspark
from pyspark.sql import SparkSession

from flinkish.common.errors import IllegalStateError, UnsupportedOperationError

__all__ = ["REAL_TIME_AT_START", "REAL_TIME_SETTINGS", "configure_real_time", "is_real_time"]

_CHOSEN = "flinkish.realTime"
_SINCE = (4, 3)

# What has to be set before a session starts: in its builder, or for spark-submit.
REAL_TIME_AT_START = {
    # Else Spark holds a worker's rows back until the batch ends.
    "spark.python.udf.pipelined.enabled": "true",
    # Else rows wait in a shuffle for a fuller buffer, or on TCP for an answer.
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "1",
    "spark.python.unix.domain.socket.enabled": "true",
}

# What `configure` sets.
REAL_TIME_SETTINGS = {
    # Spark lists no operator of Python's among those that it lets run in this mode.
    "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
    # A row goes to Python as soon as another follows it.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
    "spark.sql.execution.pandas.udf.buffer.size": "256",
}


def configure_real_time(spark: SparkSession) -> None:
    """Set a session up for real-time mode.

    UnsupportedOperationError on a release of Spark without it; IllegalStateError if the session was
    started without REAL_TIME_AT_START.
    """
    found = re.findall(r"\d+", spark.version)[:2]
    if tuple(map(int, found)) < _SINCE:
        raise UnsupportedOperationError(
            f"real-time mode with a shuffle needs Spark 4.3, and this is {spark.version} (pyspark "
            f"{pyspark.__version__}): leave real_time=True out, or install pyspark 4.3"
        )
    missing = {
        name: wanted
        for name, wanted in REAL_TIME_AT_START.items()
        if str(spark.conf.get(name, "")).lower() != wanted
    }
    if missing:
        lines = "".join(f'.config("{name}", "{wanted}")' for name, wanted in missing.items())
        raise IllegalStateError(
            f"real-time mode needs {', '.join(missing)}, which Spark takes only before a session "
            f"starts: SparkSession.builder{lines}"
        )
    for name, wanted in REAL_TIME_SETTINGS.items():
        spark.conf.set(name, wanted)
    spark.conf.set(_CHOSEN, "true")


def is_real_time(spark: SparkSession) -> bool:
    """Whether `configure` has set this session up for real-time mode."""
    return spark.conf.get(_CHOSEN, "false") == "true"
