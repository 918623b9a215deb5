"""Real-time mode: for how long nothing flows when state moves.

    bash ci/bench.sh spark_rebalance --keys 1000000

A broker on loopback and a query that keeps a count and a timer for each key.  After the keys are
in, rows ask for the counts of some, 250 a second.  Printed is the longest silence among their
results from batch to batch; then how long it takes from the query's start to its first result: as
it was, with another number of partitions, so that key groups move to other tasks, and after the
worker has lost its tables, so that it reads all state from the checkpoint, as on another machine.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

HERE = Path(__file__).absolute()
sys.path.insert(0, str(HERE.parents[2]))

import flinkish.spark as fs  # noqa: E402
from examples.realtime.broker import broker, connector_jars  # noqa: E402
from flinkish.common import Types, WatermarkStrategy  # noqa: E402
from flinkish.datastream.functions import KeyedProcessFunction  # noqa: E402
from flinkish.datastream.state import ValueStateDescriptor  # noqa: E402

cloudpickle.register_pickle_by_value(sys.modules[__name__])

ROWS, RESULTS = "rows", "results"
ASKED = 1000  # keys of which rows ask for the count
EVERY_S = 0.004
TIMER_MS = 3_600_000
PARTITIONS = "spark.sql.shuffle.partitions"


class Counts(KeyedProcessFunction):
    """Counts the rows of a key, sets a timer for each, and answers those that ask."""

    def open(self, context: Any) -> None:
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, context: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        context.timer_service().register_event_time_timer(context.timestamp() + TIMER_MS)
        if value.asks:
            yield value.key, count


def rows(spark: SparkSession, address: str) -> DataFrame:
    """The rows of the topic; they ask if their value is not empty."""
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", address)
    return (
        reader.options(subscribe=ROWS, startingOffsets="earliest")
        .load()
        .select(
            F.col("key").cast("string").alias("key"),
            (F.length("value") > 0).alias("asks"),
            F.col("timestamp").alias("at"),
        )
    )


def start(spark: SparkSession, address: str, folder: Path, partitions: int) -> StreamingQuery:
    """Start the query with so many partitions of the operator."""
    spark.conf.set(PARTITIONS, partitions)
    stream = fs.DataStream(rows(spark, address)).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps(), column="at"
    )
    counts = stream.key_by("key").process(
        Counts(),
        schema="key string, count bigint",
        uid="counts",
        max_parallelism=16,
        state=fs.StateSettings(table_dir=str(folder / "tables")),
    )
    values: Any = counts.to_df().select(F.col("count").cast("string").alias("value"))
    started: StreamingQuery = (
        values.writeStream.format("kafka")
        .option("kafka.bootstrap.servers", address)
        .options(topic=RESULTS, checkpointLocation=str(folder / "checkpoint"))
        .option("asyncProgressTrackingEnabled", "false")
        .outputMode("update")
        .trigger(realTime="20 seconds")
        .start()
    )
    return started


class Results(threading.Thread):
    """Sends rows that ask and notes when each result comes."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self._producer = Producer({"bootstrap.servers": address, "linger.ms": 0})
        self._consumer = Consumer({"bootstrap.servers": address, "group.id": "bench"})
        self._consumer.subscribe([RESULTS])
        self.came: list[float] = []

    def run(self) -> None:
        number, begun = 0, time.monotonic()
        while True:
            while number * EVERY_S <= time.monotonic() - begun:
                self._producer.produce(ROWS, b"?", f"device-{number % ASKED}".encode())
                number += 1
            self._producer.poll(0)
            if (message := self._consumer.poll(EVERY_S)) is not None and message.error() is None:
                self.came.append(time.monotonic())

    def silence(self, since: float) -> float:
        """The longest time (s) between two results since then."""
        came = [one for one in self.came if one >= since]
        return max(later - earlier for earlier, later in pairwise(came))


def fill(address: str, keys: int) -> None:
    """Send a row of each key, none of which asks."""
    most = 2_000_000
    producer = Producer({"bootstrap.servers": address, "queue.buffering.max.messages": most})
    for number in range(keys):
        while True:
            try:
                producer.produce(ROWS, b"", f"device-{number}".encode(), partition=number & 1)
                break
            except BufferError:
                producer.poll(0.05)
    producer.flush()


def committed(query: StreamingQuery) -> int:
    """How many batches have ended since the query was started."""
    if (error := query.exception()) is not None:
        raise error
    return len(query.recentProgress)


def wait(query: StreamingQuery, batches: int) -> None:
    """Until so many more batches have ended."""
    until = committed(query) + batches
    while committed(query) < until:
        time.sleep(0.1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=1_000_000)
    asked = parser.parse_args()
    builder = SparkSession.builder.master("local[8]").config("spark.jars", connector_jars())
    builder.config("spark.ui.enabled", "false").config(PARTITIONS, 2)
    builder.config("spark.driver.memory", "3g").config("spark.ui.showConsoleProgress", "false")
    for name, value in fs.REAL_TIME_AT_START.items():
        builder.config(name, value)
    spark = fs.configure(builder.getOrCreate(), real_time=True)
    spark.sparkContext.setLogLevel("ERROR")
    with (
        tempfile.TemporaryDirectory(prefix="flinkish-bench-") as name,
        broker(Path(name), (ROWS, RESULTS)) as address,
    ):
        measure(spark, address, Path(name), asked.keys)
    spark.stop()


def measure(spark: SparkSession, address: str, folder: Path, keys: int) -> None:
    """Fill the state, then move it about."""
    fill(address, keys)
    query = start(spark, address, folder, 2)
    while sum(one.numInputRows for one in query.recentProgress) < keys:
        wait(query, 1)
    results = Results(address)
    results.start()
    while len(results.came) < ASKED:
        time.sleep(0.1)
    begin = time.monotonic()
    wait(query, 3)
    time.sleep(3)
    said = [("from batch to batch", results.silence(begin))]
    moves = [("started again", 2, False), ("3 partitions", 3, False), ("no tables", 3, True)]
    for what, partitions, lost in moves:
        query.stop()
        if lost:
            shutil.rmtree(folder / "tables")
        time.sleep(1)  # results that are on their way
        begin, before = time.monotonic(), len(results.came)
        query = start(spark, address, folder, partitions)
        while len(results.came) == before:
            committed(query)
            time.sleep(0.01)
        said.append((what, time.monotonic() - begin))
        wait(query, 2)
    query.stop()
    print(f"{keys:,d} keys: " + ", ".join(f"{what} {s:.2f} s" for what, s in said), flush=True)


if __name__ == "__main__":
    main()
