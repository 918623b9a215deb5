"""Permits for coroutines and threads, on real time and real loops."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from flinkish.common.errors import IllegalStateError, RpcTimeoutError
from flinkish.spark.limits import Adaptive, Concurrency, Rate
from flinkish.spark.limits.limiter import Limiter, LocalGateway
from flinkish.spark.limits.messages import Grant, LeaseRequest
from flinkish.spark.limits.permits import PATIENCE_NS, PermitLedger
from tests.waiting import PATIENCE


def run(main: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(main)


def limiter(
    rate: Rate | None = None, concurrency: Concurrency | None = None, **options: Any
) -> Limiter:
    ledger = PermitLedger(rate, concurrency)
    gateway = options.pop("gateway", None) or LocalGateway(ledger)
    return Limiter(
        gateway,
        "w",
        rate=rate,
        concurrency=concurrency,
        loop=asyncio.get_running_loop(),
        **options,
    )


def test_calls_start_at_the_rate() -> None:
    starts: list[int] = []
    rate = Rate("400/s", burst=1)
    ledger = PermitLedger(rate)

    async def main() -> None:
        paced = limiter(rate, gateway=LocalGateway(ledger))

        async def call(number: int) -> int:
            return number

        async def take() -> None:
            starts.append(await paced.acquire())
            paced.release(starts[-1])

        calls = [paced.call(call, number) for number in range(50)]
        assert await asyncio.gather(*calls) == list(range(50))
        await asyncio.gather(*(take() for _ in range(100)))
        assert paced.num_waiting() == 0
        paced.close()

    run(main())
    # What a loop that stood still did not use in time comes back, and is granted once more.
    late = PATIENCE_NS / 1e9 * 400 + ledger.statistics(time.monotonic_ns()).returned
    for first in range(len(starts)):
        for last in range(first, len(starts)):
            assert last - first <= (starts[last] - starts[first]) / 1e9 * 400 + late + 1


def test_calls_at_once_from_coroutines_and_threads_together() -> None:
    """Nobody is done before as many were there as may be."""
    lock, now, most = threading.Lock(), 0, 0
    full = threading.Event()

    def enter(by: int) -> None:
        nonlocal now, most
        with lock:
            now += by
            most = max(most, now)
            if now == 5:
                full.set()

    async def asynchronous() -> None:
        enter(1)
        await asyncio.sleep(0.001)
        while not full.is_set():
            await asyncio.sleep(0.001)
        enter(-1)

    def plain() -> None:
        enter(1)
        time.sleep(0.001)
        assert full.wait(PATIENCE)
        enter(-1)

    async def main() -> None:
        counted = limiter(concurrency=Concurrency(5))
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(8) as pool:
            threads = [loop.run_in_executor(pool, counted.call_blocking, plain) for _ in range(200)]
            calls = (counted.call(asynchronous) for _ in range(200))
            await asyncio.wait_for(asyncio.gather(*threads, *calls), 10 * PATIENCE)
        counted.close()

    run(main())
    assert now == 0
    assert most == 5


def test_waiters_are_served_in_their_order_and_a_cancelled_one_takes_nothing() -> None:
    async def main() -> None:
        one = limiter(concurrency=Concurrency(1))
        held = await one.acquire()
        order: list[int] = []

        async def wait(number: int) -> None:
            started = await one.acquire()
            order.append(number)
            one.release(started)

        tasks = [asyncio.create_task(wait(number)) for number in range(6)]
        await asyncio.sleep(0.01)
        tasks[0].cancel()
        tasks[3].cancel()
        await asyncio.sleep(0)
        one.release(held)
        await asyncio.gather(*tasks, return_exceptions=True)
        assert order == [1, 2, 4, 5]
        # One that is cancelled in the very turn in which it got its permit gives it back.
        held = await one.acquire()
        late = asyncio.create_task(wait(7))
        await asyncio.sleep(0.01)
        one.release(held)
        one._pump()
        late.cancel()
        await asyncio.gather(late, return_exceptions=True)
        assert one._lease.busy == 0
        await asyncio.wait_for(wait(8), 60)
        assert order[-1] == 8
        one.close()

    run(main())


def test_errors_that_say_so_slow_everybody_down() -> None:
    class TooMany(Exception):
        pass

    async def main() -> tuple[float, int, PermitLedger]:
        rules = Adaptive(lambda error: "200 milliseconds" if isinstance(error, TooMany) else False)
        rate = Rate("1000/s", adaptive=rules)
        ledger = PermitLedger(rate)
        gateway = LocalGateway(ledger)
        loop = asyncio.get_running_loop()
        one, other = (Limiter(gateway, name, rate=rate, loop=loop) for name in ("one", "other"))
        other.release(await other.acquire(), ValueError("says nothing about load"))

        async def refused() -> None:
            raise TooMany

        told = time.monotonic()
        with pytest.raises(TooMany):
            await one.call(refused)
        await asyncio.sleep(0.1)  # the permits that the other had in hand are void
        other.release(await other.acquire())
        waited = time.monotonic() - told
        limits = ledger.statistics(time.monotonic_ns())
        one.close()
        other.close()
        assert ledger.statistics(time.monotonic_ns()).workers == 0
        return waited, limits.decreases, ledger

    waited, decreases, _ = run(main())
    assert waited >= 0.199
    assert decreases == 1


def test_it_does_not_sleep_for_a_permit_that_is_nearly_there() -> None:
    """On a crowded machine it would wake up when that is void again."""

    async def main() -> None:
        now_ns = 10**9

        def clock() -> int:
            return now_ns

        async def turns() -> None:
            for _ in range(20):
                await asyncio.sleep(0)

        rate = Rate("10000/s", burst=1)
        paced = limiter(rate, gateway=LocalGateway(PermitLedger(rate), clock), clock_ns=clock)
        loop: Any = asyncio.get_running_loop()
        loop.call_later = lambda delay, *call: loop.call_soon(sleepers.append, delay)
        sleepers: list[float] = []
        calls = [asyncio.ensure_future(paced.acquire()) for _ in range(2)]
        await turns()
        assert [call.done() for call in calls] == [True, False]
        now_ns += 110_000
        await turns()
        assert calls[1].done(), "it was there at once, and no timer was waited for"
        assert calls[0].result() + 100_000 <= calls[1].result() == now_ns
        paced.close()

    run(main())


class Unreachable:
    """A gateway that fails at first, and then, if it is told to, does not."""

    def __init__(self, ledger: PermitLedger, failures: int) -> None:
        self.near = LocalGateway(ledger)
        self.failures = failures
        self.asked = 0

    def lease(self, request: LeaseRequest) -> Future[Grant]:
        self.asked += 1
        if self.asked > self.failures:
            return self.near.lease(request)
        if self.asked % 2:
            raise ConnectionError("nobody there")
        lost: Future[Grant] = Future()
        lost.set_exception(ConnectionError("gone"))
        return lost

    def leave(self, worker: str, token: int, unused: int) -> None:
        self.near.leave(worker, token, unused)


def test_a_ledger_that_is_away_for_a_while_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        rate = Rate("100/s")
        gateway = Unreachable(PermitLedger(rate), failures=2)
        paced = limiter(rate, gateway=gateway)
        paced.release(await paced.acquire())
        paced.close()

    run(main())
    logger = "flinkish.spark.limits.limiter"
    assert [record.message for record in caplog.records if record.name == logger] == [
        "no permits for w: nobody there; asking again"
    ]


def test_a_ledger_that_stays_away_fails_those_who_wait() -> None:
    async def main() -> None:
        rate = Rate("100/s")
        gateway = Unreachable(PermitLedger(rate), failures=10**9)
        paced = limiter(rate, gateway=gateway, patience_ms=100)
        waiting = [asyncio.create_task(paced.acquire()) for _ in range(3)]
        for done in await asyncio.gather(*waiting, return_exceptions=True):
            assert isinstance(done, RpcTimeoutError)
            assert "scope='worker'" in str(done)
            assert isinstance(done.__cause__, ConnectionError)
        paced.close()

    run(main())


def test_a_closed_limiter_cancels_who_waits_and_takes_nobody() -> None:
    async def main() -> None:
        one = limiter(concurrency=Concurrency(1))
        await one.acquire()
        waiting = asyncio.create_task(one.acquire())
        await asyncio.sleep(0.01)
        one.close()
        one.close()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        with pytest.raises(IllegalStateError, match="acquire before close"):
            await one.acquire()

    run(main())
