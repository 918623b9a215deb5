"""Real-time mode: how long a row takes from a topic through a keyed operator to a topic.

    bash ci/bench.sh spark_real_time                    # at 1,000 rows/s
    bash ci/bench.sh spark_real_time --rate 100000 --every 100
    bash ci/bench.sh spark_real_time --backlog 10000000 --every 1000    # rows/s of rows that wait
    bash ci/bench.sh spark_real_time --timers           # how late timers on processing time are
    bash ci/bench.sh spark_real_time --idle             # the CPU of a query that waits for rows
    bash ci/bench.sh spark_real_time --query shuffle    # Spark alone: rows through a shuffle
    bash ci/bench.sh spark_real_time --query kafka      # Spark alone: from topic to topic
    bash ci/bench.sh spark_real_time --query transform  # Spark's own keyed state, in Java
    bash ci/bench.sh spark_real_time --query flink --flink-jars FOLDER

The last two are SparkCounts.java and FlinkCounts.java, which need a JDK.  Flink's job needs in
FOLDER the jars of `pyflink/lib` (of the package apache-flink-libraries), flink-connector-kafka,
flink-connector-base and kafka-clients.

A broker on loopback, a process that sends, the query, and this process, which reads the results.  A
row counts for its key and moves a timer; one in ``--every`` of a key gives a result.  A latency is
from the moment before the row is sent, with ``--timers`` from the time of the timer, to the moment
after its result is read, by one clock.  The first seconds, in which the JVM compiles, do not count.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyspark
from confluent_kafka import Consumer, Producer
from pyspark import cloudpickle

HERE = Path(__file__).absolute()
sys.path.insert(0, str(HERE.parents[2]))

from examples.realtime.broker import broker, connector_jars  # noqa: E402
from flinkish.common import Types, WatermarkStrategy  # noqa: E402
from flinkish.datastream.functions import KeyedProcessFunction  # noqa: E402
from flinkish.datastream.state import ValueStateDescriptor  # noqa: E402

cloudpickle.register_pickle_by_value(sys.modules[__name__])

ROWS, RESULTS = "rows", "results"
TIMER_MS = 3_600_000
SOON_MS = 500
WARM_S = 40
LONGEST_S = 600
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class Counts(KeyedProcessFunction):
    """Counts the rows of a key and moves its timer."""

    def __init__(self, every: int) -> None:
        self.every = every

    def open(self, context: Any) -> None:
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.timer = context.get_state(ValueStateDescriptor("timer", Types.LONG()))

    def process_element(self, value: Any, context: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        timers = context.timer_service()
        if (before := self.timer.value()) is not None:
            timers.delete_event_time_timer(before)
        later = context.timestamp() + TIMER_MS
        timers.register_event_time_timer(later)
        self.timer.update(later)
        if count % self.every == 0:
            yield value.sent, count

    def on_timer(self, timestamp: int, context: Any) -> Iterator[Any]:
        yield timestamp, 0


class Soon(KeyedProcessFunction):
    """Gives a result some time after each row, on the worker's clock."""

    def process_element(self, value: Any, context: Any) -> None:
        timers = context.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + SOON_MS)

    def on_timer(self, timestamp: int, context: Any) -> Iterator[Any]:
        yield timestamp * 1000, 0


