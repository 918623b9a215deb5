"""The control plane with Spark's own workers, tasks and failures."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession

import flinkish.spark as fs
from flinkish.common.errors import RecipientUnreachableError
from tests.checkout import examples, says_what_it_says
from tests.spark import plane_functions as functions
from tests.spark.patience import HEARTBEATS, HOUR_MS, SOON, patient, until
from tests.spark.support import Source


@pytest.fixture
def later() -> Iterator[Callable[..., Future[Any]]]:
    with ThreadPoolExecutor(2) as pool:
        yield pool.submit


@pytest.fixture
def plane(spark: SparkSession, later: Any) -> Iterator[fs.ControlPlane]:
    """It ends first, and tasks that wait for it with it."""
    with fs.ControlPlane(spark, **HEARTBEATS) as plane:
        yield plane


def through(frame: DataFrame, function: Any) -> DataFrame:
    return frame.mapInArrow(function, frame.schema)


def start(frame: DataFrame, checkpoint: Path, **trigger: Any) -> Any:
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    return writer.trigger(**trigger or {"availableNow": True}).start()


def rows(plane: fs.ControlPlane, operator: str) -> dict[int, int]:
    return {
        part: names.get("rows", 0) for part, names in plane.counters().get(operator, {}).items()
    }


def test_batch_jobs_are_counted(spark: SparkSession, plane: fs.ControlPlane) -> None:
    frame = through(spark.range(0, 1_000, 1, 4), functions.counting(plane))
    assert frame.count() == 1_000
    assert rows(plane, "counting") == {0: 250, 1: 250, 2: 250, 3: 250}
    assert frame.count() == 1_000
    assert rows(plane, "counting") == {0: 500, 1: 500, 2: 500, 3: 500}
    workers = plane.workers()
    assert workers
    assert all(worker.tasks == () and worker.pid != os.getpid() for worker in workers)


def test_who_runs_what_and_settings(
    spark: SparkSession, plane: fs.ControlPlane, later: Any
) -> None:
    job = later(through(spark.range(0, 10, 1, 2), functions.waiting(plane)).count)
    until(lambda: sum(len(worker.tasks) for worker in plane.workers()) == 2)
    tasks = [task for worker in plane.workers() for task in worker.tasks]
    assert {(task.operator, task.partition) for task in tasks} == {("waiting", 0), ("waiting", 1)}
    assert all(abs(time.time() * 1000 - task.since_ms) < HOUR_MS for task in tasks)
    plane.set("go", True)
    assert job.result(SOON) == 10
    assert plane.counters()["waiting"] == {0: {"rows_in": 5}, 1: {"rows_in": 5}}
    assert all(worker.tasks == () for worker in plane.workers())


def test_a_retry_counts_once(spark: SparkSession, plane: fs.ControlPlane) -> None:
    frame = through(spark.range(0, 20, 1, 2), functions.failing_once(plane, functions.fail))
    assert frame.count() == 20
    # What was shown before the failure stands until it is exceeded.
    assert rows(plane, "failing") == {0: 10, 1: 20}
    lines = plane._call(lambda: plane._endpoint.ledger.counters._lines)
    ((_, step),) = lines["batch", "failing", 1].steps.items()
    assert (step.counters, step.ended) == ({"rows": 10}, True)


def test_a_worker_that_is_killed(spark: SparkSession, plane: fs.ControlPlane, later: Any) -> None:
    """Its asks fail at once, it is gone, and another one takes its task over."""
    lost: list[str] = []
    plane.on_worker_lost(lost.append)
    job = later(through(spark.range(0, 20, 1, 2), functions.dying(plane)).count)

    def victims() -> list[str]:
        return [
            worker.worker
            for worker in plane.workers()
            if any(task.partition == 0 for task in worker.tasks)
        ]

    until(victims)
    (victim,) = victims()
    site = plane.connect(victim, "site", functions.SiteGateway).result(SOON)
    asked = [patient(site).never() for _ in range(10)]
    site.die()
    for future in asked:
        assert isinstance(future.exception(SOON), RecipientUnreachableError)
    until(lambda: victim in lost)
    assert job.result(SOON) == 20
    assert victim not in {worker.worker for worker in plane.workers()}
    assert rows(plane, "dying") == {0: 10, 1: 10}


def test_workers_that_spark_kills_with_their_tasks(
    spark: SparkSession, plane: fs.ControlPlane, later: Any
) -> None:
    context = spark.sparkContext

    def job() -> int:
        context.setJobGroup("doomed", "a job to be canceled", interruptOnCancel=True)
        return through(spark.range(0, 10, 1, 2), functions.waiting(plane)).count()

    running = later(job)
    until(lambda: sum(len(worker.tasks) for worker in plane.workers()) == 2)
    before = {worker.worker for worker in plane.workers()}
    context.cancelJobGroup("doomed")
    assert running.exception(SOON) is not None
    until(lambda: not before & {worker.worker for worker in plane.workers()})


def test_what_a_limit_leaves(spark: SparkSession, plane: fs.ControlPlane) -> None:
    frame = through(spark.range(0, 100_000, 1, 1), functions.counting(plane)).limit(3)
    assert len(frame.collect()) == 3
    until(lambda: all(worker.tasks == () for worker in plane.workers()))


def test_cancel(spark: SparkSession, plane: fs.ControlPlane, later: Any) -> None:
    job = later(through(spark.range(0, 10, 1, 2), functions.waiting(plane)).count)
    until(lambda: any(worker.tasks for worker in plane.workers()))
    plane.cancel(operator="waiting", reason="the test has seen enough")
    error = job.exception(SOON)
    assert isinstance(error, PythonException)
    assert "CancelTaskError" in str(error)
    assert "was cancelled: the test has seen enough" in str(error)
    plane.resume(operator="waiting")
    plane.set("go", True)
    assert through(spark.range(0, 10, 1, 2), functions.waiting(plane)).count() == 10


def test_a_driver_that_is_gone(spark: SparkSession, later: Any) -> None:
    plane = fs.ControlPlane(spark, **HEARTBEATS)
    job = later(through(spark.range(0, 10, 1, 2), functions.waiting(plane)).count)
    until(lambda: any(worker.tasks for worker in plane.workers()))
    plane.close()
    text = str(job.exception(SOON))
    assert "the driver has closed it" in text or "cannot reach the driver's control plane" in text
    assert "RpcConnectionError" in text


def test_epochs_of_a_stream(spark: SparkSession, plane: fs.ControlPlane, tmp_path: Path) -> None:
    """Counts sum over epochs and restarts; the last epoch fences the others off."""
    source = Source(spark, tmp_path / "in", "n bigint")
    for start_at in (0, 100, 200):
        source.add({"n": n} for n in range(start_at, start_at + 100))
    told = tmp_path / "told"
    frame = through(source.stream(), functions.counting(plane))
    query = start(through(frame, functions.haunted(plane, str(told))), tmp_path / "checkpoint")
    query.awaitTermination()
    assert sum(rows(plane, "counting").values()) == 300
    assert plane.counters(query)["counting"] == plane.counters()["counting"]
    until(told.exists)
    until(told.read_text)
    zombie = told.read_text()
    assert zombie.startswith("FencingTokenError")
    assert f"in epoch 0 of run '{query.runId}' is refused: epoch" in zombie
    assert "Nobody waits for what it does" in zombie
    source.add({"n": n} for n in range(5))
    again = start(frame, tmp_path / "checkpoint")
    again.awaitTermination()
    assert again.runId != query.runId
    assert sum(rows(plane, "counting").values()) == 305


def test_finish_a_stream(spark: SparkSession, plane: fs.ControlPlane, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "in", "n bigint")
    for _ in range(2):
        source.add({"n": n} for n in range(10))
    frame = through(source.stream(), functions.waiting(plane))
    query = start(frame, tmp_path / "checkpoint", processingTime="0 seconds")
    until(lambda: any(worker.tasks for worker in plane.workers()))
    finishing: list[int] = []
    thread = threading.Thread(target=lambda: finishing.append(plane.finish(query, HOUR_MS)))
    thread.start()
    until(lambda: plane._call(lambda: plane._endpoint.ledger._orders))
    assert not finishing, "the micro-batch under way is waited for"
    plane.set("go", True)
    thread.join(SOON)
    assert finishing == [0]
    assert not query.isActive
    assert sorted(p.name for p in (tmp_path / "checkpoint/commits").glob("[0-9]*")) == ["0"]


def test_the_example_of_the_document(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = examples("docs/guides/control-plane.md")
    says_what_it_says("docs/guides/control-plane.md", code, capsys)
