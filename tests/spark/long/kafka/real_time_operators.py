"""Operators in real-time mode, side by side: windows, two inputs, rules, chains, side outputs.

    real_time_operators.py SETTINGS

Runs a query of each kind over topics of numbers; each writes to the topic of its name, until it
is killed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import flinkish.spark as fs
from flinkish.common import Duration, Types, WatermarkStrategy
from flinkish.common.output_tag import OutputTag
from flinkish.common.watermark_strategy import TimestampAssigner
from flinkish.functions import (
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
    ProcessWindowFunction,
)
from flinkish.functions.aggregates import Count, Sum
from flinkish.state import MapStateDescriptor, ValueStateDescriptor
from flinkish.windowing import TumblingEventTimeWindows
from tests.spark.long.kafka.real_time import MONOTONOUS, STEP_MS, kafka, session

NUMBERS = 140
WINDOW_MS = 20 * STEP_MS
ODD = OutputTag("odd", Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.LONG()]))
LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.LONG())
OUT = "key string, a bigint, b bigint"
FIRST, SECOND = "first", "second"  # topics of numbers
HALF = "half"  # a topic of numbers, all in one partition
# Of two inputs, of which one is the output of an operator.
JOINED = ("mixed", "behind", "fed", "beside")
WINDOWS = ("windows", "columns", "idle", "filtered", "assigned", "united", *JOINED)
KEYED = ("chained", "side", "function", "both", "rules", *WINDOWS)
PLAIN = ("mapped", "called", "task")
QUERIES = (*KEYED, *PLAIN, "all")
IDLE = MONOTONOUS.with_idleness(Duration.of_seconds(2))


class Counted(KeyedProcessFunction):
    """How many elements its key has had, and the odd ones to the side."""

    def open(self, context: Any) -> None:
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, context: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        if value[1] % 2:
            yield ODD, (value[0], value[1])
        yield str(value[1] % 3), value[1], self.count.value()


class Both(KeyedCoProcessFunction):
    """Counts of both inputs, once each key has had all."""

    def open(self, context: Any) -> None:
        self.first = context.get_state(ValueStateDescriptor("first", Types.LONG()))
        self.second = context.get_state(ValueStateDescriptor("second", Types.LONG()))

    def process_element1(self, value: Any, context: Any) -> Iterator[Any]:
        self.first.update((self.first.value() or 0) + 1)
        yield value["key"], self.first.value(), self.second.value() or 0

    def process_element2(self, value: Any, context: Any) -> Iterator[Any]:
        self.second.update((self.second.value() or 0) + 1)
        yield value["key"], self.first.value() or 0, self.second.value()


class Ruled(KeyedBroadcastProcessFunction):
    """How many rules a key knows, with each element."""

    def process_element(self, value: Any, context: Any) -> Iterator[Any]:
        yield value["key"], value["n"], len(list(context.get_broadcast_state(LIMITS).keys()))

    def process_broadcast_element(self, value: Any, context: Any) -> Iterator[Any]:
        context.get_broadcast_state(LIMITS).put(str(value["n"]), value["n"])
        yield "rule", value["n"], 0


class Again(KeyedProcessFunction):
    """Its elements again."""

    def process_element(self, value: Any, context: Any) -> Iterator[Any]:
        yield value.key, value.n, 0


class SpansOfBoth(KeyedCoProcessFunction):
    """How many elements of both inputs a window has."""

    def open(self, context: Any) -> None:
        counts = MapStateDescriptor("counts", Types.LONG(), Types.LONG())
        self.counts = context.get_map_state(counts)

    def process_element1(self, value: Any, context: Any) -> None:
        end = context.timestamp() // WINDOW_MS * WINDOW_MS + WINDOW_MS
        self.counts.put(end, (self.counts.get(end) or 0) + 1)
        context.timer_service().register_event_time_timer(end - 1)

    def process_element2(self, value: Any, context: Any) -> None:
        self.process_element1(value, context)

    def on_timer(self, timestamp: int, context: Any) -> Iterator[Any]:
        begin = timestamp + 1 - WINDOW_MS
        yield context.get_current_key(), begin, self.counts.get(timestamp + 1)


class Spans(ProcessWindowFunction):
    """The begin of a window, and how many elements it has."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield key, context.window().start, len(list(elements))


class Plain(ProcessFunction):
    """Its rows again."""

    def process_element(self, value: Any, context: Any) -> Iterator[Any]:
        yield value.key, value.n, 0


async def called(row: Any) -> list[Any]:
    """The row again, after a while that differs from row to row."""
    await asyncio.sleep(0.001 * (row.n % 7))
    return [(row.key, row.n, 0)]


