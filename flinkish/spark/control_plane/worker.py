"""A worker's side: one connection to the driver for all tasks that a process ever runs.

Invariants:
  W1  A process has one WorkerPlane for a plane, made when it is first needed.  A forked child has
      none of its parent's: they are kept by process id.
  W2  A beat is put together and sent in one hold of ``_lock``.  So the driver takes beats in the
      order of what they say, and a last report is not followed by an earlier one.
  W3  Who asks twice is told the same: beats are repeated where a connection was lost.
  W4  The driver is silent if it left two beats unanswered, of which one was sent when the other was
      missed already.  A single one, or several at once, are also missed where it is this process
      that stood still.
"""

from __future__ import annotations

import atexit
import logging
import math
import os
import secrets
import socket
import threading
import time
from concurrent.futures import Future
from typing import Any, TypeVar

from flinkish.common.errors import (
    ConnectionLostError,
    RecipientUnreachableError,
    RpcConnectionError,
    RpcError,
    RpcTimeoutError,
)
from flinkish.rpc import RpcAddress, RpcEndpoint, RpcGateway, RpcService
from flinkish.spark.control_plane.address import PlaneAddress
from flinkish.spark.control_plane.attempts import Attempt, current_attempt
from flinkish.spark.control_plane.messages import (
    WATCH_MS,
    WORKER,
    Beat,
    BeatReply,
    PlaneGateway,
    WorkerGateway,
    WorkerIdentity,
)
from flinkish.spark.control_plane.settings import Settings
from flinkish.spark.control_plane.task import TaskPlane
from flinkish.spark.services import CONNECT_MS

__all__ = ["WorkerPlane"]

_LOG = logging.getLogger("flinkish.spark.control_plane")
_AGAIN_S = 0.05  # between tries to reach a driver whose connection was lost

Proxy = TypeVar("Proxy", bound=RpcGateway)


class WorkerEndpoint(RpcEndpoint, WorkerGateway):
    """The endpoint of a worker for the driver, with the sender of its heartbeats."""

    def __init__(self, plane: WorkerPlane, interval_ms: int) -> None:
        super().__init__(plane.service, WORKER)
        self._plane = plane
        self._interval_ms = interval_ms

    def on_start(self) -> None:
        """The first beat is that of the first task."""
        self.schedule_run_async(self._round, self._interval_ms)

    def hurry(self) -> None:
        """Send a heartbeat now."""
        self._plane.beat()

    def goodbye(self, reason: str) -> None:
        """Leave the plane, since it ends."""
        self._plane.give_up(reason)

    def watch(self) -> Any:
        """A future that only ends when this worker does, by failing: so the plane notices."""
        return Future()

    def _round(self) -> None:
        def answered(_: object) -> None:
            if not self._plane.given_up:
                self.run_async(self._again)

        self._plane.beat().add_done_callback(answered)

    def _again(self) -> None:
        self.schedule_run_async(self._round, self._interval_ms)


