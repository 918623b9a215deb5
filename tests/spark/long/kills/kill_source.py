"""A program that is killed: a query over a source function, into a file for each micro-batch.

Run as ``python -m tests.spark.long.kills.kill_source WORK COUNT``; ends with WORK/done when all
records of the source are through.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import DataFrame

import flinkish.spark as fs
from tests.spark.killed import put
from tests.spark.sessions import LOCAL, session
from tests.spark.sources import Paced
from tests.spark.support import start


def main(work: Path, count: int) -> None:
    spark = session(LOCAL, work)
    out = work / "out"
    source = Paced(count, str(out), count // 10)
    fs.register_source(spark, source, "n bigint, text string")

    def write(frame: DataFrame, batch: int) -> None:
        put(work, f"{batch:05}", [row.n for row in frame.collect()])

    rows = spark.readStream.format("flinkish-source").load()
    writer = rows.writeStream.foreachBatch(write)
    query = start(writer.option("checkpointLocation", str(work / "checkpoint")))
    while query.isActive:
        query.awaitTermination(0.1)
        batches = [json.loads(file.read_text()) for file in out.glob("*.json")]
        if sum(map(len, batches)) >= count:
            (work / "done").touch()
            query.stop()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
