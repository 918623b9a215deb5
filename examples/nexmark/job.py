"""Runs queries over files of events, measures them, compares their results; says so as JSON lines.

    python job.py WORK QUERY...

WORK/data is made if it is not there.  A query's checkpoint and output are kept in WORK, so one that
was killed goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import reference
from frames import KINDS, side_table, write_parquet
from generator import Nexmark
from pyspark.sql import DataFrame, SparkSession
from queries import QUERIES, Inputs, latest

from flinkish.spark import configure

FILES_A_BATCH = 2
PROCESSING_TIME = {"q12"}  # never at an end of its own
# What tells the rows of others from those of the closing events.
SOMEBODYS = {"auction": "auction >= 0", "bidder": "bidder >= 0", "channel": "channel <> 'nobody'"}


@dataclass(frozen=True)
class Size:
    """How much there is to do: events of all kinds."""

    events: int
    per_batch: int

    @property
    def batches(self) -> int:
        """Micro-batches with data, the closing one aside."""
        return -(-self.events // self.per_batch)


@dataclass(frozen=True)
class Mark:
    """The end of a micro-batch."""

    wall: float
    cpu: float


@dataclass
class Sink:
    """Writes each batch to a folder of its own, so that a batch that is made again replaces it."""

    folder: Path
    marks: dict[int, Mark] = field(default_factory=dict)

    def write(self, frame: DataFrame, batch_id: int) -> None:
        """Write the output of a batch; called by Spark."""
        frame.write.mode("overwrite").parquet(str(self.folder / f"{batch_id:06d}"))
        self.marks[batch_id] = Mark(time.time(), cpu_seconds())


@dataclass(frozen=True)
class Outcome:
    """What came of a query.

    ``first_batch_s`` is the time until the first micro-batch of this run was written, from the
    start of the query; ``steady_s`` and ``cores`` are the time of the batches after it, and the
    processors they kept busy (Spark's JVM and the Python workers together).
    """

    query: str
    rows: int
    extra: int
    missing: int
    first_batch_s: float
    first_batch_at: float
    first_batch: int
    first_events: int
    steady_events: int
    steady_s: float
    cores: float


def cpu_seconds() -> float:
    """Of this process and all below it, ended ones too."""
    me = psutil.Process()
    total = 0.0
    for process in [me, *me.children(recursive=True)]:
        try:
            total += sum(process.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue
    return total


def session() -> SparkSession:
    """A session on two cores of this machine."""
    builder = SparkSession.builder.master("local[2]").appName("nexmark")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "3g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.python.unix.domain.socket.enabled": "true",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return configure(builder.getOrCreate())


def prepare(spark: SparkSession, nexmark: Nexmark, size: Size, folder: Path) -> None:
    """Write the events, and one of each kind a day later that moves the watermark behind them."""
    if (folder / "complete").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    write_parquet(
        spark, nexmark, size.batches * size.per_batch, folder, files=size.batches * FILES_A_BATCH
    )
    later = Nexmark(nexmark.seed, nexmark.rate, nexmark.start_ms + 86_400_000, nexmark.disorder)
    for kind in KINDS:
        closing = nobodys(later.of_kind(kind, np.arange(50)).slice(0, 1))
        for copy, rows in enumerate([closing] + [closing.slice(1)] * (FILES_A_BATCH - 1)):
            pq.write_table(rows, folder / kind / f"zz-closing-{copy}.parquet")
        # Spark takes files by their time of change: in order of arrival.
        for place, file in enumerate(sorted((folder / kind).glob("*.parquet"))):
            os.utime(file, (1_000_000 + place, 1_000_000 + place))
    (folder / "complete").touch()


def nobodys(rows: pa.RecordBatch) -> pa.Table:
    """The rows with -1 for every number, "nobody" for every text: of nobody that there is."""
    table = pa.Table.from_batches([rows])
    for place, column in enumerate(table.schema):
        value = -1 if pa.types.is_integer(column.type) else "nobody"
        if not pa.types.is_timestamp(column.type):
            table = table.set_column(place, column, pa.array([value] * len(table), column.type))
    return table


def streams(spark: SparkSession, nexmark: Nexmark, folder: Path) -> Inputs:
    """The events as streams of files."""
    return Inputs(
        **{
            kind: spark.readStream.schema(schema)
            .option("maxFilesPerTrigger", FILES_A_BATCH)
            .parquet(str(folder / kind))
            for kind, schema in KINDS.items()
        },
        side=side_table(spark),
        lateness_ms=nexmark.lateness_ms,
    )


def run(spark: SparkSession, inputs: Inputs, name: str, size: Size, work: Path) -> Outcome:
    """Stream a query to its end, from where it was, and look at what it gave."""
    sink = Sink(work / "out" / name)
    started = time.time()
    writer = (
        QUERIES[name](inputs)
        .writeStream.foreachBatch(sink.write)
        .option("checkpointLocation", str(work / "checkpoint" / name))
    )
    if name in PROCESSING_TIME:
        query = writer.trigger(processingTime="1 second").start()
        wanted = inputs_rows(spark, work, "bid")
        # Not before the batches that are measured are done: counting takes time, too.
        while query.isActive and (
            max(sink.marks, default=-1) < size.batches - 1 or counted(spark, sink.folder) < wanted
        ):
            query.awaitTermination(1)
        query.stop()
    else:
        query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    marks = sorted(sink.marks.items())
    (first, begin), end = marks[0], sink.marks.get(size.batches - 1, marks[-1][1])
    batches = max(size.batches - 1 - first, 0)
    rows, extra, missing = compare(spark, name, sink.folder)
    return Outcome(
        query=name,
        rows=rows,
        extra=extra,
        missing=missing,
        first_batch_s=begin.wall - started,
        first_batch_at=begin.wall,
        first_batch=first,
        first_events=size.per_batch,
        steady_events=batches * size.per_batch,
        steady_s=end.wall - begin.wall,
        cores=(end.cpu - begin.cpu) / max(end.wall - begin.wall, 1e-9),
    )


def inputs_rows(spark: SparkSession, work: Path, kind: str) -> int:
    """How many events of a kind there are."""
    return spark.read.schema(KINDS[kind]).parquet(str(work / "data" / kind)).count()


def counted(spark: SparkSession, folder: Path) -> int:
    """How many bids the windows of q12 that have fired counted."""
    if not any(folder.glob("*/_SUCCESS")):
        return 0
    return read(spark, folder).selectExpr("sum(bids)").first()[0] or 0


def read(spark: SparkSession, folder: Path) -> DataFrame:
    """All output of a query: that of the batches that were written to the end."""
    return spark.read.parquet(*[str(done.parent) for done in sorted(folder.glob("*/_SUCCESS"))])


def compare(spark: SparkSession, name: str, folder: Path) -> tuple[int, int, int]:
    """Rows that a query gave, and of them those that are too many, and those that lack."""
    got = latest(name, read(spark, folder))
    for column, somebody in SOMEBODYS.items():
        if column in got.columns:
            got = got.where(somebody)
    want = spark.sql(reference.SQL[name])
    got, want = got.cache(), want.cache()
    counts = got.count(), got.exceptAll(want).count(), want.exceptAll(got).count()
    got.unpersist()
    want.unpersist()
    return counts


def define_views(spark: SparkSession, folder: Path) -> None:
    """What the reference reads: all events, the closing ones aside."""
    for kind, schema in KINDS.items():
        number = "auction" if kind == "bid" else "id"
        (
            spark.read.schema(schema)
            .parquet(str(folder / kind))
            .where(f"{number} >= 0")
            .createOrReplaceTempView(kind)
        )
    side_table(spark).createOrReplaceTempView("side")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("queries", nargs="+", choices=QUERIES)
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--per-batch", type=int, default=500_000)
    parser.add_argument("--rate", type=int, default=10_000)
    asked = parser.parse_args()
    size, nexmark = Size(asked.events, asked.per_batch), Nexmark(rate=asked.rate)
    spark = session()
    prepare(spark, nexmark, size, asked.work / "data")
    define_views(spark, asked.work / "data")
    inputs = streams(spark, nexmark, asked.work / "data")
    for name in asked.queries:
        outcome = run(spark, inputs, name, size, asked.work)
        print(json.dumps(asdict(outcome)), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
