"""The ledger of a job's permits where workers reach it: an endpoint on the driver.

It is fenced.  A worker of an earlier definition of the job, which may still run somewhere, has
another token, and whatever it asks for is refused.
"""

from __future__ import annotations

import atexit
import os
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal

from flinkish.rpc import FencedRpcEndpoint, FencedRpcGateway, RpcService
from flinkish.rpc.tls import TlsConfig
from flinkish.spark.limits.messages import Grant, LeaseRequest
from flinkish.spark.limits.permits import LimitStatistics, PermitLedger
from flinkish.spark.limits.rate import Concurrency, Rate
from flinkish.spark.services import CONNECT_MS, end

__all__ = ["LimitAddress", "LimitServer", "PermitsEndpoint", "PermitsGateway", "connect"]


class PermitsGateway(FencedRpcGateway[str]):
    """The requests of workers to the ledger; see `messages.PermitGateway`."""

    def lease(self, request: LeaseRequest) -> Future[Grant]:  # type: ignore[empty-body]
        """Ask for permits."""

    def leave(self, worker: str, token: int, unused: int) -> None:
        """Give everything back and say good-bye."""


class PermitsEndpoint(FencedRpcEndpoint, PermitsGateway):
    """Keeps the ledger, one request after the other."""

    def __init__(
        self,
        service: RpcService,
        endpoint_id: str,
        fencing_token: str,
        ledger: PermitLedger,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        super().__init__(service, endpoint_id, fencing_token)
        self._ledger = ledger
        self._clock_ns = clock_ns

    def lease(self, request: LeaseRequest) -> Any:
        """Give a worker its share for a while."""
        return self._ledger.lease(request, self._clock_ns())

    def leave(self, worker: str, token: int, unused: int) -> None:
        """Take back what a worker has left of its share."""
        self._ledger.leave(worker, token, unused, self._clock_ns())

    def statistics(self) -> Future[LimitStatistics]:
        """The permits granted so far, and the present limits; for the driver."""
        look = self.call_async(lambda: self._ledger.statistics(self._clock_ns()), 10_000)
        return look  # type: ignore[return-value]


@dataclass(frozen=True)
class LimitAddress:
    """All that a worker needs to reach a ledger; to be told to workers alone."""

    address: str
    token: str
    secret: str = field(repr=False)
    tls: TlsConfig | Literal["plaintext"] | None = field(repr=False, default=None)


class LimitServer:
    """Serves ledgers of this process to workers that reach ``host``, for as long as it lives."""

    def __init__(self, host: str) -> None:
        self._secret = secrets.token_hex(32)
        self._service = RpcService(
            "flinkish-limits", host=host, secret=self._secret, connect_timeout=CONNECT_MS
        )

    def serve(
        self, rate: Rate | None, concurrency: Concurrency | None
    ) -> tuple[LimitAddress, PermitsEndpoint]:
        """A new ledger with these limits, and where it is."""
        name, token = f"permits-{secrets.token_hex(8)}", secrets.token_hex(16)
        ledger = PermitLedger(rate, concurrency)
        endpoint = PermitsEndpoint(self._service, name, token, ledger)
        endpoint.start()
        address = LimitAddress(endpoint.address, token, self._secret, self._service.tls)
        return address, endpoint

    def close(self) -> None:
        """End all endpoints; workers that ask get nothing any more."""
        end(self._service)


# --- workers

_lock = threading.Lock()
_clients: dict[tuple[int, str], RpcService] = {}  # by process and secret


def connect(to: LimitAddress, timeout_s: float = CONNECT_MS / 1000) -> PermitsGateway:
    """A gateway to a ledger; one service a process serves all that are at the same driver.

    RpcConnectionError if it is not there.
    """
    mine = os.getpid(), to.secret
    with _lock:
        service = _clients.get(mine)
        if service is None:
            service = RpcService(
                "flinkish-worker",
                secret=to.secret,
                tls=to.tls,
                connect_timeout=CONNECT_MS,
            )
            _clients[mine] = service
            atexit.register(service.close_async)
    return service.connect(to.address, PermitsGateway, to.token).result(timeout_s)
