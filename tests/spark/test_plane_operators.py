"""flinkish's operators on a control plane."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.errors import PythonException
from pyspark.sql import SparkSession

import flinkish.spark as fs
from flinkish.common.typeinfo import Types
from flinkish.functions import KeyedProcessFunction
from flinkish.state import ValueStateDescriptor
from tests.spark import async_functions as calls
from tests.spark.patience import SOON, until
from tests.spark.support import GROUPS, Source, iso, run, timed
from tests.spark.task_operators import ODD, Split
from tests.spark.test_control_plane import later, plane

__all__ = ["later", "plane"]


def numbers(spark: SparkSession, count: int) -> Any:
    return spark.range(0, count, 1, 2).withColumnRenamed("id", "n")


def test_a_task(spark: SparkSession, plane: fs.ControlPlane) -> None:
    split = fs.run_task(
        numbers(spark, 40), Split(), "n bigint", side_outputs=[ODD], control_plane=plane
    )
    assert split.to_df().count() == 20
    found = plane.counters()["Split"]
    assert {part: names["rows_in"] for part, names in found.items()} == {0: 20, 1: 20}
    assert all(worker.tasks == () for worker in plane.workers())


def test_calls(spark: SparkSession, plane: fs.ControlPlane) -> None:
    frame = fs.async_map(
        numbers(spark, 200), calls.square, "n bigint, m bigint", control_plane=plane
    )
    assert frame.count() == 200
    found = plane.counters()["square"]
    assert {part: names["rows_in"] for part, names in found.items()} == {0: 100, 1: 100}


class Counted(KeyedProcessFunction):
    """Counts rows on the plane, and in its state."""

    def __init__(self, plane: fs.ControlPlane) -> None:
        self.plane = plane

    def open(self, runtime_context: Any) -> None:
        self.task = self.plane.task("counted").open()
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.task.check()
        self.task.count("rows")
        self.seen.update((self.seen.value() or 0) + 1)
        yield value.key, self.seen.value()

    def close(self) -> None:
        self.task.close()


def test_a_keyed_function(spark: SparkSession, plane: fs.ControlPlane, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "in", "key string, ts timestamp")
    for batch in range(2):
        source.add({"key": f"k{n % 7}", "ts": iso(1_000 * batch + n)} for n in range(50))
    stream = timed(source.stream()).key_by("key")
    counted = stream.process(Counted(plane), schema="key string, n bigint", max_parallelism=GROUPS)
    outcome = run(counted, tmp_path / "checkpoint")
    assert len(outcome.rows()) == 100
    found = plane.counters(outcome.query)["counted"]
    assert sum(names.get("rows", 0) for names in found.values()) == 100
    assert all(worker.tasks == () for worker in plane.workers())


async def hang(row: Any) -> Any:
    import asyncio

    await asyncio.sleep(3_600)


def test_calls_that_hang_are_cancelled(
    spark: SparkSession, plane: fs.ControlPlane, later: Any
) -> None:
    frame = fs.async_map(numbers(spark, 4), hang, "n bigint", control_plane=plane)
    job = later(frame.count)
    until(lambda: plane.counters().get("hang"))

    plane.cancel(operator="hang", reason="they hang")
    error = job.exception(SOON)
    assert isinstance(error, PythonException)
    assert "CancelTaskError" in str(error)
    assert "they hang" in str(error)
