"""A driver's plane and a worker over a connection, in one process, without Spark."""

from __future__ import annotations

import os
import pickle
import queue
import time
from collections.abc import Iterator
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from flinkish.common.errors import (
    CancelTaskError,
    FencingTokenError,
    IllegalArgumentError,
    IllegalStateError,
    UnsupportedOperationError,
)
from flinkish.metrics import MetricGroup
from flinkish.rpc import FencedRpcEndpoint, FencedRpcGateway, RpcEndpoint, RpcGateway
from flinkish.spark.control_plane import ControlPlane, PlaneHandle, TaskPlane, WorkerPlane
from flinkish.spark.control_plane import plane as plane_module
from flinkish.spark.control_plane.attached import run_attached
from tests.spark.parts.test_plane_ledger import FIRST, attempt
from tests.spark.patience import HOUR_MS
from tests.waiting import until

SOON = 60


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    with ControlPlane(heartbeat_interval=20, heartbeat_timeout=600_000) as plane:
        yield plane


@pytest.fixture
def worker(plane: ControlPlane) -> Iterator[WorkerPlane]:
    worker = plane.handle().worker()
    yield worker
    worker.close()


def test_a_plane_travels_as_its_handle(plane: ControlPlane) -> None:
    handle = pickle.loads(pickle.dumps(plane))
    assert isinstance(handle, PlaneHandle)
    assert handle == plane.handle() == pickle.loads(pickle.dumps(handle))
    assert handle.secret not in repr(handle)


def test_one_worker_a_process(plane: ControlPlane, worker: WorkerPlane) -> None:
    assert plane.handle().worker() is worker
    with worker.task("map", FIRST), worker.task("filter", attempt(operator="filter")):
        (info,) = plane.workers()
        assert (info.worker, info.pid) == (worker.worker, os.getpid())
        assert {task.operator for task in info.tasks} == {"map", "filter"}
        assert abs(info.since_ms - time.time() * 1000) < HOUR_MS
    assert plane.workers()[0].tasks == ()


def test_counters_are_live_and_exact_at_the_end(plane: ControlPlane, worker: WorkerPlane) -> None:
    with worker.task("map", FIRST) as task:
        task.count_by(lambda: {"held": 7})
        task.count("rows", 3)
        until(lambda: plane.counters() == {"map": {0: {"rows": 3, "held": 7}}})
        task.count("rows")
    assert plane.counters()["map"][0]["rows"] == 4

    def fail() -> None:
        with worker.task("map", attempt(epoch=1)) as task:
            task.count("rows", 10)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    until(lambda: plane.counters()["map"][0]["rows"] == 14)
    with worker.task("map", attempt(epoch=1, number=1, task=101)) as task:
        task.count("rows", 11)
    assert plane.counters()["map"][0]["rows"] == 15


def test_a_zombie_is_refused_and_told_why(plane: ControlPlane, worker: WorkerPlane) -> None:

    def be_a_zombie() -> None:
        with worker.task("map", FIRST) as old:
            old.count("rows", 50)
            with worker.task("map", attempt(epoch=1, task=140)) as new:
                new.count("rows", 2)
                until(lambda: old.stopped)
            old.count("rows", 1_000_000)
            old.check()

    with pytest.raises(FencingTokenError, match="epoch 1 of the run has begun") as caught:
        be_a_zombie()
    assert (caught.value.expected, caught.value.found) == (("run", 1), ("run", 0))
    assert plane.counters("query")["map"][0]["rows"] < 1_000_000
    with pytest.raises(FencingTokenError, match="refused"), worker.task("map", FIRST):
        pytest.fail("it was let in")


def test_it_may_not_end_well_when_another_has_taken_over(
    plane: ControlPlane, worker: WorkerPlane
) -> None:
    """Even if it never looked."""
    with pytest.raises(FencingTokenError, match="attempt 1"), worker.task("map", FIRST):
        worker.task("map", attempt(number=1, task=101)).__enter__()


def cancel(plane: ControlPlane, task: TaskPlane) -> None:
    task.check()
    plane.cancel("run", "map", reason="no more")
    until(lambda: task.stopped)
    task.check()


def test_cancel_and_drain(plane: ControlPlane, worker: WorkerPlane) -> None:
    with pytest.raises(CancelTaskError, match="no more"), worker.task("map", FIRST) as task:
        cancel(plane, task)
    with pytest.raises(CancelTaskError), worker.task("map", attempt(number=1, task=101)):
        pytest.fail("it was let in")
    plane.resume("run", "map")
    with worker.task("map", attempt(number=2, task=102)) as task:
        plane.drain("run")
        until(lambda: task.draining)
        task.check()
    with (
        pytest.raises(CancelTaskError, match="after epoch 0"),
        worker.task("map", attempt(epoch=1, task=110)),
    ):
        pytest.fail("it was let in")


