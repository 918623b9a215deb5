"""flinkish's operators on a control plane."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

import flinkish.spark as fs
from tests.spark import async_functions as calls
from tests.spark.task_operators import ODD, Split
from tests.spark.test_control_plane import SOON, wait_until


@pytest.fixture
def plane(spark: SparkSession) -> Iterator[fs.ControlPlane]:
    with fs.ControlPlane(spark, heartbeat_interval=50) as plane:
        yield plane


@pytest.fixture
def later() -> Iterator[Callable[..., Future[Any]]]:
    with ThreadPoolExecutor(2) as pool:
        yield pool.submit


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


async def hang(row: Any) -> Any:
    import asyncio

    await asyncio.sleep(3_600)


def test_calls_that_hang_are_cancelled(
    spark: SparkSession, plane: fs.ControlPlane, later: Any
) -> None:
    frame = fs.async_map(numbers(spark, 4), hang, "n bigint", control_plane=plane)
    job = later(frame.count)
    wait_until(lambda: plane.counters().get("hang"))

    plane.cancel(operator="hang", reason="they hang")
    error = job.exception(SOON)
    assert isinstance(error, PythonException)
    assert "CancelTaskError" in str(error)
    assert "they hang" in str(error)
