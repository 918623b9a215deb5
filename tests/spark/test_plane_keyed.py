"""Keyed operators on a control plane: seen, told things, cancelled, drained, killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import TaskContext
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import flinkish.spark as fs
from flinkish.common.typeinfo import Types
from flinkish.functions import Count, KeyedProcessFunction
from flinkish.state import ValueStateDescriptor
from flinkish.windowing import TumblingEventTimeWindows
from tests.spark.patience import HOUR_MS, SOON, until
from tests.spark.support import GROUPS, Source, by_key, iso, run, start, timed
from tests.spark.test_control_plane import later, plane
from tests.spark.two_streams import ABOVE, LIMITS, TOTALS, Above, Totals
from tests.spark.two_streams import sources as two_sources

__all__ = ["later", "plane"]  # fixtures

# It counts the rows of a micro-batch.
pytestmark = pytest.mark.filterwarnings(r"ignore:Paced\.process_element sets")


class Paced(KeyedProcessFunction):
    """Counts the rows of each key; waits for the driver, or to be told to end, if that says so."""

    def __init__(self, plane: fs.ControlPlane, markers: str = "") -> None:
        self.plane = plane
        self.markers = markers

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))
        self.even = runtime_context.get_metrics_group().counter("even")
        self.rows = 0

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        while self.plane.settings.get("hold"):
            time.sleep(0.01)
        if self.rows == self.plane.settings.get("ends_behind"):
            until(lambda: any(task.stopped for task in self.plane.worker()._tasks))
        self.rows += 1
        if self.markers and self.rows == 15:
            self.die_once()
        self.seen.update((self.seen.value() or 0) + 1)
        if self.seen.value() % 2 == 0:
            self.even.inc()
        yield value.key, self.seen.value()

    def die_once(self) -> None:
        context: Any = TaskContext.get()
        if context.partitionId() == 1 and context.attemptNumber() == 0:
            self.plane.worker().beat().result(SOON)
            (Path(self.markers) / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)


KEYS = [f"k{n}" for n in range(20)]


class Counted:
    """Three rows of each key a micro-batch, counted on a plane."""

    def __init__(self, spark: SparkSession, plane: fs.ControlPlane, path: Path) -> None:
        self.plane, self.path = plane, path
        self.source = Source(spark, path / "in", "key string, ts timestamp")
        self.add()

    def add(self) -> None:
        at = 1_000 * len(self.source.batches)
        self.source.add({"key": key, "ts": iso(at + n)} for n in range(3) for key in KEYS)

    def stream(self, **others: Any) -> fs.ProcessedStream:
        return (
            timed(self.source.stream())
            .key_by("key")
            .process(
                Paced(self.plane, **others),
                schema="key string, n bigint",
                uid="paced",
                max_parallelism=GROUPS,
                control_plane=self.plane,
            )
        )

    def start(self, **trigger: Any) -> Any:
        """A query of which a task runs."""
        writer = self.stream().to_df().writeStream.format("noop")
        writer = writer.option("checkpointLocation", str(self.path / "checkpoint"))
        writer = writer.trigger(**trigger or {"availableNow": True})
        return start(writer, lambda query: any(w.tasks for w in self.plane.workers()))

    def run(self, **others: Any) -> dict[Any, Any]:
        """What each key gives in a run over all that is there and was not done before."""
        outcome = run(self.stream(**others), self.path / "checkpoint")
        return by_key(outcome.rows())


def given(first: int, last: int) -> dict[str, list[tuple[str, int]]]:
    return {key: [(key, n) for n in range(first, last + 1)] for key in KEYS}


def total(plane: fs.ControlPlane, name: str = "rows", operator: str = "paced") -> int:
    return sum(names.get(name, 0) for names in plane.counters().get(operator, {}).values())


def test_a_keyed_query_is_seen_and_told_things(
    spark: SparkSession, plane: fs.ControlPlane, tmp_path: Path, later: Any
) -> None:
    counted = Counted(spark, plane, tmp_path)
    plane.set("hold", True)
    query = counted.start()
    until(lambda: sum(len(worker.tasks) for worker in plane.workers()) == 2)
    running = [task for worker in plane.workers() for task in worker.tasks]
    assert sorted((task.operator, task.partition) for task in running) == [
        ("paced", 0),
        ("paced", 1),
    ]
    assert {(task.run, task.epoch) for task in running} == {(str(query.runId), 0)}
    until(lambda: total(plane) == 2)  # the row that each holds, within a key group of a batch
    plane.set("hold", False)
    query.awaitTermination()
    assert (total(plane), total(plane, "even"), total(plane, "null_keys")) == (60, 20, 0)
    assert total(plane, "checkpoint_bytes") > 0
    assert plane.counters(query) == plane.counters()
    assert all(worker.tasks == () for worker in plane.workers())


def test_a_keyed_query_is_cancelled_and_goes_on_later(
    spark: SparkSession, plane: fs.ControlPlane, tmp_path: Path, later: Any
) -> None:
    """In the middle of a micro-batch, whose key groups are in part done: none of it stays."""
    counted = Counted(spark, plane, tmp_path)
    assert counted.run() == given(1, 3)

    counted.add()
    plane.set("ends_behind", 12)
    job = later(counted.run)
    until(lambda: total(plane) > 60 + 20, "key groups of both partitions are done")
    plane.cancel(operator="paced", reason="the test has seen enough")
    error = job.exception(SOON)
    assert isinstance(error, StreamingQueryException)
    assert "CancelTaskError" in str(error)
    assert "was cancelled: the test has seen enough" in str(error)
    until(lambda: all(worker.tasks == () for worker in plane.workers()))
    assert total(plane) < 120

    plane.resume(operator="paced")
    plane.set("ends_behind", -1)
    counted.add()
    assert counted.run() == given(4, 9)
    assert total(plane) == 180


def test_a_keyed_query_is_drained(
    spark: SparkSession, plane: fs.ControlPlane, tmp_path: Path, later: Any
) -> None:
    counted = Counted(spark, plane, tmp_path)
    counted.add()
    plane.set("hold", True)
    query = counted.start(processingTime="0 seconds")
    until(lambda: total(plane) == 2)
    finishing = later(plane.finish, query, HOUR_MS)
    until(lambda: plane._call(lambda: plane._endpoint.ledger._orders))
    plane.set("hold", False)
    assert finishing.result(SOON) == 0, "the micro-batch under way, and none behind it"
    assert not query.isActive
    assert total(plane) == 60
    assert counted.run() == given(4, 6)


def test_a_worker_of_a_keyed_query_is_killed(
    spark: SparkSession, plane: fs.ControlPlane, tmp_path: Path
) -> None:
    """The next attempt takes over, and counts in the place of the one that died."""
    lost: list[str] = []
    plane.on_worker_lost(lost.append)
    counted = Counted(spark, plane, tmp_path)
    assert counted.run(markers=str(tmp_path)) == given(1, 3)
    assert (tmp_path / "died").exists()
    assert total(plane) == 60
    until(lambda: lost)


def test_windows(spark: SparkSession, plane: fs.ControlPlane, tmp_path: Path) -> None:
    """By columns and row by row, on a batch DataFrame."""
    counted = Counted(spark, plane, tmp_path)
    keyed = timed(counted.source.frame()).key_by("key")
    by_columns = keyed.window(
        TumblingEventTimeWindows.of(1000), uid="columns", control_plane=plane
    ).aggregate(Count())
    assert "by columns" in by_columns.explain()
    assert by_columns.to_df().count() == 20
    by_rows = keyed.count_window(3, uid="rows", control_plane=plane)
    assert by_rows.reduce(lambda a, b: b).to_df().count() == 20
    assert total(plane, operator="rows") == total(plane, operator="columns") == 60
    assert total(plane, "timers_fired", "columns") == 20
    assert all(worker.tasks == () for worker in plane.workers())


def test_two_inputs(spark: SparkSession, plane: fs.ControlPlane, tmp_path: Path) -> None:
    rows = [[(f"k{n % 5}", n, 10_000 + n) for n in range(40)]]
    left, right = two_sources(spark, tmp_path, rows, rows)
    options: Any = {"max_parallelism": GROUPS, "control_plane": plane}

    def keyed(frame: Any, column: str, key: str) -> Any:
        return timed(frame, 1000, column=column).key_by(key)

    first, second = keyed(left.frame(), "ts", "customer"), keyed(right.frame(), "at", "payer")
    totals = first.connect(second).process(Totals(), schema=TOTALS, uid="totals", **options)
    totals.to_df().count()
    assert total(plane, operator="totals") == 80

    first = keyed(left.stream(), "ts", "customer")
    above = first.connect(fs.DataStream(right.stream()).broadcast(LIMITS)).process(
        Above(), schema=ABOVE, uid="above", **options
    )
    run(above, tmp_path / "checkpoint")
    assert total(plane, operator="above") > 40
    assert all(worker.tasks == () for worker in plane.workers())
