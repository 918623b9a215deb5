"""A program that is killed: a query over a directory of micro-batches, into a file for each.

Run as ``python -m tests.spark.long.kills.kill_driver WORK process``; instead of ``process``
``windows``, or ``versioned``: the same with its state versioned by batch, or ``reshaped``: with
user code that changes plan, job group and number of partitions besides.  WORK/in holds the batches.
Ends with WORK/done when all are through.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from flinkish.spark import ProcessedStream
from tests.spark.functions import LATE, Silence
from tests.spark.killed import into_files, written
from tests.spark.sessions import LOCAL, session
from tests.spark.support import GROUPS, Source, settings, start, timed
from tests.spark.traffic import OUT, SCHEMA
from tests.spark.windowed import LATE_ROWS, SESSIONS, SPANS, Spans


def reshaped(stream: ProcessedStream, write: Callable[..., None], turn: int) -> DataStreamWriter:
    """A writer with user code between the operator and its commit, or above the operator."""
    spark = stream.to_df().sparkSession

    def within(batch: int, main: DataFrame, late: DataFrame) -> None:
        spark.sparkContext.setJobGroup("mine", "jobs of the sink")
        main.first()
        main.createOrReplaceTempView("main_rows")
        main.union(main).limit(1).count()
        hinted = spark.sql("SELECT /*+ COALESCE(1) */ * FROM main_rows")
        write(batch, hinted, late.coalesce(2))

    def above(frame: DataFrame, batch: int) -> None:
        frame.persist()
        names = ("main", LATE.tag_id)
        write(batch, *(frame.where(f"{n} is not null").select(f"{n}.*") for n in names))
        frame.unpersist()

    if turn % 2:
        return stream.foreach_batch(within, LATE)
    return stream.all_outputs(LATE).coalesce(1).writeStream.foreachBatch(above)


def main(work: Path, what: str) -> None:
    spark = session(LOCAL, work)
    turn = written(work / "out")
    if what == "reshaped":  # other partitions after each kill
        spark.conf.set("spark.sql.shuffle.partitions", 1 + turn % 3)
    keyed = timed(Source(spark, work / "in", SCHEMA).stream(), 1000).key_by("key")
    # Compacts all the time, so that kills meet compactions.
    backend = "versioned" if what in ("versioned", "reshaped") else "store"
    state = settings(
        work / "tables", compact_bytes=1, compact_factor=1.0, compact_pieces=3, backend=backend
    )
    if what == "windows":
        windows = keyed.window(SESSIONS, max_parallelism=GROUPS, state=state)
        stream = windows.side_output_late_data(LATE_ROWS).process(Spans(), schema=SPANS)
    else:
        stream = keyed.process(Silence(), schema=OUT, max_parallelism=GROUPS, state=state)
    late_tag = LATE_ROWS if what == "windows" else LATE
    write = into_files(work, late_tag)
    writer = (
        reshaped(stream, write, turn)
        if what == "reshaped"
        else stream.foreach_batch(write, late_tag)
    ).option("checkpointLocation", str(work / "checkpoint"))
    start(writer.trigger(availableNow=True)).awaitTermination()
    (work / "done").touch()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