def records(spark: SparkSession, settings: dict[str, str], topic: str) -> DataFrame:
    """The numbers of a topic."""
    return (
        kafka(spark.readStream, settings)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
        .select(
            F.col("key").cast("string").alias("key"),
            F.col("value").cast("string").cast("bigint").alias("n"),
            "partition",
        )
        .withColumn("at", F.timestamp_millis(F.col("n") * STEP_MS))
    )


def numbers(
    spark: SparkSession,
    settings: dict[str, str],
    topic: str,
    strategy: WatermarkStrategy = MONOTONOUS,
) -> Any:
    """A topic as a stream with event time."""
    rows = records(spark, settings, topic)
    stream = fs.DataStream(rows)
    return stream.assign_timestamps_and_watermarks(strategy, column="at", partition="partition")


class AtOfRow(TimestampAssigner):
    """The time of a number."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value["n"]) * STEP_MS


def assigned(spark: SparkSession, settings: dict[str, str], topic: str) -> Any:
    """A topic as a stream whose event time a function gives."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(AtOfRow())
    rows = fs.DataStream(records(spark, settings, topic))
    return rows.assign_timestamps_and_watermarks(strategy)


def queries(spark: SparkSession, settings: dict[str, str]) -> dict[str, DataFrame]:
    """The results of each kind of operator."""

    def keyed(topic: str = FIRST) -> Any:
        return numbers(spark, settings, topic).key_by("key")

    options: Any = {"max_parallelism": 4}
    counted = keyed().process(Counted(), schema=OUT, **options)
    chained = counted.key_by("key").process(Counted(), schema=OUT, **options)
    by_function = numbers(spark, settings, FIRST).key_by(lambda row: row["key"])
    both = keyed().connect(keyed(SECOND)).process(Both(), schema=OUT, **options)
    rules = numbers(spark, settings, SECOND).broadcast(LIMITS)
    spans = TumblingEventTimeWindows.of(WINDOW_MS)
    windows = keyed().window(spans, **options)

    def spans_of(stream: Any) -> Any:
        return stream.key_by("key").window(spans, **options).process(Spans(), schema=OUT)

    def everything(topic: str) -> Any:
        return numbers(spark, settings, topic).filter(lambda row: True)

    def again(topic: str) -> Any:
        return keyed(topic).process(Again(), schema=OUT, uid=f"again-{topic}", **options)

    def of_both(first: Any, second: Any) -> Any:
        both = first.key_by("key").connect(second.key_by("key"))
        return both.process(SpansOfBoth(), schema=OUT, **options)

    plainly = numbers(spark, settings, SECOND).map(lambda row: (row.key, row.n, 0), schema=OUT)

    half = numbers(spark, settings, HALF, IDLE).key_by("key").window(spans, **options)
    rows = records(spark, settings, FIRST)
    plain = {
        "mapped": fs.DataStream(rows).map(lambda row: (row.key, row.n, 0), schema=OUT).to_df(),
        "called": fs.async_map(rows, called, OUT),
        "task": fs.run_task(rows, Plain(), OUT),
    }
    found = {
        "chained": chained,
        "side": counted.get_side_output(ODD),
        "function": by_function.process(Counted(), schema=OUT, **options),
        "both": both,
        "rules": keyed().connect(rules).process(Ruled(), schema=OUT, **options),
        "windows": windows.process(Spans(), schema=OUT),
        "columns": windows.aggregate([Count(), Sum("n")]),
        "idle": half.process(Spans(), schema=OUT),
        "filtered": spans_of(everything(FIRST)),
        "assigned": spans_of(assigned(spark, settings, FIRST)),
        "united": spans_of(numbers(spark, settings, FIRST).union(everything(SECOND))),
        "mixed": spans_of(again(FIRST).union(plainly)),
        "behind": spans_of(plainly.union(again(FIRST))),
        "fed": of_both(again(FIRST), numbers(spark, settings, SECOND)),
        "beside": of_both(numbers(spark, settings, FIRST), again(SECOND)),
    }
    keyed_results = {name: found[name].to_df() for name in KEYED if name in found}
    return (
        plain
        | keyed_results
        | {"all": keyed().process(Counted(), schema=OUT, **options).all_outputs(ODD)}
    )


def start(rows: DataFrame, settings: dict[str, str], topic: str, checkpoint: Path) -> Any:
    """The query that writes rows to a topic."""
    value = F.to_json(F.struct("*")).alias("value")
    writer = kafka(rows.select(value).writeStream, settings).option("topic", topic)
    writer = writer.option("checkpointLocation", str(checkpoint)).outputMode("update")
    writer = writer.option("asyncProgressTrackingEnabled", "false")
    return writer.trigger(realTime="10 minutes").start()


def main(settings: dict[str, str]) -> None:
    spark = fs.configure(session(settings, cores=110), real_time=True)
    for name, rows in queries(spark, settings).items():
        start(rows, settings, name, Path(settings["folder"]) / "checkpoints" / name)
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
