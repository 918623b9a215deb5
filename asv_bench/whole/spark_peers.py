"""The same function in Spark's own ways and in ours, in one run.

    bash ci/bench.sh spark_peers

10k keys, 100k-row batches: a count and one timer a key, by flinkish with its state in Spark's store
and versioned by batch, and by transformWithState on rows and transformWithStateInPandas, each with
Spark's default settings of the RocksDB store and with those that flinkish.spark.configure makes.
Each way has a query of its own over the same files, which runs for a minute; the first half of it
warms the JVM up, and rows/s are of the median batch of the second.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pandas as pd
from _common import BATCH_MS, INPUT, START_MS, TIMER_MS, Workspace, median, operator, session
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

import flinkish.spark.session as fs

KEYS = 10_000
ROWS = 100_000
BATCHES = 300
RUN_S = 60
WARM_UP_S = 30
PROVIDER = "spark.sql.streaming.stateStore.providerClass"


class _SparksOwn(StatefulProcessor):
    """Count the rows of a key, move its one timer: a state and a timer call for each group."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.state = handle.getValueState("state", "count bigint, timer bigint")

    def advance(self, rows: int, latest_ms: int) -> int:
        held = self.state.get()
        count, timer = held if held is not None else (0, None)
        if timer is not None:
            self.handle.deleteTimer(timer)
        at = latest_ms + TIMER_MS
        self.handle.registerTimer(at)
        self.state.update((count + rows, at))
        return int(count + rows)

    def close(self) -> None:
        pass


class OnRows(_SparksOwn):
    """transformWithState."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        stamps = [row.ts for row in rows]
        self.advance(len(stamps), int(max(stamps).timestamp() * 1000))
        return iter(())

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Row]:
        yield Row(device=key[0], n=self.state.get()[0])


class InPandas(_SparksOwn):
    """transformWithStateInPandas."""

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
        count, latest = 0, None
        for frame in rows:
            count += len(frame)
            newest = frame.ts.max()
            latest = newest if latest is None else max(latest, newest)
        self.advance(count, int(latest.timestamp() * 1000))
        return iter(())

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[pd.DataFrame]:
        yield pd.DataFrame({"device": [key[0]], "n": [self.state.get()[0]]})


def sparks_own(spark: SparkSession, space: Workspace, way: str, settings: str) -> float:
    """Rows/s of one of Spark's own ways."""
    grouped = (
        spark.readStream.schema(INPUT)
        .option("maxFilesPerTrigger", 2)
        .parquet(str(space.path / "in"))
        .withWatermark("ts", "0 seconds")
        .groupBy("device")
    )
    schema = "device bigint, n bigint"
    if way == "transformWithState":
        frame = grouped.transformWithState(OnRows(), schema, "Append", "EventTime")
    else:
        frame = grouped.transformWithStateInPandas(InPandas(), schema, "Append", "EventTime")
    return rate(frame, space, f"{way} {settings}")


def rate(frame: DataFrame, space: Workspace, name: str) -> float:
    """Rows/s of a query once it is warm."""
    query = (
        frame.writeStream.format("noop")
        .option("checkpointLocation", str(space.path / name))
        .start()
    )
    query.awaitTermination(RUN_S)
    query.stop()
    full = [each["batchDuration"] for each in query.recentProgress if each["numInputRows"]]
    ends = np.cumsum(full)
    return ROWS / median(
        [ms / 1000 for ms, end in zip(full, ends, strict=True) if end > WARM_UP_S * 1000]
    )


def main() -> None:
    spark = session()
    with Workspace() as space:
        for batch in range(BATCHES):
            space.put_touching(KEYS, KEYS, ROWS, START_MS + batch * BATCH_MS)
        backends: tuple[Literal["store", "versioned"], ...] = ("store", "versioned")
        for backend in backends:
            ours = rate(operator(spark, space, backend).to_df(), space, backend)
            print(f"{f'flinkish, {backend}':<47}{ours:>12,.0f} rows/s", flush=True)
        for settings in ("flinkish's", "default"):
            if settings == "default":
                for setting in set(fs.SETTINGS) - {PROVIDER}:
                    spark.conf.unset(setting)
            for way in ("transformWithState", "transformWithStateInPandas"):
                theirs = sparks_own(spark, space, way, settings)
                name = f"{way}, {settings} settings"
                print(
                    f"{name:<47}{theirs:>12,.0f} rows/s   versioned is {ours / theirs:.1f} ×",
                    flush=True,
                )


if __name__ == "__main__":
    main()
