"""Tasks and calls on Spark beside what one would write without them, in one run.

    bash ci/bench.sh spark_calls [ROUNDS]

Two partitions on two cores.  A call waits 10 ms.  Rows through `async_map` by capacity, through a
pool of 100 threads in `mapInArrow`, and one after the other; then rows through `run_task` beside
a `mapInArrow` that does nothing.  Each way runs ROUNDS times after a first that does not count;
rows/s are of the median.  A batch of few rows is timed, too, and taken off: it is what a job
costs without its rows.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
from _common import median, session
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

import flinkish.spark as fs
from flinkish.functions import ProcessFunction

cloudpickle.register_pickle_by_value(sys.modules[__name__])

CALL_S = 0.01
Batches = Iterator[pa.RecordBatch]


async def call(row: Any) -> list[Any]:
    """A call that waits."""
    await asyncio.sleep(CALL_S)
    return [(row.n,)]


async def no_call(row: Any) -> list[Any]:
    """A call that has its answer."""
    return [(row.n,)]


def blocking_call(number: int) -> int:
    """A call that blocks its thread."""
    time.sleep(CALL_S)
    return number


def sequential(batches: Batches) -> Batches:
    """What a plain UDF does."""
    for batch in batches:
        numbers = [blocking_call(number) for number in batch.column(0).to_pylist()]
        yield pa.record_batch([pa.array(numbers, pa.int64())], ["n"])


def threads(batches: Batches) -> Batches:
    """What one writes next."""
    with ThreadPoolExecutor(100) as pool:
        for batch in batches:
            numbers = list(pool.map(blocking_call, batch.column(0).to_pylist()))
            yield pa.record_batch([pa.array(numbers, pa.int64())], ["n"])


def nothing(batches: Batches) -> Batches:
    """The ceiling of any `mapInArrow`."""
    yield from batches


class Same(ProcessFunction):
    """Gives back what it gets."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        """The row."""
        yield value


def calls(fn: Any, capacity: int) -> Callable[[DataFrame], DataFrame]:
    """A way through `async_map`, timeouts on."""
    return lambda rows: fs.async_map(rows, fn, "n bigint", capacity=capacity, timeout="1 minute")


WAYS: list[tuple[str, Callable[[DataFrame], DataFrame], int]] = [
    ("call 10 ms, one after the other", lambda rows: rows.mapInArrow(sequential, "n bigint"), 400),
    ("call 10 ms, 100 threads", lambda rows: rows.mapInArrow(threads, "n bigint"), 40_000),
    ("call 10 ms, async_map(capacity=100)", calls(call, 100), 80_000),
    ("call 10 ms, async_map(capacity=1000)", calls(call, 1_000), 300_000),
    ("no wait, async_map(capacity=1000)", calls(no_call, 1_000), 300_000),
    (
        "rows, mapInArrow that does nothing",
        lambda rows: rows.mapInArrow(nothing, "n bigint"),
        2_000_000,
    ),
    (
        "rows, run_task(ProcessFunction)",
        lambda rows: fs.run_task(rows, Same(), "n bigint"),
        1_000_000,
    ),
]


def seconds(
    spark: SparkSession, way: Callable[[DataFrame], DataFrame], rows: int, rounds: int
) -> float:
    """How long one run takes."""
    frame = way(spark.range(0, rows, 1, 2).withColumnRenamed("id", "n"))
    times = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        frame.write.format("noop").mode("overwrite").save()
        times.append(time.perf_counter() - began)
    return median(times[1:])


def main(rounds: int) -> None:
    """Print a line for each way."""
    spark = session("1g")
    for name, way, rows in WAYS:
        fixed = seconds(spark, way, 2, rounds)
        taken = max(seconds(spark, way, rows, rounds) - fixed, 1e-9)
        print(f"{name:40} {rows / taken:12,.0f} rows/s, two rows {fixed * 1000:.0f} ms")
    spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