def job(settings: dict[str, Any]) -> None:
    """The query, until it is killed."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    import flinkish.spark as fs

    builder = SparkSession.builder.master("local[6]").config("spark.jars", settings["jars"])
    builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2")
    builder.config("spark.driver.memory", "2g")
    for name, value in fs.REAL_TIME_AT_START.items():
        builder.config(name, value)
    timeout = settings["buffer_timeout"]
    spark = fs.configure(builder.getOrCreate(), real_time=True, buffer_timeout=timeout)
    spark.sparkContext.setLogLevel("ERROR")
    kafka = {"kafka.bootstrap.servers": settings["broker"]}
    rows = (
        spark.readStream.format("kafka")
        .options(**kafka, subscribe=ROWS, startingOffsets="earliest")
        .load()
        .select(
            F.col("key").cast("string").alias("key"),
            F.col("value").cast("string").cast("bigint").alias("sent"),
        )
        .withColumn("at", F.timestamp_micros("sent"))
    )
    if settings["query"] == "counts":
        out = counted(rows, settings)
    else:
        spread = rows.repartition(2, "key") if settings["query"] == "shuffle" else rows
        out = spread.select(F.concat_ws(" ", "sent", F.lit(0)).alias("value"))
    query = (
        out.writeStream.format("kafka")
        .options(**kafka, topic=RESULTS, checkpointLocation=settings["folder"] + "/checkpoint")
        .option("asyncProgressTrackingEnabled", "false")
        .outputMode("update")
        .trigger(realTime=settings["batch"])
        .start()
    )
    query.awaitTermination()


def counted(rows: Any, settings: dict[str, Any]) -> Any:
    """The results of the keyed function, as values for a topic."""
    from pyspark.sql import functions as F

    import flinkish.spark as fs

    counts = (
        fs.DataStream(rows)
        .assign_timestamps_and_watermarks(
            WatermarkStrategy.for_monotonous_timestamps(), column="at"
        )
        .key_by("key")
        .process(
            Soon() if settings["timers"] else Counts(settings["every"]),
            schema="sent bigint, count bigint",
            uid="counts",
            max_parallelism=settings["groups"],
            processing_time_timers=settings["timers"],
        )
    )
    return counts.to_df().select(F.concat_ws(" ", "sent", "count").alias("value"))


def flink(settings: dict[str, Any]) -> None:
    """Flink's job, until it is killed."""
    jars = ":".join(str(jar) for jar in sorted(Path(settings["flink_jars"]).glob("*.jar")))
    classes = settings["folder"] + "/classes"
    source = str(HERE.with_name("FlinkCounts.java"))
    subprocess.run(["javac", "-cp", jars, "-d", classes, source], check=True)
    opened = [f"--add-opens=java.base/java.{room}=ALL-UNNAMED" for room in ("lang", "util")]
    given = [settings["broker"], ROWS, RESULTS]
    given += [str(settings[name]) for name in ("every", "buffer_timeout")]
    command = ["java", *opened, "-cp", f"{classes}:{jars}", "FlinkCounts", *given, "300000"]
    subprocess.run(command, check=True)


def transform(settings: dict[str, Any]) -> None:
    """The job of Spark's own transformWithState, until it is killed."""
    from flinkish.spark import REAL_TIME_AT_START

    home, folder = Path(pyspark.__file__).parent, settings["folder"]
    source = str(HERE.with_name("SparkCounts.java"))
    subprocess.run(
        ["javac", "-cp", f"{home}/jars/*", "-d", f"{folder}/classes", source], check=True
    )
    subprocess.run(
        ["jar", "cf", f"{folder}/counts.jar", "-C", f"{folder}/classes", "."], check=True
    )
    configured = REAL_TIME_AT_START | {
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.stateStore.providerClass": _ROCKSDB,
        "spark.ui.enabled": "false",
    }
    command = [f"{home}/bin/spark-submit", "--master", "local[6]", "--jars", settings["jars"]]
    for name, value in configured.items():
        command += ["--conf", f"{name}={value}"]
    given = [settings["broker"], ROWS, RESULTS, str(settings["every"]), f"{folder}/checkpoint"]
    command += ["--class", "SparkCounts", f"{folder}/counts.jar", *given, settings["batch"]]
    subprocess.run(command, check=True)


# What runs, of those that are not `job`.
OTHERS = {"flink": flink, "transform": transform}


