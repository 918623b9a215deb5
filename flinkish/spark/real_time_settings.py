"""The settings that real-time mode needs of a session."""

from __future__ import annotations

import re

import pyspark
from pyspark.sql import SparkSession

from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import (
    IllegalArgumentError,
    IllegalStateError,
    UnsupportedOperationError,
)

__all__ = [
    "MAX_BATCH_BYTES",
    "NO_FOREACH_BATCH",
    "REAL_TIME_AT_START",
    "REAL_TIME_SETTINGS",
    "SETTINGS_ON_CONNECT",
    "buffer_timeout_ms",
    "check_real_time",
    "configure_real_time",
    "is_real_time",
]

NO_FOREACH_BATCH = (
    "foreach_batch has the rows of a batch when it ends, which in real-time mode is after minutes: "
    "write to Kafka, several outputs as all_outputs gives them, or define the query in a session "
    "without real_time=True"
)

_CHOSEN = "flinkish.realTime"
_BUFFER_TIMEOUT = "flinkish.realTime.bufferTimeout"
_SINCE = (4, 3)

# What has to be set before a session starts: in its builder, or for spark-submit.
REAL_TIME_AT_START = {
    # Else Spark holds a worker's rows back until the batch ends.
    "spark.python.udf.pipelined.enabled": "true",
    # Else rows wait in a shuffle for a fuller buffer, or on TCP for an answer.
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "5",
    "spark.python.unix.domain.socket.enabled": "true",
}

# So much of rows may go to Python at once, and what pushes them is as large (`prompt`).  A socket
# holds some 200 KiB: what a busy worker has not read waits in the JVM, where it can go together.
MAX_BATCH_BYTES = 64 * 1024

# What `configure` sets.
REAL_TIME_SETTINGS = {
    # Spark lists no operator of Python's among those that it lets run in this mode.
    "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(MAX_BATCH_BYTES),
    # Small writes go together; a pad is larger than the buffer, so nothing before it stays there.
    "spark.sql.execution.pandas.udf.buffer.size": "4096",
}

# On Spark Connect each row is a batch, and there are no pads.
SETTINGS_ON_CONNECT = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
    "spark.sql.execution.pandas.udf.buffer.size": "256",
}


def configure_real_time(spark: SparkSession, buffer_timeout: DurationLike) -> None:
    """Set a session up for real-time mode, with Flink's buffer timeout.

    UnsupportedOperationError on a release of Spark without it; IllegalStateError if the session was
    started without REAL_TIME_AT_START.
    """
    timeout_ms = to_millis(buffer_timeout)
    if timeout_ms < 0:
        raise IllegalArgumentError(f"buffer_timeout must be 0 or more, not {buffer_timeout!r}")
    found = re.findall(r"\d+", spark.version)[:2]
    if tuple(map(int, found)) < _SINCE:
        raise UnsupportedOperationError(
            f"real-time mode with a shuffle needs Spark 4.3, and this is {spark.version} (pyspark "
            f"{pyspark.__version__}): leave real_time=True out, or install pyspark 4.3"
        )
    missing = {
        name: wanted
        for name, wanted in REAL_TIME_AT_START.items()
        if not _meets(str(spark.conf.get(name, "")).lower(), wanted)
    }
    if missing:
        lines = "".join(f'.config("{name}", "{wanted}")' for name, wanted in missing.items())
        raise IllegalStateError(
            f"real-time mode needs {', '.join(missing)}, which Spark takes only before a session "
            f"starts: SparkSession.builder{lines}"
        )
    for name, wanted in _settings_of(spark).items():
        spark.conf.set(name, wanted)
    spark.conf.set(_BUFFER_TIMEOUT, str(timeout_ms))
    spark.conf.set(_CHOSEN, "true")


def _settings_of(spark: SparkSession) -> dict[str, str]:
    return REAL_TIME_SETTINGS | ({} if hasattr(spark, "sparkContext") else SETTINGS_ON_CONNECT)


def check_real_time(spark: SparkSession) -> None:
    """IllegalStateError if settings have been changed so that rows would wait.

    A pad that does not fill a batch, or itself stays in a buffer, pushes no row.
    """
    if not is_real_time(spark):
        return
    changed = {
        name: (found, wanted)
        for name, wanted in _settings_of(spark).items()
        if (found := spark.conf.get(name, None)) != wanted
    }
    if changed:
        found = ", ".join(f"{name} is {found!r}" for name, (found, _) in changed.items())
        needed = " and ".join(repr(wanted) for _, wanted in changed.values())
        raise IllegalStateError(
            f"real-time mode needs the settings that configure made, but {found} instead of "
            f"{needed}, so rows would wait in a batch or a buffer: call "
            "flinkish.spark.configure(spark, real_time=True) after whatever sets it"
        )


def _meets(found: str, wanted: str) -> bool:
    """Whether a setting is as it is wanted, or a time that is no longer."""
    if found.isdigit() and wanted.isdigit():
        return int(found) <= int(wanted)
    return found == wanted


def buffer_timeout_ms(spark: SparkSession) -> int:
    """How long rows may wait for others (ms), if some have gone to a Python worker just before."""
    return int(spark.conf.get(_BUFFER_TIMEOUT, "0") or 0)


def is_real_time(spark: SparkSession) -> bool:
    """Whether `configure` has set this session up for real-time mode."""
    return spark.conf.get(_CHOSEN, "false") == "true"
