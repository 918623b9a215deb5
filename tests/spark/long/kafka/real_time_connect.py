"""An operator after another in real-time mode, by a client of Spark Connect.

    real_time_connect.py SETTINGS

Runs a query over a topic of numbers until it is killed; the server is a process of its own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import flinkish.spark as fs
from flinkish.windowing import TumblingEventTimeWindows
from tests.spark.long.kafka.real_time import kafka
from tests.spark.long.kafka.real_time_operators import OUT, WINDOW_MS, Again, Spans, numbers

ROWS, RESULTS = "connected-rows", "connected"  # topics


def main(settings: dict[str, str]) -> None:
    builder = SparkSession.builder.remote("local[8]").config("spark.jars", settings["jars"])
    builder = builder.config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2")
    for name, value in fs.REAL_TIME_AT_START.items():
        builder = builder.config(name, value)
    spark = fs.configure(builder.getOrCreate(), real_time=True)
    checkpoint = str(Path(settings["folder"]) / "checkpoint")
    state = fs.StateSettings(backend="versioned", checkpoint=checkpoint)
    keyed = numbers(spark, settings, ROWS).key_by("key")
    again = keyed.process(Again(), schema=OUT, max_parallelism=4, state=state)
    windows = again.key_by("key").window(
        TumblingEventTimeWindows.of(WINDOW_MS), max_parallelism=4, state=state
    )
    spans = windows.process(Spans(), schema=OUT).to_df()
    texts = spans.select(F.to_json(F.struct("*")).alias("value"))
    writer = kafka(texts.writeStream, settings).option("topic", RESULTS)
    writer = writer.option("checkpointLocation", checkpoint).outputMode("update")
    writer = writer.option("asyncProgressTrackingEnabled", "false")
    writer.trigger(realTime="10 minutes").start().awaitTermination()


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
