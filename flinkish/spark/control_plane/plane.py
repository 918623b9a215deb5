"""The driver's side of the control plane."""

from __future__ import annotations

import atexit
import logging
import secrets
import time
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from pyspark.sql import SparkSession

from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import (
    FutureTimeoutError,
    IllegalArgumentError,
    IllegalStateError,
    UnsupportedOperationError,
)
from flinkish.rpc import RpcFuture, RpcGateway, RpcService, TlsConfig
from flinkish.rpc.heartbeats import heartbeats
from flinkish.rpc.wire import encode_plain
from flinkish.spark.control_plane.attempts import Attempt
from flinkish.spark.control_plane.counting import Counts
from flinkish.spark.control_plane.endpoint import PlaneEndpoint
from flinkish.spark.control_plane.handle import PlaneHandle
from flinkish.spark.control_plane.ledger import PlaneLedger, WorkerInfo
from flinkish.spark.control_plane.messages import CANCEL, DRAIN
from flinkish.spark.control_plane.task import TaskPlane
from flinkish.spark.control_plane.worker import WorkerPlane
from flinkish.spark.services import CONNECT_MS, end
from flinkish.spark.session import context_of, driver_host, speculates

__all__ = ["ControlPlane"]

_LOG = logging.getLogger("flinkish.spark.control_plane")
_PATIENCE_MS = 60_000  # with an endpoint of this process

T = TypeVar("T")
Proxy = TypeVar("Proxy", bound=RpcGateway)


