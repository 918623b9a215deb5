"""A program that is killed: a query over a source function, into a file for each micro-batch.

Run as ``python -m tests.spark.kill_source WORK COUNT``; ends with WORK/done when all records of
the source are through.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import flinkish.spark as fs
from tests.spark.sources import Numbers


def main(work: Path, count: int) -> None:
    spark = (
        SparkSession.builder.master("local[2,3]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.local.dir", str(work / "local"))
        .config("spark.python.authenticate.socketTimeout", "120s")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    fs.register_source(spark, Numbers(count, pause_s=0.001), "n bigint, text string")
    (work / "out").mkdir(exist_ok=True)

    def write(frame: DataFrame, batch: int) -> None:
        hidden = work / "out" / f".{batch:05}"
        hidden.write_text(json.dumps([row.n for row in frame.collect()]))
        hidden.rename(work / "out" / f"{batch:05}.json")

    query = (
        spark.readStream.format("flinkish-source")
        .load()
        .writeStream.foreachBatch(write)
        .option("checkpointLocation", str(work / "checkpoint"))
        .start()
    )
    while query.isActive:
        query.awaitTermination(0.1)
        rows = [json.loads(file.read_text()) for file in (work / "out").glob("*.json")]
        if sum(map(len, rows)) >= count:
            (work / "done").touch()
            query.stop()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