class WorkerPlane:
    """This process as a worker of a plane; `current` finds or makes it.

    Threading: safe from any thread.
    """

    def __init__(self, address: PlaneAddress) -> None:
        self.worker = f"worker-{os.getpid()}-{secrets.token_hex(4)}"
        self.settings = Settings()
        self.given_up = False
        self._driver = address
        self._identity = WorkerIdentity(self.worker, socket.gethostname(), os.getpid())
        self._tasks: list[TaskPlane] = []
        self._lock = threading.Lock()
        self._heard_s = time.monotonic()
        self._missed_s = math.inf  # when the first beat since then was known to be missed
        self._watching = False
        self.service = RpcService(
            self.worker,
            secret=address.secret,
            tls=address.tls,
            ask_timeout=address.timeout_ms,
            connect_timeout=CONNECT_MS,
        )
        try:
            connecting: Any = self.service.connect(address.address, PlaneGateway)
            self._gateway = connecting.result(CONNECT_MS / 1000)
        except Exception as error:
            self.service.close_async()
            raise RpcConnectionError(_unreachable(address.address, error)) from error
        self._beats: Any = self._gateway.with_timeout(address.timeout_ms // 2)  # for two (W4)
        WorkerEndpoint(self, address.interval_ms).start()
        atexit.register(self.service.close_async)

    @classmethod
    def current(cls, address: PlaneAddress) -> WorkerPlane:
        """That of this process, connected; RpcConnectionError if the driver cannot be reached."""
        key = os.getpid(), address.plane
        with _planes_lock:
            plane = _planes.get(key)
            if plane is None or plane.given_up:
                plane = _planes[key] = cls(address)
            return plane

    def task(self, operator: str, attempt: Attempt | None = None) -> TaskPlane:
        """For an operator in the task that Spark runs here, or in another attempt."""
        return TaskPlane(self, attempt or current_attempt(operator))

    def connect(self, endpoint_id: str, gateway: type[Proxy], fencing_token: Any = None) -> Proxy:
        """A gateway to an endpoint that the driver runs on the plane's service."""
        driver = RpcAddress.parse(self._driver.address).service
        address = f"{driver}/user/rpc/{endpoint_id}"
        return self.service.connect(address, gateway, fencing_token).result(CONNECT_MS / 1000)

    def close(self) -> None:
        """Leave the plane; the next one that asks for this process's worker gets a new one."""
        self.given_up = True
        atexit.unregister(self.service.close_async)
        self.service.close()

    # --- tasks

    def enter(self, task: TaskPlane) -> None:
        """A task begins; what its `check` raises if it may not."""
        with self._lock:
            self._tasks.append(task)
        try:
            self._sync(None)
            task.check()
        except BaseException:
            with self._lock:
                self._tasks.remove(task)
            raise

    def leave(self, task: TaskPlane, *, well: bool) -> None:
        """A task has ended; if it did well, the driver has to agree."""
        with self._lock:
            self._tasks.remove(task)
        if not well:
            self.beat((task, False))
            return
        task.check()
        self._sync((task, True))
        task.check()

    # --- beats

    def beat(self, ended: tuple[TaskPlane, bool] | None = None) -> Any:
        """Send a beat; a future that ends when its answer was taken in, or its loss."""
        done: Future[None] = Future()
        with self._lock:
            tasks = list(self._tasks)
            reports = [task.report() for task in tasks]
            if ended is not None:
                tasks.append(ended[0])
                reports.append(ended[0].report(ended[1]))
            sent_s = time.monotonic()
            sent = self._beats.beat(Beat(self._identity, reports, self.settings.version))

        def answered(answer: Any) -> None:
            error = answer.exception()
            if error is None:
                self._hear(answer.result(), tasks)
                done.set_result(None)
            else:
                self._miss(error, sent_s)
                done.set_exception(error)

        sent.add_done_callback(answered)
        return done

    def _sync(self, ended: tuple[TaskPlane, bool] | None) -> None:
        """Beat until there is an answer, for as long as the driver may be silent."""
        until = time.monotonic() + self._driver.timeout_ms / 1000
        over = False
        while True:
            try:
                self.beat(ended).result()
                return
            except (RecipientUnreachableError, RpcConnectionError, RpcTimeoutError) as error:
                if self.given_up or over:
                    raise RpcConnectionError(_unreachable(self._driver.address, error)) from error
            except RpcError as error:
                raise RpcConnectionError(_unreachable(self._driver.address, error)) from error
            over = time.monotonic() + _AGAIN_S > until  # the next one is the last
            time.sleep(_AGAIN_S)

    def _hear(self, reply: BeatReply, tasks: list[TaskPlane]) -> None:
        self._heard_s, self._missed_s = time.monotonic(), math.inf
        if reply.settings is not None:
            self.settings.hear(reply.version, reply.settings)
        for task, verdict in zip(tasks, reply.verdicts, strict=True):
            task.hear(verdict)
        if not self._watching:
            self._watch()

    def _watch(self) -> None:
        """Hear at once when the connection is lost; each answer has it watched again."""
        self._watching = True

        def ended(watch: Any) -> None:
            self._watching = False
            if not self.given_up:
                self._miss(watch.exception(), -math.inf)

        self._gateway.with_timeout(WATCH_MS).watch().add_done_callback(ended)

    def _miss(self, error: BaseException, sent_s: float) -> None:
        """A heartbeat got no answer: the driver is gone, or maybe only silent (W4)."""
        if _is_final(error):
            self.give_up("the driver has closed it")
            return
        now_s = time.monotonic()
        self._missed_s = min(self._missed_s, now_s)
        silence_s = now_s - self._heard_s
        if sent_s >= self._missed_s and silence_s * 1000 >= self._driver.timeout_ms:
            self.give_up(f"it is silent for {silence_s:.1f} s ({error})")

    def give_up(self, reason: str) -> None:
        """The driver is gone: end what is under way."""
        if self.given_up:
            return
        self.given_up = True
        _LOG.info("the control plane at %s is gone: %s", self._driver.address, reason)
        with self._lock:
            tasks = list(self._tasks)
        for task in tasks:
            task.lose(f"the driver's control plane at {self._driver.address} is gone: {reason}")
        self.service.close_async()
        atexit.unregister(self.service.close_async)


def _is_final(error: BaseException) -> bool:
    """Whether the driver said that it ends, or its endpoint has; other losses may be mended."""
    if isinstance(error, ConnectionLostError):
        return error.for_good
    return isinstance(error, RecipientUnreachableError)


def _unreachable(address: str, error: BaseException) -> str:
    return (
        f"this worker cannot reach the driver's control plane at {address}: {error}. Is the driver "
        "still there, and its host (ControlPlane's host, by default spark.driver.host) one that "
        "executors can connect to? On Spark Connect and serverless services they cannot"
    )


_planes_lock = threading.Lock()
_planes: dict[tuple[int, str], WorkerPlane] = {}


def _forked() -> None:
    global _planes_lock
    _planes_lock = threading.Lock()  # somebody may have held it
    _planes.clear()


os.register_at_fork(after_in_child=_forked)
