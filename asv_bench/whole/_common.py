"""What the whole-process benchmarks share: a session, seeded input, and the function measured.

The function is the one of PEERS: count the rows of a key, delete its timer, register a new one.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, Literal

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import cloudpickle
from pyspark.sql import SparkSession

import flinkish.spark as fs
from flinkish.common import Types, WatermarkStrategy
from flinkish.datastream.functions import KeyedProcessFunction
from flinkish.datastream.state import ValueStateDescriptor

# Workers cannot import this module: send what is in it by value.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

START_MS = 1_700_000_000_000
BATCH_MS = 10_000
TIMER_MS = 3_600_000
INPUT = "device bigint, ts timestamp, v double"


def session(memory: str = "3g", cores: int = 2) -> SparkSession:
    """Two cores, or so many, two state partitions, flinkish's settings."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master(f"local[{cores}]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", memory)
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.sql.streaming.numRecentProgressUpdates", "1000")
        .config("spark.sql.files.openCostInBytes", "1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return fs.configure(spark)


class Workspace:
    """A directory for input, checkpoint and tables, gone at the end."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="flinkish-bench-"))
        (self.path / "in").mkdir()
        self._files = 0
        self._rng = np.random.default_rng(1)

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: Any) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def put(self, keys: np.ndarray, start_ms: int) -> None:
        """One micro-batch of input: two files, for two tasks."""
        times = start_ms + np.sort(self._rng.integers(0, BATCH_MS, len(keys)))
        for half in (slice(None, len(keys) // 2), slice(len(keys) // 2, None)):
            stamps = pa.array(times[half], pa.timestamp("ms", "UTC")).cast(
                pa.timestamp("us", "UTC")
            )
            values = pa.array(self._rng.random(len(times[half])))
            rows = pa.table({"device": pa.array(keys[half]), "ts": stamps, "v": values})
            path = self.path / "in" / f"{self._files:06d}.parquet"
            pq.write_table(rows, path)
            # The file source takes the oldest first.
            os.utime(path, (1_000_000_000 + self._files,) * 2)
            self._files += 1

    def put_touching(self, held: int, touched: int, rows: int, start_ms: int) -> None:
        """A micro-batch of `rows` rows over `touched` of the keys 0 .. held - 1."""
        keys = self._rng.choice(held, touched, replace=False)
        more = self._rng.choice(keys, rows - touched)
        self.put(self._rng.permutation(np.concatenate([keys, more])), start_ms)


class CountAndTimer(KeyedProcessFunction):
    """Counts rows; each deletes the key's timer and registers a later one."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.timer = runtime_context.get_state(ValueStateDescriptor("timer", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)
        timers = ctx.timer_service()
        registered = self.timer.value()
        if registered is not None:
            timers.delete_event_time_timer(registered)
        at = ctx.timestamp() + TIMER_MS
        timers.register_event_time_timer(at)
        self.timer.update(at)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), self.count.value()


def operator(
    spark: SparkSession, space: Workspace, backend: Literal["store", "versioned"] = "store"
) -> fs.ProcessedStream:
    """The function over the files of the input, two a batch."""
    frame = (
        spark.readStream.schema(INPUT)
        .option("maxFilesPerTrigger", 2)
        .parquet(str(space.path / "in"))
    )
    return (
        fs.DataStream(frame)
        .assign_timestamps_and_watermarks(
            WatermarkStrategy.for_monotonous_timestamps(), column="ts"
        )
        .key_by("device")
        .process(
            CountAndTimer(),
            schema="device bigint, n bigint",
            uid="count",
            state=fs.StateSettings(table_dir=str(space.path / "tables"), backend=backend),
        )
    )


def run(
    spark: SparkSession, space: Workspace, backend: Literal["store", "versioned"] = "store"
) -> list[dict[str, Any]]:
    """Run the function over all input that is not in the checkpoint yet; facts of each batch."""
    query = (
        operator(spark, space, backend)
        .to_df()
        .writeStream.format("noop")
        .option("checkpointLocation", str(space.path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    facts = []
    for progress in query.recentProgress:
        counted = progress["observedMetrics"].get("flinkish.count")
        if progress["numInputRows"] and counted is not None:
            facts.append(
                {
                    "seconds": progress["batchDuration"] / 1000,
                    "rows": progress["numInputRows"],
                    "bytes": counted["checkpoint_bytes"],
                    "compactions": counted["compactions"],
                    "misses": counted["table_misses"],
                }
            )
    return facts


class WorkerMemory:
    """The most memory that any Python worker had while this was open, in bytes.

    ``anonymous`` is what the process itself holds; ``files`` are pages of mapped files, tables
    among them, which the system may take back.
    """

    def __enter__(self) -> WorkerMemory:
        self.anonymous = self.files = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.02):
            for process in psutil.Process().children(recursive=True):
                status = Path(f"/proc/{process.pid}")
                try:
                    if b"\0pyspark.daemon\0" in (status / "cmdline").read_bytes():
                        lines = (status / "status").read_text().splitlines()
                        memory = dict(line.split(":\t", 1) for line in lines)
                        anonymous, files = (
                            int(memory[name].split()[0]) * 1024 for name in ("RssAnon", "RssFile")
                        )
                        self.anonymous = max(self.anonymous, anonymous)
                        self.files = max(self.files, files)
                except OSError:
                    continue  # it has ended


def median(values: list[float]) -> float:
    """The median; nan of nothing."""
    return statistics.median(values) if values else float("nan")