class ControlPlane:
    """Knows the workers of an application while they run, and tells them things.

    ``host`` is where executors reach this driver: by default the loopback address if ``spark``
    runs on this machine, else ``spark.driver.host``.  Off loopback, connections are encrypted with
    certificates that are made for the occasion (see `flinkish.rpc.TlsConfig`).  The plane travels:
    in a function for workers it arrives as a `PlaneHandle`, with address and keys, and ``task`` and
    ``worker`` are what to call there.

    Workers beat every ``heartbeat_interval``, with their counters; one that is silent for
    ``heartbeat_timeout`` is gone for the driver, and a driver that is silent for as long ends the
    tasks of workers.  Where a connection is lost, both see it at once.

    Raises UnsupportedOperationError on Spark Connect: there, workers cannot reach a driver, and all
    of this is lost.  Counters that need no connection are Spark's observed metrics.

    Threading: safe from any thread.  Life cycle: a context manager; ``close`` ends it.
    """

    def __init__(
        self,
        spark: SparkSession | None = None,
        *,
        host: str | None = None,
        port: int = 0,
        tls: TlsConfig | Literal["plaintext"] | None = None,
        heartbeat_interval: DurationLike = 1_000,
        heartbeat_timeout: DurationLike = 30_000,
    ) -> None:
        interval, timeout = heartbeats(heartbeat_interval, heartbeat_timeout)
        secret = secrets.token_hex(32)
        found = _host_of(spark) if host is None else host
        self.service = RpcService(
            "flinkish-driver",
            host=found,
            port=port,
            secret=secret,
            tls=tls,
            connect_timeout=CONNECT_MS,
        )
        self._listeners: list[Callable[[str], object]] = []
        session = SparkSession.getActiveSession() if spark is None else spark
        ledger = PlaneLedger(timeout, speculation=speculates(session))
        self._endpoint = PlaneEndpoint(self.service, ledger, interval, self._worker_lost)
        self._endpoint.start()
        self._handle = PlaneHandle(
            plane=secrets.token_hex(8),
            address=self._endpoint.address,
            interval_ms=interval,
            timeout_ms=timeout,
            secret=secret,
            tls=self.service.tls,
        )
        atexit.register(self.close)

    # --- for workers

    def handle(self) -> PlaneHandle:
        """The handle that travels to workers; a plane that is pickled becomes its handle."""
        return self._handle

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (self._handle,)

    def worker(self) -> WorkerPlane:
        """This process as a worker of its own plane."""
        return self._handle.worker()

    def task(self, operator: str, attempt: Attempt | None = None) -> TaskPlane:
        """As a worker calls it; see `PlaneHandle.task`."""
        return self._handle.task(operator, attempt)

    # --- looking

    def workers(self) -> list[WorkerInfo]:
        """Python workers that are alive, and which partitions they run since when."""
        return self._call(self._endpoint.workers)

    def counters(self, query: Any = None) -> Counts:
        """The counts of operators: operator to partition to name to sum.

        Sums over micro-batches and stages; each partition counts once in each, however often it was
        tried.  A figure never falls.  ``query``, a StreamingQuery or its id, or "batch", limits it.
        """
        name = None if query is None else str(getattr(query, "id", query))
        return self._call(lambda: self._endpoint.ledger.counters.counts(name))

    def on_worker_lost(self, function: Callable[[str], object]) -> None:
        """Call it with the name of each worker that is gone, on a thread of the service."""
        self._listeners.append(function)

    # --- telling

    def cancel(self, query: Any = None, operator: str | None = None, reason: str = "") -> None:
        """Have running tasks fail with CancelTaskError, and new ones as they begin.

        ``query``, a StreamingQuery or its run id, and ``operator`` limit it.  What a cancelled task
        did is not committed: a query that is started again does its micro-batch again.
        """
        self._order(query, operator, CANCEL, reason or "the driver asked for it")

    def drain(self, query: Any = None, operator: str | None = None, reason: str = "") -> None:
        """Let tasks end what they began: ``task.draining`` is true; later epochs are refused.

        Tasks of a later epoch of a run fail as they begin, with CancelTaskError, so that the query
        has ended after the micro-batch under way.  `finish` does that and stops the query.
        """
        self._order(query, operator, DRAIN, reason or "the driver asked for it")

    def resume(self, query: Any = None, operator: str | None = None) -> None:
        """Take back what was ordered in the same words; tasks that were told already stay so."""
        run = _run_of(query)
        self._call(lambda: self._endpoint.ledger.lift(run, operator))

    def finish(self, query: Any, timeout: DurationLike = "1 minute") -> int:
        """Drain a StreamingQuery, wait for its micro-batch under way and stop it.

        Returns the last epoch that it finished, -1 if none.  FutureTimeoutError if the micro-batch
        takes longer; the query is then still draining.
        """
        until = time.monotonic() + to_millis(timeout, "timeout", minimum=0) / 1000
        run = str(query.runId)
        self.drain(query)
        last = self._call(lambda: self._endpoint.ledger.fences.epoch(run))
        while query.isActive and _finished(query) < last:
            if time.monotonic() > until:
                raise FutureTimeoutError(
                    f"epoch {last} of query {query.id} did not end in time; it goes on, and drains"
                )
            time.sleep(0.02)
        query.stop()
        return _finished(query)

    def set(self, name: str, value: Any) -> None:
        """Change a setting: workers have it in ``settings.get(name)``, soon.

        Live workers are told at once, others with their first beat.  ``value`` is made of what
        MessagePack knows: numbers, text, bytes, lists and dicts.
        """
        if not isinstance(name, str):
            raise IllegalArgumentError(f"the name of a setting is text, not {name!r}")
        encode_plain(value)

        def change() -> None:
            self._endpoint.ledger.set(name, value)
            self._endpoint.hurry_all()

        self._call(change)

    def connect(
        self, worker: str, endpoint_id: str, gateway: type[Proxy], fencing_token: Any = None
    ) -> RpcFuture[Proxy]:
        """A gateway to an endpoint that a worker runs on its ``service``; see `workers`."""
        address = f"flinkish://{worker}/user/rpc/{endpoint_id}"
        return self.service.connect(address, gateway, fencing_token)

    # --- the end

    def close(self) -> None:
        """End the service; tasks that still use the plane fail, and say so.

        What takes long to stop goes on to do so when this has returned.
        """
        atexit.unregister(self.close)
        end(self.service)

    def __enter__(self) -> ControlPlane:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ControlPlane at {self._handle.address}>"

    def _order(self, query: Any, operator: str | None, kind: str, reason: str) -> None:
        run = _run_of(query)

        def order() -> None:
            self._endpoint.ledger.order(run, operator, kind, reason)
            self._endpoint.hurry_all()

        self._call(order)

    def _call(self, function: Callable[[], T]) -> T:
        """In the main thread of the endpoint, where listeners are already."""
        try:
            self._endpoint.validate_runs_in_main_thread()
        except IllegalStateError:
            return self._endpoint.call_async(function, _PATIENCE_MS).result()
        return function()

    def _worker_lost(self, worker: str) -> None:
        for listener in self._listeners:
            try:
                listener(worker)
            except Exception:
                _LOG.exception("a listener of lost workers raised")


def _itself(handle: PlaneHandle) -> PlaneHandle:
    return handle


def _run_of(query: Any) -> str | None:
    return None if query is None else str(getattr(query, "runId", query))


def _finished(query: Any) -> int:
    progress = query.lastProgress
    return -1 if progress is None else int(progress["batchId"])


def _host_of(spark: SparkSession | None) -> str:
    """Where executors reach this driver."""
    session = SparkSession.getActiveSession() if spark is None else spark
    if session is None:
        return "127.0.0.1"
    context = context_of(session)
    if context is None:
        raise UnsupportedOperationError(
            "a ControlPlane needs workers that can connect to this driver, and on Spark Connect "
            "and serverless services they cannot: the registration of workers, live counters, "
            "cancel and drain, and settings for live workers are lost. Operators run as well "
            "without it; Spark's observed metrics count there, and query.stop() ends a query. If "
            "workers can reach this host after all, name it: ControlPlane(host=...)"
        )
    return driver_host(context)