def send(address: str, keys: int, rate: int, seconds: float, backlog: int) -> None:
    """Send so many rows a second, or a backlog at once."""
    linger = 0 if rate <= 10_000 and not backlog else 1
    producer = Producer(
        {
            "bootstrap.servers": address,
            "linger.ms": linger,
            "max.in.flight": 2,  # else each row is a request, and they queue up in the broker
            "queue.buffering.max.messages": 2_000_000,
        }
    )
    names = [f"device-{number}".encode() for number in range(keys)]
    order = np.random.default_rng(1).integers(0, keys, 1 << 20)
    begun, sent = time.time(), 0
    while backlog or time.time() < begun + seconds:
        due = backlog if backlog else int((time.time() - begun) * rate)
        while sent < due:
            key = names[order[sent & (len(order) - 1)]]
            value = str(time.time_ns() // 1000).encode()
            try:
                producer.produce(ROWS, value, key, partition=sent & 1)
            except BufferError:
                producer.poll(0.05)
                continue
            sent += 1
        producer.poll(0)
        if backlog:
            break
        time.sleep(0.001)
    producer.flush()


def cpu_of(process: psutil.Process) -> float:
    """Seconds of CPU that a process and those below it have used."""
    used = 0.0
    for one in [process, *process.children(recursive=True)]:
        try:
            times = one.cpu_times()
            used += times.user + times.system
        except psutil.NoSuchProcess:
            continue
    return used


def arrived(consumer: Consumer) -> list[Any]:
    """The messages that are there, after a wait for the first of them."""
    first = consumer.poll(0.05)
    return [] if first is None else [first, *consumer.consume(10_000, 0)]


def latencies(
    consumer: Consumer, sender: Any, process: psutil.Process, asked: argparse.Namespace
) -> None:
    """Print how long results took after the warm-up, and the CPU of the query."""
    found: list[float] = []
    steady, used = math.inf, 0.0  # from when on it counts, after the query has caught up
    while (now := time.time()) < steady + asked.seconds:
        messages = [one for one in arrived(consumer) if one.error() is None]
        now = time.time()
        taken = [now * 1000 - int(one.value().split()[0]) / 1000 for one in messages]
        if steady == math.inf and taken and min(taken) < 1000:
            steady = now + asked.warm
            if asked.idle:
                sender.kill()
        if now < steady:
            used = cpu_of(process)
        else:
            found += taken
    used = cpu_of(process) - used
    said = "no rows: "
    if not asked.idle:
        parts = np.percentile(found, [50, 90, 99, 99.9])
        said = (
            f"{asked.rate:,d} rows/s: p50 {parts[0]:.1f} ms, p90 {parts[1]:.1f}, "
            f"p99 {parts[2]:.1f}, p99.9 {parts[3]:.1f}, over {len(found):,d} results; "
        )
    print(f"{said}{used / asked.seconds:.3f} cores used by the query", flush=True)


def throughput(consumer: Consumer, asked: argparse.Namespace) -> None:
    """Print how fast the query takes rows that wait: from its first to its last result."""
    rows, first = 0, 0.0
    begin = end = 0.0
    while rows < asked.backlog - asked.keys * asked.every:
        for one in consumer.consume(10_000, 0.1):
            if one.error() is None:
                rows += asked.every
                end = time.time()
                if not begin and rows > asked.backlog / 5:
                    begin, first = end, rows
    print(f"{(rows - first) / (end - begin):,.0f} rows/s, of {asked.backlog:,d} that waited")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--warm", type=int, default=WARM_S, help="seconds that do not count")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--groups", type=int, default=16)
    parser.add_argument("--backlog", type=int, default=0)
    parser.add_argument("--timers", action="store_true")
    parser.add_argument("--idle", action="store_true")
    parser.add_argument("--batch", default="5 minutes")
    parser.add_argument(
        "--query", default="counts", choices=("counts", "shuffle", "kafka", *OTHERS)
    )
    parser.add_argument("--flink-jars")
    parser.add_argument("--buffer-timeout", type=int, default=5, help="ms")
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="flinkish-bench-") as folder,
        broker(Path(folder), (ROWS, RESULTS)) as address,
    ):
        known = {"broker": address, "jars": connector_jars(), "folder": folder}
        measure(asked, vars(asked) | known)


def measure(asked: argparse.Namespace, settings: dict[str, Any]) -> None:
    """Send, run the query, and read its results."""
    context = multiprocessing.get_context("spawn")
    seconds = asked.warm + asked.seconds + LONGEST_S
    rows = (settings["broker"], asked.keys, asked.rate, seconds, asked.backlog)
    sender, query = (
        context.Process(target=send, args=rows),
        context.Process(target=OTHERS.get(asked.query, job), args=(settings,)),
    )
    sender.start()
    if asked.backlog:
        sender.join()
    query.start()
    consumer = Consumer(
        {
            "bootstrap.servers": settings["broker"],
            "group.id": "bench",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([RESULTS])
    try:
        if asked.backlog:
            throughput(consumer, asked)
        else:
            latencies(consumer, sender, psutil.Process(query.pid), asked)
    finally:
        tree = psutil.Process(query.pid).children(recursive=True)
        for one in [*tree, query, sender]:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        consumer.close()


if __name__ == "__main__":
    main()