def test_settings_reach_live_workers(plane: ControlPlane, worker: WorkerPlane) -> None:
    plane.set("threshold", 0.5)
    with worker.task("map", FIRST) as task:
        assert task.settings["threshold"] == 0.5
        plane.set("threshold", {"low": [1, 2]})
        until(lambda: task.settings.get("threshold") == {"low": [1, 2]})
        assert dict(task.settings) == {"threshold": {"low": [1, 2]}}
        assert task.settings.get("other", 3) == 3
        until(lambda: plane.workers()[0].settings_version == 2)
    with pytest.raises(Exception, match="object"):
        plane.set("threshold", object())
    with pytest.raises(IllegalArgumentError, match="name of a setting"):
        plane.set(5, 5)  # type: ignore[arg-type]


class EchoGateway(RpcGateway):
    def echo(self, text: str) -> Future[str]: ...


class Echo(RpcEndpoint, EchoGateway):
    def echo(self, text: str) -> Any:
        return f"{self.endpoint_id} says {text}"


class EpochGateway(FencedRpcGateway[tuple[str, int]]):
    def ask(self) -> Future[str]: ...


class Epoch(FencedRpcEndpoint, EpochGateway):
    def ask(self) -> Any:
        return "let in"


def test_endpoints_on_both_sides(plane: ControlPlane, worker: WorkerPlane) -> None:
    Echo(plane.service, "driver-echo").start()
    Echo(worker.service, "worker-echo").start()
    assert worker.connect("driver-echo", EchoGateway).echo("a").result(SOON) == "driver-echo says a"
    with worker.task("map", FIRST) as task:
        back = plane.connect(worker.worker, "worker-echo", EchoGateway).result(SOON)
        assert back.echo("b").result(SOON) == "worker-echo says b"
        Epoch(plane.service, "fenced", ("run", 0)).start()
        assert task.connect("fenced", EpochGateway).ask().result(SOON) == "let in"
    late = worker.task("map", attempt(epoch=2))
    error = late.connect("fenced", EpochGateway).ask().exception(SOON)
    assert isinstance(error, FencingTokenError)


def test_what_is_refused_at_once(monkeypatch: pytest.MonkeyPatch, plane: ControlPlane) -> None:
    with pytest.raises(IllegalArgumentError, match="at least twice"):
        ControlPlane(heartbeat_interval=10, heartbeat_timeout=10)
    connect: Any = type("RemoteSession", (), {"conf": {}})()
    with pytest.raises(UnsupportedOperationError, match="Spark Connect and serverless"):
        ControlPlane(connect)
    with ControlPlane(connect, host="127.0.0.1"):
        pass
    cluster: Any = type("Session", (), {"sparkContext": FakeContext("spark://there:7077")})()
    assert plane_module._host_of(cluster) == "driver.example"
    cluster.sparkContext = FakeContext("local-cluster[2,1,1024]")
    assert plane_module._host_of(cluster) == "127.0.0.1"


def test_a_task_is_a_task_of_spark(worker: WorkerPlane) -> None:
    with pytest.raises(IllegalStateError, match="not in a task of Spark"):
        worker.task("map")


class FakeContext:
    def __init__(self, master: str) -> None:
        self.master = master

    def getConf(self) -> dict[str, str]:
        return {"spark.driver.host": "driver.example"}


class Running:
    """A task of which the driver says when it ends."""

    def __init__(self, batches: Iterator[Any]) -> None:
        self.batches = batches
        self.group = MetricGroup()
        self.environment = SimpleNamespace(metrics=self.group)
        self.errors: queue.Queue[BaseException] = queue.Queue()

    def report_throwable(self, error: BaseException) -> None:
        self.errors.put(error)

    def run(self) -> Iterator[Any]:
        for batch in self.batches:
            self.group.counter("seen").inc()
            yield batch
        raise self.errors.get(timeout=SOON)


def test_a_task_of_ours_is_ended_while_it_waits(plane: ControlPlane, worker: WorkerPlane) -> None:
    batches = iter([pa.record_batch({"n": [1, 2]}), pa.record_batch({"n": [3]})])
    context = SimpleNamespace(task=lambda name: worker.task(name, FIRST))
    attached: Any = run_attached(context, "map", Running, batches)  # type: ignore[arg-type]
    assert [next(attached).num_rows, next(attached).num_rows] == [2, 1]
    until(lambda: plane.counters() == {"map": {0: {"rows_in": 3, "seen": 2}}})
    plane.cancel(operator="map")
    with pytest.raises(CancelTaskError, match="the driver asked for it"):
        next(attached)


def test_it_may_be_opened_and_closed(plane: ControlPlane, worker: WorkerPlane) -> None:
    task = worker.task("map", FIRST).open()
    task.count("rows", 7)
    task.close()
    assert plane.counters() == {"map": {0: {"rows": 7}}}


def test_a_source_of_counts_that_raises_keeps_its_last(
    plane: ControlPlane, worker: WorkerPlane
) -> None:
    answers: list[dict[str, int]] = [{"n": 1}, {"n": 2}]
    with worker.task("map", FIRST) as task:
        task.count_by(lambda: answers.pop())
        until(lambda: not answers)
        until(lambda: plane.counters() == {"map": {0: {"n": 2}}})
    assert worker.settings is plane.handle().settings
