"""The query of the demonstration: a dead-man switch for each device, in real-time mode.

job.py SETTINGS          # a file of JSON: broker, jars, folder, silence_ms
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import flinkish.spark as fs
from flinkish.common import Types, WatermarkStrategy
from flinkish.functions import KeyedProcessFunction
from flinkish.state import ValueStateDescriptor

OUT = "device string, kind string, n bigint, at bigint"
PARTITIONS = 2


class DeadManSwitch(KeyedProcessFunction):
    """Numbers the signals of a device, and alerts when the next is late: a timer a signal."""

    def __init__(self, silence_ms: int) -> None:
        self.silence_ms = silence_ms

    def open(self, context: Any) -> None:
        """Get the states."""
        self.n = context.get_state(ValueStateDescriptor("n", Types.LONG()))
        self.last = context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value: Any, context: Any) -> Iterator[Any]:
        """Number a signal; take back the alert that it makes void."""
        n, last, now = (self.n.value() or 0) + 1, self.last.value(), context.timestamp()
        if last is not None:
            context.timer_service().delete_event_time_timer(last + self.silence_ms)
            if now > last + self.silence_ms:  # before the watermark could say so
                yield value["device"], "silent", n - 1, last
        context.timer_service().register_event_time_timer(now + self.silence_ms)
        self.n.update(n)
        self.last.update(now)
        yield value["device"], "signal", n, now

    def on_timer(self, timestamp: int, context: Any) -> Iterator[Any]:
        """Alert: no signal has come in time."""
        yield context.get_current_key(), "silent", self.n.value(), self.last.value()
        self.last.clear()


def main(settings: dict[str, Any]) -> None:
    """Run the query until it is killed."""
    builder = SparkSession.builder.master("local[6]").config("spark.jars", settings["jars"])
    builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", PARTITIONS)
    for name, value in fs.REAL_TIME_AT_START.items():
        builder.config(name, value)
    spark = fs.configure(builder.getOrCreate(), real_time=True)
    spark.sparkContext.setLogLevel("ERROR")
    signals = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", settings["broker"])
        .option("subscribe", "signals")
        .option("startingOffsets", "earliest")
        .load()
        .select(
            F.col("key").cast("string").alias("device"),
            F.timestamp_millis(F.col("value").cast("string").cast("bigint")).alias("at"),
        )
    )
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    switched = (
        fs.DataStream(signals)
        .assign_timestamps_and_watermarks(strategy, column="at")
        .key_by("device")
        .process(DeadManSwitch(settings["silence_ms"]), schema=OUT, uid="dead-man switch")
    )
    value = F.to_json(F.struct("*")).alias("value")
    query = (
        switched.to_df()
        .select(F.col("device").alias("key"), value)
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", settings["broker"])
        .option("topic", "results")
        .option("checkpointLocation", str(Path(settings["folder"]) / "checkpoint"))
        .option("asyncProgressTrackingEnabled", "false")
        .outputMode("update")
        .trigger(realTime=settings["batch"])
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
