"""Windows of built-in aggregates on Spark streams: by columns, and Spark SQL's own, in one run.

    bash ci/bench.sh spark_windows [ROUNDS]

1M-row batches of 10k keys and 10 s of event time: a count and a sum of doubles over tumbling
windows of 10 s; by columns also over 60 s / 1 s and sessions.  Each way has a query of its own over
the same files; they take turns, and rows/s are of the median batch of the second half of a turn.
At the end both ways run over the files as a batch DataFrame and are compared: the same windows and
counts, sums within 1e-12.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from _common import BATCH_MS, INPUT, START_MS, Workspace, median, session
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import flinkish.spark as fs
from flinkish.common import WatermarkStrategy
from flinkish.functions import Count, Sum
from flinkish.windowing import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)

KEYS = 10_000
ROWS = 1_000_000
BATCHES = 14
DELAY = "2 seconds"


def source(spark: SparkSession, space: Workspace, *, stream: bool = True) -> DataFrame:
    """The files, two a batch."""
    reader = spark.readStream.option("maxFilesPerTrigger", 2) if stream else spark.read
    return reader.schema(INPUT).parquet(str(space.path / "in"))


def ours(frame: DataFrame, assigner: WindowAssigner, space: Workspace) -> DataFrame:
    """By columns."""
    return (
        fs.DataStream(frame)
        .assign_timestamps_and_watermarks(
            WatermarkStrategy.for_bounded_out_of_orderness(DELAY), column="ts"
        )
        .key_by("device")
        .window(assigner, state=fs.StateSettings(table_dir=str(space.path / "tables")))
        .aggregate([Count(), Sum("v")])
        .to_df()
    )


def sparks(frame: DataFrame) -> DataFrame:
    """Spark SQL's window aggregate."""
    windows = F.window("ts", "10 seconds")
    counted = (
        frame.withWatermark("ts", DELAY)
        .groupBy("device", windows)
        .agg(F.count("*").alias("count"), F.sum("v").alias("sum_v"))
    )
    return counted.select("device", "window.start", "window.end", "count", "sum_v")


def rate(frame: DataFrame, space: Workspace, name: str) -> float:
    """Rows/s of the median batch of the second half."""
    query = (
        frame.writeStream.format("noop")
        .outputMode("append")
        .option("checkpointLocation", str(space.path / name))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    took = [each["batchDuration"] / 1000 for each in query.recentProgress if each["numInputRows"]]
    return ROWS / median(took[len(took) // 2 :])


def check(spark: SparkSession, space: Workspace) -> None:
    """The rows of both ways over the files as a batch DataFrame."""
    frame = source(spark, space, stream=False)
    mine = ours(frame, TumblingEventTimeWindows.of(10_000), space)
    named = sparks(frame).toDF("device", "window_start", "window_end", "count", "sum_v")
    keys = ["device", "window_start", "window_end", "count"]
    wrong = (
        mine.join(named.withColumnRenamed("sum_v", "theirs"), keys, "full_outer")
        .where(~(F.abs(F.col("sum_v") - F.col("theirs")) <= 1e-12 * F.abs("theirs")))
        .count()
    )
    missing = mine.join(named, keys, "left_anti").count()
    missing += named.join(mine, keys, "left_anti").count()
    if wrong or missing:
        raise SystemExit(f"{wrong} sums differ, {missing} windows are missing")
    print(f"{mine.count():,} windows are the same", flush=True)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    spark = session()
    with Workspace() as space:
        random = np.random.default_rng(3)
        for batch in range(BATCHES):
            space.put(random.integers(0, KEYS, ROWS), START_MS + batch * BATCH_MS)
        found: dict[str, list[float]] = {}
        ways: dict[str, Any] = {
            "by columns, tumbling 10 s": TumblingEventTimeWindows.of(10_000),
            "Spark SQL, tumbling 10 s": None,
            "by columns, sliding 60 s / 1 s": SlidingEventTimeWindows.of(60_000, 1_000),
            "by columns, session 5 s": EventTimeSessionWindows.with_gap(5_000),
        }
        for turn in range(rounds):
            for name, assigner in ways.items():
                frame = source(spark, space)
                frame = sparks(frame) if assigner is None else ours(frame, assigner, space)
                found.setdefault(name, []).append(rate(frame, space, f"{name} {turn}"))
                print(f"{name:<34}{found[name][-1]:>12,.0f} rows/s", flush=True)
        first, second, *_ = (median(rates) for rates in found.values())
        print(f"by columns is {first / second:.2f} × Spark SQL's (medians of {rounds})")
        check(spark, space)


if __name__ == "__main__":
    main()
