"""Lost connections, dead drivers, killed, frozen and forked workers of a control plane."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest

from flinkish.common.errors import (
    ConnectionLostError,
    RecipientUnreachableError,
    RpcConnectionError,
    RpcTimeoutError,
)
from flinkish.rpc import TlsConfig
from flinkish.spark import services
from flinkish.spark.control_plane import ControlPlane, PlaneHandle, TaskPlane, WorkerPlane
from flinkish.spark.limits import Concurrency
from flinkish.spark.limits.endpoint import PermitsEndpoint
from flinkish.spark.limits.permits import LEASE_NS, PermitLedger
from tests.forking import in_a_fork
from tests.processes import freeze, piped, thaw
from tests.racing import meanwhile
from tests.spark.parts.plane_worker import REQUEST, Site, SiteGateway
from tests.spark.parts.test_plane_ledger import FIRST, attempt
from tests.spark.parts.test_plane_rpc import SOON, plane, worker
from tests.spark.patience import HOUR_MS, patient
from tests.waiting import until

__all__ = ["plane", "worker"]


def test_a_connection_that_is_lost_is_made_again(plane: ControlPlane, worker: WorkerPlane) -> None:
    lost: list[str] = []
    plane.on_worker_lost(lambda name: lost.append(name) or 1 / 0)  # type: ignore[func-returns-value]
    plane.on_worker_lost(lambda name: lost.extend(info.worker for info in plane.workers()))
    with worker.task("map", FIRST) as task:
        until(lambda: plane._endpoint._back.get(worker.worker))
        for connection in plane.service.transport().connections():
            connection.close("the test pulls the plug")
        until(lambda: lost == [worker.worker])
        until(lambda: [len(info.tasks) for info in plane.workers()] == [1])
        plane.set("after", 1)
        until(lambda: task.settings.get("after") == 1)


def process_of(role: str, environment: dict[str, str]) -> Any:
    """A process that is killed at the end."""
    return piped("-m", "tests.spark.parts.plane_worker", role, env=environment, text=False)


def go_on(worker: WorkerPlane, change: Callable[[], object]) -> None:
    with worker.task("map", FIRST) as task:
        change()
        until(lambda: task.stopped)
        task.check()


def test_a_plane_that_is_closed_ends_tasks() -> None:
    """At once: it has not called the worker back, and no beat is due before the test is over."""
    plane = ControlPlane(heartbeat_interval=600_000, heartbeat_timeout=1_200_000)
    worker = plane.worker()
    with pytest.raises(RpcConnectionError, match="is gone: the driver has closed it") as caught:
        go_on(worker, plane.close)
    assert "attempt 0 (task 100) of operator 'map', partition 0" in str(caught.value)
    with pytest.raises(RpcConnectionError, match=r"cannot reach the driver's control plane at .*"):
        plane.worker()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_driver_that_is_dead_or_frozen_ends_tasks(
    how: signal.Signals, environment: dict[str, str]
) -> None:
    with process_of("drive", environment) as driver:
        assert driver.stdout is not None
        handle = replace(pickle.load(driver.stdout), timeout_ms=2_000)
        tasks: list[TaskPlane] = []

        def begins() -> bool:
            with suppress(RpcConnectionError):  # a machine that is busy enough takes longer
                tasks.append(handle.worker().task("map", FIRST).open())
            return bool(tasks)

        until(begins)
        driver.send_signal(how)
        until(lambda: tasks[0].stopped)
        with pytest.raises(RpcConnectionError, match=r"is gone: it is silent for [\d.]+ s"):
            tasks[0].check()
        assert tasks[0]._plane.given_up


def test_a_worker_that_stood_still_itself_goes_on(plane: ControlPlane) -> None:
    """What it had asked is late when it wakes up, all at once, and the driver is there (W4)."""
    with replace(plane.handle(), interval_ms=HOUR_MS).worker().task("map", FIRST) as task:
        worker = task._plane
        sent_s = time.monotonic()
        worker._heard_s -= worker._driver.timeout_ms / 1000  # so long did it sleep
        for _ in range(3):
            worker._miss(RpcTimeoutError("it is late"), sent_s)
        assert not task.stopped
        worker.beat().result(SOON)
        worker._heard_s -= worker._driver.timeout_ms / 1000
        worker._miss(RpcTimeoutError("it is late"), time.monotonic())
        assert not task.stopped, "an answer has come meanwhile"
    worker.close()


def test_a_worker_that_is_gone_before_it_is_called_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver need not wait until it is silent for long."""
    with ControlPlane(heartbeat_interval=HOUR_MS, heartbeat_timeout=2 * HOUR_MS) as plane:
        lost: list[str] = []
        plane.on_worker_lost(lost.append)
        connecting: Future[Any] = Future()
        monkeypatch.setattr(plane.service, "connect", lambda *how: connecting)
        worker = plane.handle().worker()
        with worker.task("map", FIRST):
            assert len(plane.workers()) == 1
            connecting.set_exception(ConnectionLostError("it has ended"))
            until(lambda: lost == [worker.worker])
            assert plane.workers() == []
        worker.close()


