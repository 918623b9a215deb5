"""The streamed job: files of reports in, three outputs of one keyed operator out."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import dead_man_switch
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from data import DEPARTURE, SPARK_SCHEMA
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

from flinkish.common import Duration, WatermarkStrategy
from flinkish.spark import DataStream, ProcessedStream, configure

OUTPUTS = ("alerts", "returned", "late")

# Spark's workers need not be able to import the function's module: it travels with the function.
cloudpickle.register_pickle_by_value(dead_man_switch)


@contextlib.contextmanager
def standard_error_to(log: Path) -> Iterator[None]:
    """Send the standard error of this process, and for good that of its children, to a file.

    Spark's JVM, begun inside, has it for its own; so what it says is kept and shown to nobody.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    with log.open("wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def session(log: Path) -> SparkSession:
    """A session on two cores of this machine, whose messages go to a log."""
    builder = SparkSession.builder.master("local[2]").appName("flights")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.python.unix.domain.socket.enabled": "true",
        # Statistics are summed over the batches whose progress Spark remembers: all of them.
        "spark.sql.streaming.numRecentProgressUpdates": "100000",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    with standard_error_to(log):
        return configure(builder.getOrCreate())


def dead_man_switches(
    spark: SparkSession,
    arriving: Path,
    *,
    files_per_batch: int,
    threshold: pd.Timedelta,
    wait: pd.Timedelta,
) -> ProcessedStream:
    """The operator over the files of a folder.

    Rows of a batch are handled in the order of their departures.  Those without a tail number
    (cancelled flights whose aircraft was never chosen) have no key: they are dropped, counted.
    """
    reports = (
        spark.readStream.schema(SPARK_SCHEMA)
        .option("maxFilesPerTrigger", files_per_batch)
        .parquet(str(arriving))
        .selectExpr("*", f"{DEPARTURE} AS departure")
    )
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_minutes(wait // pd.Timedelta(minutes=1))
    )
    return (
        DataStream(reports)
        .assign_timestamps_and_watermarks(strategy, column="departure")
        .key_by("tailnum")
        .process(
            dead_man_switch.DeadManSwitch(threshold // pd.Timedelta(milliseconds=1)),
            schema=dead_man_switch.ALERTS,
            uid="dead-man-switch",
            order="timestamp",
            null_keys="drop",
        )
    )


@dataclass
class Sink:
    """Keeps each output of each batch as a file of its own.

    A batch that Spark hands over again after a failure replaces its files, so the folder holds
    every row once.
    """

    folder: Path
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(OUTPUTS, 0))

    def write(self, batch_id: int, *frames: DataFrame) -> None:
        """Write the outputs of a batch; called by Spark."""
        for name, frame in zip(OUTPUTS, frames, strict=True):
            rows = frame.toArrow()
            self.counts[name] += rows.num_rows
            path = self.folder / name / f"{batch_id:06d}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_suffix(".unfinished")
            pq.write_table(rows, unfinished)
            unfinished.replace(path)

    def read(self, name: str) -> pd.DataFrame:
        """All rows of an output."""
        paths = sorted((self.folder / name).glob("*.parquet"))
        return pa.concat_tables(pq.read_table(path) for path in paths).to_pandas()
