"""Micro-batches as files, queries run to their end, and what they gave."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from pyspark import SparkContext
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from flinkish.common import Duration, OutputTag, WatermarkStrategy
from flinkish.spark import DataStream, ProcessedStream, StateSettings

# A query with state, or over a source function, starts a worker before its first batch and waits
# 10 s for it, whatever one sets.  A machine that is busy enough takes longer; then it fails so.
TOO_BUSY = "worker failed to connect back"
ATTEMPTS = 5

E = TypeVar("E", bound=BaseException)

# Enough key groups for both partitions and for groups without rows; few enough to be quick.
GROUPS = 6


def iso(ms: int) -> str:
    """A time in ms as Spark's JSON reader takes it."""
    seconds, rest = divmod(ms, 1000)
    days, seconds = divmod(seconds, 86400)
    assert days == 0, "times of tests stay within the first day"
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"1970-01-01T{clock}.{rest:03}Z"


class Source:
    """A directory in which each file is one micro-batch."""

    def __init__(self, spark: SparkSession, path: Path, schema: str) -> None:
        self.spark, self.path, self.schema = spark, path, schema
        self.batches: list[list[dict[str, Any]]] = []
        path.mkdir(parents=True, exist_ok=True)

    def add(self, rows: Iterable[dict[str, Any]]) -> None:
        rows = list(rows)
        number = len(self.batches)
        self.batches.append(rows)
        hidden, file = self.path / f".{number:05}", self.path / f"{number:05}.json"
        hidden.write_text("".join(json.dumps(row, default=str) + "\n" for row in rows))
        os.utime(hidden, (1e9 + number, 1e9 + number))  # Spark takes the oldest first
        hidden.rename(file)

    def stream(self) -> DataFrame:
        """A streaming DataFrame with a file in each micro-batch."""
        reader = self.spark.readStream.schema(self.schema).option("maxFilesPerTrigger", 1)
        return reader.json(str(self.path))

    def frame(self) -> DataFrame:
        """All files as a batch DataFrame."""
        return self.spark.read.schema(self.schema).json(str(self.path))


def timed(frame: DataFrame, bound_ms: int = 0, column: str = "ts") -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound_ms))
    return DataStream(frame).assign_timestamps_and_watermarks(strategy, column=column)


@dataclass
class Outcome:
    """Outputs of each micro-batch: tag (the main output's is "") to rows as tuples."""

    query: Any = None
    statistics: dict[str, int] = field(default_factory=dict)
    batches: dict[int, dict[str, list[tuple[Any, ...]]]] = field(default_factory=dict)

    def rows(self, tag: str = "") -> list[tuple[Any, ...]]:
        return [row for _, outputs in sorted(self.batches.items()) for row in outputs[tag]]


def run(
    stream: ProcessedStream,
    checkpoint: Path | str,
    *tags: OutputTag,
    after_batch: Callable[[int], None] = lambda batch: None,
) -> Outcome:
    """Run a query over all that there is, with its no-data batches."""
    outcome = Outcome()

    def write(batch: int, main: DataFrame, *sides: DataFrame) -> None:
        outcome.batches[batch] = {
            tag: [tuple(row) for row in frame.collect()]
            for tag, frame in zip(["", *(tag.tag_id for tag in tags)], (main, *sides), strict=True)
        }
        after_batch(batch)

    writer = stream.foreach_batch(write, *tags).option("checkpointLocation", str(checkpoint))
    outcome.query = start(writer.trigger(availableNow=True))
    outcome.query.awaitTermination()
    outcome.statistics = stream.statistics(outcome.query)
    return outcome


def start(
    writer: DataStreamWriter,
    begun: Callable[[StreamingQuery], object] = lambda query: query.recentProgress,
) -> StreamingQuery:
    """A query that has ended, or gone through one micro-batch, or come to where it has begun."""
    for attempt in range(ATTEMPTS):
        query = writer.start()
        try:
            while not begun(query) and not query.awaitTermination(0.1):
                pass
            break
        except StreamingQueryException as error:
            if TOO_BUSY not in str(error) or attempt == ATTEMPTS - 1:
                raise
    return query


@contextmanager
def raises(error: type[E], match: str | None = None) -> Iterator[pytest.ExceptionInfo[E]]:
    """`pytest.raises` for errors in tasks of Spark, which are tried once here.

    A try that fails ends its Python worker, and the next one loads all modules again.
    """
    context: Any = SparkContext._active_spark_context
    scheduler = context._jsc.sc().taskScheduler()
    most = scheduler.getClass().getDeclaredField("maxTaskFailures")
    most.setAccessible(True)
    before = most.getInt(scheduler)
    most.setInt(scheduler, 1)
    try:
        with pytest.raises(error, match=match) as caught:
            yield caught
    finally:
        most.setInt(scheduler, before)


def tuples(file: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Outputs of a micro-batch out of a JSON file."""
    return {tag: [tuple(row) for row in rows] for tag, rows in json.loads(file.read_text()).items()}


def by_key(rows: Iterable[tuple[Any, ...]]) -> dict[Any, list[tuple[Any, ...]]]:
    """Rows by their first column, in order: how keys interleave is nobody's business."""
    found: dict[Any, list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        found[row[0]].append(row)
    return dict(found)


def settings(table_dir: Path | None, **others: Any) -> StateSettings:
    return StateSettings(table_dir=str(table_dir) if table_dir else None, **others)


def watermarks(batches: list[list[int]], bound_ms: int = 0) -> list[int | None]:
    """The watermark that each batch of timestamps sees, and that of the trailing batch."""
    seen: list[int | None] = [None]
    highest = 0
    for times in batches:
        highest = max([highest, *(at - bound_ms for at in times)])
        seen.append(highest - 1 if highest > 0 else None)
    return seen