def test_what_takes_long_to_stop_does_not_fail_the_end_of_a_driver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stopping: Future[None] = Future()

    class Slow(Site):
        def on_stop(self) -> Any:
            return stopping

    monkeypatch.setattr(services, "_STOP_S", 0.01)
    with ControlPlane() as plane:
        Slow(plane.service, "slow").start()
    assert plane.service.is_closed
    stopping.set_result(None)
    assert plane.service.close_async().exception(SOON) is None


def test_certificates_travel_with_the_handle() -> None:
    with ControlPlane(tls=TlsConfig.ephemeral(), heartbeat_interval=20) as plane:
        handle = pickle.loads(pickle.dumps(plane))
        worker = handle.worker()
        with worker.task("map", FIRST):
            assert len(plane.workers()) == 1
        worker.close()


@contextmanager
def worker_process(
    plane: ControlPlane | PlaneHandle, environment: dict[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """A worker in a process of its own, which runs a task until it is told to end."""
    with process_of("work", environment) as process:
        assert process.stdin is not None
        process.stdin.write(pickle.dumps((plane, FIRST)))
        process.stdin.flush()
        yield process


@pytest.fixture
def process(plane: ControlPlane, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    with worker_process(plane, environment) as running:
        yield running


def test_a_worker_that_is_killed_is_gone_at_once(
    plane: ControlPlane, process: subprocess.Popen[bytes]
) -> None:
    """Its asks fail, its registration and its permits are free again."""
    permits = PermitLedger(concurrency=Concurrency(3))
    clock = [0]
    PermitsEndpoint(plane.service, "permits", "token", permits, lambda: clock[0]).start()
    until(plane.workers)
    plane.set("permits", "token")
    (info,) = plane.workers()
    assert info.pid == process.pid
    until(lambda: permits.statistics(0).held)
    site = patient(plane.connect(info.worker, "site", SiteGateway).result(SOON))
    under_way = [site.never() for _ in range(20)]
    assert site.pid().result(SOON) == process.pid
    lost: list[str] = []
    plane.on_worker_lost(lost.append)
    process.send_signal(signal.SIGKILL)
    for future in under_way:
        assert isinstance(future.exception(SOON), RecipientUnreachableError)
    until(lambda: lost == [info.worker])
    assert plane.workers() == []
    clock[0] = LEASE_NS + 1
    heir = permits.lease(replace(REQUEST, worker="heir", waiting=3), clock[0])
    heir = permits.lease(
        replace(REQUEST, worker="heir", token=heir.token, number=heir.number, waiting=3), clock[0]
    )
    assert heir.holding == 3


def test_a_worker_that_is_frozen_is_gone_after_a_while_and_comes_back(
    environment: dict[str, str],
) -> None:
    with (
        ControlPlane(heartbeat_interval=20, heartbeat_timeout=1_000) as plane,
        # It has other things to do than to give the driver up, however long it takes to begin.
        worker_process(replace(plane.handle(), timeout_ms=600_000), environment) as running,
    ):
        until(plane.workers)
        freeze(running)
        until(lambda: not plane.workers())
        thaw(running)
        until(plane.workers)


def test_a_forked_child_is_a_worker_of_its_own(plane: ControlPlane, worker: WorkerPlane) -> None:
    handle = plane.handle()

    def child() -> None:
        mine = handle.worker()
        assert mine is not worker
        with mine.task("map", attempt(partition=1)) as task:
            task.count("rows", 5)

    with worker.task("map", FIRST):
        in_a_fork(child)
        until(lambda: [info.pid for info in plane.workers()] == [os.getpid()])
        assert plane.counters()["map"][1] == {"rows": 5}


def test_a_last_report_is_last(plane: ControlPlane, worker: WorkerPlane) -> None:
    """W2: whatever makes workers hurry meanwhile, figures are exact when a task has ended."""
    with meanwhile(lambda: worker.beat().result(SOON)):
        for epoch in range(100):
            with worker.task("map", attempt(epoch=epoch, task=100 + epoch)) as task:
                task.count("rows", 1)
                task.count("rows", 2)
            assert plane.counters()["map"][0]["rows"] == 3 * (epoch + 1)
            assert plane.workers()[0].tasks == ()
