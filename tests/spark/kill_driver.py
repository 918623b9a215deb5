"""A program that is killed: a query over a directory of micro-batches, into a file for each.

Run as ``python -m tests.spark.kill_driver WORK process`` (or ``windows``); WORK/in holds the
batches.  Ends with WORK/done when all are through.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import flinkish.spark as fs
from flinkish.common import OutputTag
from tests.spark.functions import LATE, Silence
from tests.spark.support import GROUPS, Source, settings, timed
from tests.spark.traffic import OUT, SCHEMA
from tests.spark.windowed import LATE_ROWS, SESSIONS, SPANS, Spans


def session(work: Path) -> SparkSession:
    """The session of a program that is killed."""
    spark = (
        SparkSession.builder.master("local[2,3]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.local.dir", str(work / "local"))
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.python.authenticate.socketTimeout", "120s")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    fs.configure(spark)
    return spark


def into_files(out: Path, *tags: OutputTag, prefix: str = "") -> Callable[..., None]:
    """What writes a file for each micro-batch, with the main output and those of the tags."""

    def write(batch: int, *frames: DataFrame) -> None:
        names = ["", *(tag.tag_id for tag in tags)]
        rows = {
            name: [list(row) for row in frame.collect()]
            for name, frame in zip(names, frames, strict=True)
        }
        hidden = out / f".{prefix}{batch:03}"
        hidden.write_text(json.dumps(rows, default=str))
        hidden.rename(out / f"{prefix}{batch:03}.json")

    return write


def main(work: Path, what: str) -> None:
    spark = session(work)
    keyed = timed(Source(spark, work / "in", SCHEMA).stream(), 1000).key_by("key")
    # Compacts all the time, so that kills meet compactions.
    state = settings(work / "tables", compact_bytes=1, compact_factor=1.0, compact_pieces=3)
    if what == "windows":
        windows = keyed.window(SESSIONS, max_parallelism=GROUPS, state=state)
        stream = windows.side_output_late_data(LATE_ROWS).process(Spans(), schema=SPANS)
    else:
        stream = keyed.process(Silence(), schema=OUT, max_parallelism=GROUPS, state=state)
    late_tag = LATE_ROWS if what == "windows" else LATE
    (work / "out").mkdir(exist_ok=True)
    writer = stream.foreach_batch(into_files(work / "out", late_tag), late_tag).option(
        "checkpointLocation", str(work / "checkpoint")
    )
    writer.trigger(availableNow=True).start().awaitTermination()
    (work / "done").touch()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
