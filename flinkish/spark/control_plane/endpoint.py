"""The ledger where workers reach it: an endpoint on the driver."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from flinkish.common.errors import RpcTimeoutError
from flinkish.rpc import RpcEndpoint, RpcService
from flinkish.spark.control_plane.ledger import PlaneLedger, WorkerInfo
from flinkish.spark.control_plane.messages import (
    PLANE,
    WATCH_MS,
    WORKER,
    Beat,
    BeatReply,
    PlaneGateway,
    WorkerGateway,
)

__all__ = ["PlaneEndpoint", "monotonic_ms"]

_LOG = logging.getLogger("flinkish.spark.control_plane")


def monotonic_ms() -> int:
    """The clock by which workers live and die."""
    return time.monotonic_ns() // 1_000_000


class PlaneEndpoint(RpcEndpoint, PlaneGateway):
    """Keeps the ledger, one message after the other, and calls workers back.

    A worker is gone when its connection is (the driver's ``watch`` fails at once), or when it was
    silent for too long.
    """

    def __init__(
        self,
        service: RpcService,
        ledger: PlaneLedger,
        interval_ms: int,
        on_worker_lost: Callable[[str], object],
    ) -> None:
        super().__init__(service, PLANE)
        self.ledger = ledger
        self._interval_ms = interval_ms
        self._on_worker_lost = on_worker_lost
        self._back: dict[str, WorkerGateway | None] = {}  # None while it is connected
        self._over = False

    def on_start(self) -> None:
        """Look for silent workers from now on."""
        self.schedule_run_async(self._look_round, self._interval_ms)

    def on_stop(self) -> None:
        """Tell workers; connections that are lost from now on are no news."""
        self._over = True
        for gateway in self._back.values():
            if gateway is not None:
                gateway.goodbye("the driver has closed it")

    def beat(self, beat: Beat) -> Any:
        """Take in how far a worker is; the reply says what it has to know."""
        reply: BeatReply = self.ledger.beat(beat, monotonic_ms())
        if beat.identity.worker not in self._back:
            self._connect_back(beat.identity.worker)
        return reply

    def watch(self) -> Any:
        """A future that only ends when this endpoint does, by failing: so the worker notices."""
        return Future()

    def hurry_all(self) -> None:
        """Have all workers beat now; in the main thread."""
        for gateway in self._back.values():
            if gateway is not None:
                gateway.hurry()

    def workers(self) -> list[WorkerInfo]:
        """Those that are alive; in the main thread."""
        return self.ledger.workers(monotonic_ms(), time.time_ns() // 1_000_000)

    # --- calling back

    def _connect_back(self, worker: str) -> None:
        self._back[worker] = None
        address = f"flinkish://{worker}/user/rpc/{WORKER}"

        def connected(connecting: Any) -> None:
            if not self._over:
                self.run_async(lambda: self._connected(worker, connecting))

        self.service.connect(address, WorkerGateway).add_done_callback(connected)

    def _connected(self, worker: str, connecting: Any) -> None:
        error = connecting.exception()
        if isinstance(error, RpcTimeoutError):
            self._back.pop(worker, None)  # its next beat has us try again
            return
        if error is not None:
            self._lose(worker, f"it cannot be called back: {error}")
            return
        self._back[worker] = connecting.result()
        self._watch(worker, connecting.result())
        connecting.result().hurry()  # what was ordered while we could not call

    def _watch(self, worker: str, gateway: Any) -> None:
        def ended(watch: Any) -> None:
            if not self._over:
                self.run_async(lambda: self._unwatched(worker, gateway, watch))

        gateway.with_timeout(WATCH_MS).watch().add_done_callback(ended)

    def _unwatched(self, worker: str, gateway: Any, watch: Any) -> None:
        if self._back.get(worker) is not gateway:
            return
        if isinstance(watch.exception(), RpcTimeoutError):
            self._watch(worker, gateway)
            return
        self._lose(worker, "its connection is lost")

    def _look_round(self) -> None:
        for worker in self.ledger.expire(monotonic_ms()):
            self._forget(worker, "it was silent for too long")
            self._on_worker_lost(worker)
        self.schedule_run_async(self._look_round, self._interval_ms)

    def _lose(self, worker: str, why: str) -> None:
        self._forget(worker, why)
        if self.ledger.lose(worker):
            self._on_worker_lost(worker)

    def _forget(self, worker: str, why: str) -> None:
        _LOG.info("worker %s is gone: %s", worker, why)
        self._back.pop(worker, None)
