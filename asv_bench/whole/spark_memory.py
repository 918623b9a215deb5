"""The most memory that a hot key and a large key group take: of the JVM and of a Python worker.

    bash ci/bench.sh spark_memory [HOT_ROWS [KEYS [PEERS_KEYS]]]    # default 5000000 1000000 200000

A hot key: so many rows of one key in one micro-batch, an output row for each.  A large group: so
many keys with a value of 1 KB each in one key group (of Spark's own ways: in one partition), put in
by micro-batches of 100,000 keys, and then one more batch that touches 100,000 of them.  Spark's own
ways put in fewer, since a batch takes them the better part of a minute.  Each way is a process of
its own with a heap of 3 GB.
"""

from __future__ import annotations

import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
from _common import BATCH_MS, INPUT, START_MS, WorkerMemory, Workspace, session
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

import flinkish.spark as fs
from flinkish.common import Types
from flinkish.datastream.functions import KeyedProcessFunction
from flinkish.datastream.state import ValueStateDescriptor

PUT = 100_000
SCHEMA = "device bigint, n bigint"
WAYS = ("flinkish", "transformWithState", "transformWithStateInPandas")


def text(size: int) -> str:
    """A text that compresses to half of its size, as texts do."""
    return secrets.token_hex(size // 2)


class Ours(KeyedProcessFunction):
    """Counts, and keeps a text of so many characters."""

    def __init__(self, size: int) -> None:
        self.size = size

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.kept = runtime_context.get_state(ValueStateDescriptor("text", Types.STRING()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if self.size:
            self.kept.update(text(self.size))
        yield value.device, count


class _SparksOwn(StatefulProcessor):
    def __init__(self, size: int) -> None:
        self.size = size

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.state = handle.getValueState("state", "count bigint, text string")

    def begin(self) -> int:
        held = self.state.get()
        return 0 if held is None else int(held[0])

    def close(self) -> None:
        pass


class OnRows(_SparksOwn):
    """transformWithState."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        count = self.begin()
        for row in rows:
            count += 1
            yield Row(device=row.device, n=count)
        self.state.update((count, text(self.size)))


class InPandas(_SparksOwn):
    """transformWithStateInPandas."""

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        count = self.begin()
        for frame in rows:
            numbers = np.arange(count + 1, count + 1 + len(frame))
            count += len(frame)
            yield pd.DataFrame({"device": frame["device"], "n": numbers})
        self.state.update((count, text(self.size)))


def output(frame: DataFrame, way: str, size: int) -> DataFrame:
    """The rows that come out."""
    if way == "flinkish":
        keyed = fs.DataStream(frame).key_by("device")
        return keyed.process(Ours(size), schema=SCHEMA, uid="memory", max_parallelism=1).to_df()
    grouped = frame.groupBy("device")
    if way == "transformWithState":
        return grouped.transformWithState(OnRows(size), SCHEMA, "Update", "None")
    return grouped.transformWithStateInPandas(InPandas(size), SCHEMA, "Update", "None")


def most_of_the_jvm() -> float:
    """The most memory that the JVM has had in this process's life, in MB."""
    for process in psutil.Process().children(recursive=True):
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        named = dict(line.split(":\t", 1) for line in lines)
        if named["Name"] == "java":
            return int(named["VmHWM"].split()[0]) * 1024 / 1e6
    raise AssertionError("Spark has a JVM")


def measure(way: str, hot: int, keys: int) -> None:
    """One way through one of the two, in this process."""
    spark = session()
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    with Workspace() as space, WorkerMemory() as worker:
        if hot:
            space.put(np.zeros(hot, np.int64), START_MS)
        for first in range(0, keys, PUT):
            space.put(np.arange(first, first + PUT), START_MS + first // PUT * BATCH_MS)
        if keys:
            touched = np.random.default_rng(2).choice(keys, PUT, replace=False)
            space.put(touched, START_MS + keys // PUT * BATCH_MS)
        files = spark.readStream.schema(INPUT).option("maxFilesPerTrigger", 2)
        frame = output(files.parquet(str(space.path / "in")), way, 1_000 if keys else 0)
        begun = time.monotonic()
        query = (
            frame.writeStream.format("noop")
            .outputMode("update")
            .option("checkpointLocation", str(space.path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        seconds = time.monotonic() - begun
        last = [batch for batch in query.recentProgress if batch["numInputRows"]][-1]
        jvm, own, mapped = most_of_the_jvm(), worker.anonymous / 1e6, worker.files / 1e6
        print(
            f"{way:<27} JVM {jvm:>6,.0f} MB, a worker {own:>6,.0f} MB and {mapped:>6,.0f} MB of "
            f"mapped files, {seconds:>5.0f} s in all, "
            f"last batch {last['batchDuration'] / 1000:.1f} s",
            flush=True,
        )
    spark.stop()


def main(hot: int = 5_000_000, keys: int = 1_000_000, peers_keys: int = 200_000) -> None:
    print(f"a key with {hot:,} rows in one micro-batch", flush=True)
    for way in WAYS:
        alone(way, hot, 0)
    for ways, held in ((WAYS[:1], keys), (WAYS, peers_keys)):
        print(f"a key group of {held:,} keys with 1 KB each", flush=True)
        for way in ways:
            alone(way, 0, held)


def alone(way: str, hot: int, keys: int) -> None:
    """Measure in a process of its own."""
    command = [sys.executable, __file__, "measure", way, str(hot), str(keys)]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        reason = [line for line in done.stderr.splitlines() if "Error" in line]
        print(f"{way:<27} failed: {(reason or ['?'])[-1][:200]}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        measure(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        main(*(int(argument) for argument in sys.argv[1:]))
