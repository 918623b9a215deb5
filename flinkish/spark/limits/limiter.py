"""Permits for coroutines and threads of one worker.

Invariants:
  W1  `_lease` and `_waiters` are touched with `_lock` held, and only for as long as that takes.
  W2  Waiters get permits in their order, by `_pump` alone; a call that comes goes before none.
  W3  `_pump`, timers and answers run on the loop; other threads poke it, once until it runs.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from flinkish.common.errors import IllegalStateError, RpcTimeoutError
from flinkish.spark.limits.lease import NEVER, Lease
from flinkish.spark.limits.messages import Grant, LeaseRequest, PermitGateway
from flinkish.spark.limits.permits import PermitLedger
from flinkish.spark.limits.rate import Concurrency, Rate

__all__ = ["Limiter", "LocalGateway"]

_LOG = logging.getLogger(__name__)

T = TypeVar("T")

_RETRY_NS = 200_000_000  # after a request that failed
_SOON_NS = 1_000_000  # event loops count in ms
_NOW_NS = 200_000  # and wake up late on a crowded machine: for less than this it does not sleep


class LocalGateway:
    """A ledger of this process, for limits of a worker and for parts of divided ones."""

    def __init__(
        self, ledger: PermitLedger, clock_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._ledger = ledger
        self._clock_ns = clock_ns
        self._lock = threading.Lock()

    def lease(self, request: LeaseRequest) -> Future[Grant]:
        """A share for a while, given at once by the ledger of this process."""
        answer: Future[Grant] = Future()
        with self._lock:
            answer.set_result(self._ledger.lease(request, self._clock_ns()))
        return answer

    def leave(self, worker: str, token: int, unused: int) -> None:
        """Give back what is left of a share."""
        with self._lock:
            self._ledger.leave(worker, token, unused, self._clock_ns())


class Limiter:
    """Lets calls of one worker start when the limits allow it.

    ``worker`` is a name that no other worker has, nor another attempt of the same task.  A call
    that waits for longer than ``patience_ms`` while the ledger cannot be reached fails with
    RpcTimeoutError.

    Threading: `acquire` and `call` on the loop; `release`, `acquire_blocking` and `call_blocking`
    on any thread but, the last two, the loop's.  Complexity: a permit costs about a microsecond,
    and a message for each slice (see `permits`).
    """

    def __init__(
        self,
        gateway: PermitGateway,
        worker: str,
        *,
        rate: Rate | None = None,
        concurrency: Concurrency | None = None,
        loop: asyncio.AbstractEventLoop,
        on_free: Callable[[], object] | None = None,
        patience_ms: int = 60_000,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._gateway = gateway
        self._lease = Lease(worker, paced=rate is not None, counted=concurrency is not None)
        rules = [limit.adaptive for limit in (rate, concurrency) if limit and limit.adaptive]
        self._rules = rules
        self._loop = loop
        self._on_free = on_free
        self._patience_ns = patience_ms * 1_000_000
        self._clock_ns = clock_ns
        self._lock = threading.Lock()
        self._waiters: deque[asyncio.Future[int]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ns = NEVER
        self._poked = False
        self._closed = False
        self._failing_ns: int | None = None  # since when the ledger does not answer

    async def acquire(self) -> int:
        """Wait until a call may start; returns when it did, for `release`."""
        lease = self._lease
        with self._lock:
            now_ns = self._clock_ns()
            if not self._waiters and lease.take(now_ns):
                if now_ns >= lease.look_at_ns:
                    self._poke()
                return now_ns
            if self._closed:
                raise IllegalStateError("the limiter is closed; acquire before close")
            waiter: asyncio.Future[int] = self._loop.create_future()
            self._waiters.append(waiter)
            if len(self._waiters) == 1 or now_ns >= lease.look_at_ns:
                self._poke()
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                with self._lock:
                    lease.untake()
                    self._poke()
            raise

    def release(self, started_ns: int, error: BaseException | None = None) -> None:
        """A call that started then has ended, with this error if any."""
        waits: list[int] = []
        if error is not None:
            found = (rule.retry_after_ns(error) for rule in self._rules)
            waits = [wait for wait in found if wait is not None]
        with self._lock:
            self._lease.done()
            if waits:
                self._lease.throttled(started_ns, max(waits), self._clock_ns())
            if waits or self._waiters:
                self._poke()

    def num_waiting(self) -> int:
        """Calls that wait for a permit."""
        return len(self._waiters)

    async def call(self, function: Callable[..., Awaitable[T]], *arguments: Any) -> T:
        """The result of ``await function(*arguments)``, started when the limits allow it."""
        started_ns = await self.acquire()
        try:
            result = await function(*arguments)
        except BaseException as error:
            self.release(started_ns, error)
            raise
        self.release(started_ns)
        return result

    def acquire_blocking(self) -> int:
        """`acquire` for threads other than the loop's."""
        with self._lock:
            now_ns = self._clock_ns()
            if not self._waiters and self._lease.take(now_ns):
                if now_ns >= self._lease.look_at_ns:
                    self._poke()
                return now_ns
        return asyncio.run_coroutine_threadsafe(self.acquire(), self._loop).result()

    def call_blocking(self, function: Callable[..., T], *arguments: Any) -> T:
        """`call` for plain functions, on threads other than the loop's."""
        started_ns = self.acquire_blocking()
        try:
            result = function(*arguments)
        except BaseException as error:
            self.release(started_ns, error)
            raise
        self.release(started_ns)
        return result

    def close(self) -> None:
        """Give back what is in hand; on the loop.  Calls that wait are cancelled."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            waiters, self._waiters = self._waiters, deque()
            if self._timer is not None:
                self._timer.cancel()
            token, unused = self._lease.token, self._lease.drop()
        for waiter in waiters:
            waiter.cancel()
        if token:
            self._gateway.leave(self._lease.worker, token, unused)

    # --- on the loop

    def _poke(self) -> None:
        """Have `_pump` run on the loop; with the lock held."""
        if not self._poked and not self._closed:
            self._poked = True
            self._loop.call_soon_threadsafe(self._pump)

    def _pump(self) -> None:
        """Give permits to those who wait, ask for more, and see to it that this is done again."""
        lease, waiters = self._lease, self._waiters
        with self._lock:
            self._poked = False
            if self._closed:
                return
            now_ns = self._clock_ns()
            before = len(waiters)
            while waiters:
                if waiters[0].done():
                    waiters.popleft()
                elif lease.take(now_ns):
                    waiters.popleft().set_result(now_ns)
                else:
                    break
            request = lease.request(len(waiters), now_ns)
            self._wake_at(lease.wake_at(len(waiters), now_ns), now_ns)
            served = len(waiters) < before
        if request is not None:
            self._send(request)
        if served and self._on_free is not None:
            self._on_free()

    def _wake_at(self, when_ns: int, now_ns: int) -> None:
        if now_ns < when_ns < now_ns + _NOW_NS:
            self._poke()
        if when_ns == self._timer_ns:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_ns = None, when_ns
        if when_ns < NEVER:
            wait_ns = max(when_ns - now_ns, _SOON_NS)
            self._timer = self._loop.call_later(wait_ns / 1e9, self._woken)

    def _woken(self) -> None:
        self._timer, self._timer_ns = None, NEVER
        self._pump()

    def _send(self, request: LeaseRequest) -> None:
        try:
            answer = self._gateway.lease(request)
        except Exception as error:  # whatever the transport raises: it is told after patience
            self._failed(error)
            return
        answer.add_done_callback(self._on_answer)

    def _on_answer(self, answer: Future[Grant]) -> None:
        try:
            self._loop.call_soon_threadsafe(self._answered, answer)
        except RuntimeError:  # the loop is closed, and nobody waits any more
            _LOG.debug("a grant came after the loop was closed")

    def _answered(self, answer: Future[Grant]) -> None:
        error = None if answer.cancelled() else answer.exception()
        if answer.cancelled() or error is not None:
            self._failed(error or RpcTimeoutError("the request for permits was cancelled"))
            return
        with self._lock:
            self._failing_ns = None
            self._lease.granted(answer.result(), self._clock_ns())
        self._pump()

    def _failed(self, error: BaseException) -> None:
        with self._lock:
            now_ns = self._clock_ns()
            if self._failing_ns is None:
                self._failing_ns = now_ns
                _LOG.warning("no permits for %s: %s; asking again", self._lease.worker, error)
            self._lease.failed(now_ns, _RETRY_NS)
            failing_ns = now_ns - self._failing_ns
            over = failing_ns > self._patience_ns
            waiters = list(self._waiters) if over else []
        for waiter in waiters:
            if not waiter.done():
                refusal = RpcTimeoutError(
                    f"the limits of this job cannot be kept: its driver has not answered for "
                    f"{failing_ns // 1_000_000} ms, and a call waits for its permit. See whether "
                    "workers reach the driver's address; where they cannot, give the limit "
                    "scope='worker'"
                )
                refusal.__cause__ = error
                waiter.set_exception(refusal)
        self._pump()
