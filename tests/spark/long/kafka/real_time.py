"""A query in real-time mode over Kafka, which counts until it is killed.

    real_time.py SETTINGS

SETTINGS is a file of JSON with the broker, the jars and the folder.
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

MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps()
STEP_MS = 10  # of event time, from number to number
LATER_MS = 35
NUMBERS, RESULTS = "counted", "counts"  # topics
OUT = "key string, kind string, count bigint, sum bigint"


class Totals(KeyedProcessFunction):
    """Counts and sums of a key; how many of its timers have fired, on either clock."""

    def open(self, context: Any) -> None:
        def state(name: str) -> Any:
            return context.get_state(ValueStateDescriptor(name, Types.LONG()))

        self.count, self.sum = state("count"), state("sum")
        self.events, self.waits, self.clock = state("events"), state("waits"), state("clock")

    def process_element(self, value: Any, context: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        self.sum.update((self.sum.value() or 0) + value["n"])
        timers = context.timer_service()
        timers.register_event_time_timer(context.timestamp() + LATER_MS)
        if self.clock.value() is None:
            self.clock.update(timers.current_processing_time() + LATER_MS)
            timers.register_processing_time_timer(self.clock.value())
        yield value["key"], "row", self.count.value(), self.sum.value()

    def on_timer(self, timestamp: int, context: Any) -> Iterator[Any]:
        if timestamp == self.clock.value():
            self.clock.clear()
            self.waits.update((self.waits.value() or 0) + 1)
            yield context.get_current_key(), "wait", self.waits.value(), None
        else:
            self.events.update((self.events.value() or 0) + 1)
            yield context.get_current_key(), "event", self.events.value(), timestamp


def session(settings: dict[str, str], cores: int = 6, *, connect: bool = False) -> SparkSession:
    """A session, or a client of Spark Connect with a server of its own."""
    place, builder = f"local[{cores}]", SparkSession.builder
    builder = builder.remote(place) if connect else builder.master(place)
    builder.config("spark.jars", settings["jars"])
    builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2")
    for name, value in fs.REAL_TIME_AT_START.items():
        builder.config(name, value)
    return builder.getOrCreate()


def kafka(reader: Any, settings: dict[str, str]) -> Any:
    return reader.format("kafka").option("kafka.bootstrap.servers", settings["broker"])


def run(settings: dict[str, str]) -> None:
    spark = fs.configure(session(settings), real_time=True)
    reader = kafka(spark.readStream, settings).option("subscribe", NUMBERS)
    rows = (
        reader.option("startingOffsets", "earliest")
        .load()
        .select(
            F.col("key").cast("string").alias("key"),
            F.col("value").cast("string").cast("bigint").alias("n"),
        )
        .withColumn("at", F.timestamp_millis(F.col("n") * STEP_MS))
    )
    totals = (
        fs.DataStream(rows)
        .assign_timestamps_and_watermarks(MONOTONOUS, column="at")
        .key_by("key")
        .process(Totals(), schema=OUT, max_parallelism=8, uid="totals", processing_time_timers=True)
    )
    out = totals.to_df().select("key", F.to_json(F.struct("*")).alias("value"))
    query = (
        kafka(out.writeStream, settings)
        .option("topic", RESULTS)
        .option("checkpointLocation", str(Path(settings["folder"]) / "checkpoint"))
        .option("asyncProgressTrackingEnabled", "false")
        .outputMode("update")
        .trigger(realTime="5 seconds")
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    run(json.loads(Path(sys.argv[1]).read_text()))
