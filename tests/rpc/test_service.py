"""The service: connecting, resolving, time, its end; numbers are facts of section E."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest

from flinkish.common.errors import (
    ArgumentTypeError,
    HandshakeError,
    IllegalArgumentError,
    IllegalStateError,
    RecipientUnreachableError,
    RpcConnectionError,
    RpcTimeoutError,
)
from flinkish.rpc import RpcAddress, RpcFuture, RpcGateway, RpcService
from tests.waiting import until

from .rig import (
    SOON,
    Counter,
    CounterGateway,
    FencedGateway,
    counter_of,
    service,
    started,
)

__all__ = ["service"]


class Watched(dict[str, Any]):
    """Counts the names that are looked through."""

    looked_at = 0

    def __iter__(self) -> Iterator[str]:
        for name in super().__iter__():
            self.looked_at += 1
            yield name

    def items(self) -> Any:
        raise AssertionError("all names are looked through")


def test_connecting_costs_the_same_among_many(service: RpcService) -> None:
    for n in range(100):
        Counter(service, f"counter-{n}")
    names = service._inboxes = Watched(service._inboxes)
    for n in range(100):
        service.connect(f"flinkish://test/user/rpc/counter-{n}", CounterGateway).result(SOON)
    assert names.looked_at == 0
    error = service.connect("flinkish://test/user/rpc/counter", CounterGateway).exception(SOON)
    assert "has counter-0, counter-1" in str(error)
    assert "and 92 more" in str(error)
    assert names.looked_at == 8
    service._inboxes = dict(names)


def test_connecting_to_nobody(service: RpcService) -> None:
    """E.24."""
    started(service)
    with pytest.raises(RpcConnectionError, match="no such endpoint; service 'test' has counter"):
        service.connect("flinkish://test/user/rpc/nobody", CounterGateway).result(SOON)
    with pytest.raises(RpcConnectionError):
        service.connect("flinkish://other/user/rpc/counter", CounterGateway).result(SOON)
    with pytest.raises(IllegalArgumentError, match="is no address"):
        service.connect("http://test/counter", CounterGateway)
    anything: Any = Counter
    for kind in (int, anything, RpcGateway.__class__):
        if kind is not anything:
            with pytest.raises(ArgumentTypeError, match="subclass of RpcGateway"):
                service.connect("flinkish://test/user/rpc/counter", kind)


def test_connecting_by_a_gateway_that_is_not_offered(service: RpcService) -> None:
    """E.24."""
    counter, gateway = started(service)
    with pytest.raises(HandshakeError, match="offers CounterGateway"):
        service.connect(counter.address, FencedGateway).result(SOON)
    with pytest.raises(ArgumentTypeError, match="gateway itself"):
        service.connect(counter.address, type(gateway))


def test_a_pattern_finds_the_one_that_runs(service: RpcService) -> None:
    """E.9."""
    for name in ("master_0", "master_1", "master_2"):
        Counter(service, name)
    running, gateway = started(service, "master_9")
    gateway.value()
    address = "flinkish://test/user/rpc/master_*"
    assert service.connect(address, CounterGateway).result(SOON).address == running.address
    for path in (address, "/user/rpc/master_?", "master_*", "master_9"):
        assert service.resolve_one(path).result(SOON) == running.address
    with pytest.raises(RpcConnectionError):
        service.resolve_one("nothing_*").result(SOON)


@pytest.mark.parametrize(
    "text",
    [
        "flinkish://app/user/rpc/counter",
        "flinkish.tcp://app@10.0.0.1:6123/user/rpc/job_*",
        "flinkish.tcp://app@[::1]:1/user/rpc/x",
        "flinkish.tcp://app@host.example:65535/user/rpc/a-b.c$1",
    ],
)
def test_addresses(text: str) -> None:
    assert str(RpcAddress.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "counter",
        "flinkish://app/counter",
        "flinkish://app@host/user/rpc/x",
        "flinkish.tcp://app@host/user/rpc/x",
        "flinkish.tcp://app@host:0/user/rpc/x",
        "flinkish.tcp://app@host:70000/user/rpc/x",
        "flinkish.tcp://host:1/user/rpc/x",
        "flinkish://app/user/rpc/a/b",
        "flinkish://app/user/rpc/",
    ],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(IllegalArgumentError):
        RpcAddress.parse(text)


def test_closing_ends_every_endpoint() -> None:
    """E.27."""
    service = RpcService("ending")
    counters = [started(service, f"c{i}")[0] for i in range(5)]
    counters[2].stopping = waiting = RpcFuture()
    gateway = counter_of(service, counters[0])
    assert gateway.value() == 0
    closed = service.close_async()
    assert closed is service.close_async()
    assert not closed.done()
    waiting.set_result(None)
    assert closed.result(SOON) is None
    assert all(counter.events == ["start", "stop"] for counter in counters)
    for use in (
        lambda: Counter(service, "late"),
        lambda: service.connect(counters[0].address, CounterGateway),
        lambda: service.resolve_one("c0"),
    ):
        with pytest.raises(IllegalStateError, match="RpcService is stopped"):
            use()
    assert isinstance(gateway.add(1).exception(SOON), RecipientUnreachableError)


def test_one_that_does_not_stop_well_does_not_keep_the_rest() -> None:
    """E.27."""

    class Broken(Counter):
        def on_stop(self) -> Any:
            raise OSError("no")

    service = RpcService("ending")
    broken = Broken(service, "broken")
    broken.start()
    others = [started(service, f"c{i}")[0] for i in range(5)]
    assert isinstance(service.close_async().exception(SOON), OSError)
    assert all(other.termination_future.exception(SOON) is None for other in others)


def test_asks_that_nobody_answered_end_with_the_service() -> None:
    service = RpcService("ending")
    _, gateway = started(service)
    never = gateway.never()
    gateway.value()
    service.close_async().result(SOON)
    assert isinstance(never.exception(SOON), RecipientUnreachableError)
    assert service.statistics().pending_asks == 0


def test_the_scheduled_executor(service: RpcService, caplog: pytest.LogCaptureFixture) -> None:
    """E.28."""
    executor = service.scheduled_executor
    before = time.monotonic()
    assert executor.schedule(lambda: 7, 20).result(SOON) == 7
    assert time.monotonic() - before >= 0.02
    ran = threading.Event()
    executor.execute(ran.set)
    assert ran.wait(SOON)
    error = executor.schedule(lambda: 1 // 0, 0).exception(SOON)
    assert isinstance(error, ZeroDivisionError)
    assert executor.schedule(lambda: 1, "1 hour").cancel()
    counts = {"rate": 0, "delay": 0}

    def count(which: str) -> None:
        counts[which] += 1
        raise ValueError("goes on")

    with caplog.at_level(logging.CRITICAL, "flinkish.rpc"):
        rate = executor.schedule_at_fixed_rate(lambda: count("rate"), 1, 1)
        delay = executor.schedule_with_fixed_delay(lambda: count("delay"), 1, 1)
        until(lambda: min(counts.values()) >= 3)
        assert not rate.done()
        assert not delay.done()
        assert rate.cancel()
        assert delay.cancel()
        after = dict(counts)
        time.sleep(0.05)
    for which, runs in after.items():
        assert runs <= counts[which] <= runs + 1, "one may have been under way"
    for wrong in (-1, "soon"):
        with pytest.raises(IllegalArgumentError):
            executor.schedule(lambda: 1, wrong)


def test_a_scheduled_function_that_blocks_holds_up_nothing_else(service: RpcService) -> None:
    counter, gateway = started(service)
    executor, let_go = service.scheduled_executor, threading.Event()
    stuck = [executor.schedule(lambda: let_go.wait(SOON), 0) for _ in range(3)]
    periodic = executor.schedule_at_fixed_rate(lambda: let_go.wait(SOON), 0, 1)
    pausing = executor.schedule_with_fixed_delay(lambda: let_go.wait(SOON), 0, 1)
    try:
        until(lambda: all(one.running() for one in stuck))
        assert executor.schedule(lambda: 7, 1).result(SOON) == 7
        assert counter.main_thread_executor.schedule(lambda: 8, 1).result(SOON) == 8
        assert isinstance(gateway.with_timeout(1).never().exception(SOON), RpcTimeoutError)
    finally:
        let_go.set()
        assert periodic.cancel()
        assert pausing.cancel()
    assert all(one.result(SOON) for one in stuck)


def test_a_periodic_function_never_runs_beside_itself(service: RpcService) -> None:
    inside = threading.Lock()
    runs = {"rate": 0, "delay": 0}
    overlaps: list[str] = []

    def run(which: str, lock: threading.Lock) -> None:
        if not lock.acquire(blocking=False):
            overlaps.append(which)
            return
        time.sleep(0.005)  # longer than the period
        runs[which] += 1
        lock.release()

    executor = service.scheduled_executor
    futures = [
        executor.schedule_at_fixed_rate(lambda: run("rate", inside), 0, 1),
        executor.schedule_with_fixed_delay(partial(run, "delay", threading.Lock()), 0, 1),
    ]
    until(lambda: min(runs.values()) >= 5)
    assert all(future.cancel() for future in futures)
    assert not overlaps


def test_dead_letters_are_counted_and_the_last_are_kept(service: RpcService) -> None:
    counter = Counter(service)
    gateway = counter_of(service, counter)
    for i in range(300):
        gateway.note(i)
    until(lambda: len(service.dead_letters) == 300)
    kept = service.dead_letters.list()
    assert len(kept) == 256
    assert kept[-1].endpoint == "counter"
    assert kept[-1].method == "note"
    assert "EndpointNotStartedError" in kept[-1].reason
    assert service.statistics().dead_letters == service.dead_letters.count == 300


def test_statistics(service: RpcService) -> None:
    _, gateway = started(service)
    never: Any = gateway.never()
    assert [gateway.add(1).result(SOON) for _ in range(10)][-1] == 10
    statistics = service.statistics()
    assert statistics.endpoints == 1
    assert statistics.pending_asks >= 1
    never.cancel()
    until(lambda: service.statistics().pending_asks == 0)
    until(lambda: service.statistics().letters == 12)
    assert 1 <= service.statistics().turns <= 12
    assert "test" in repr(service)


def test_arguments_are_checked() -> None:
    for wrong in ("a b", "", 7, "a/b"):
        with pytest.raises(IllegalArgumentError, match="name of a service"):
            RpcService(wrong)  # type: ignore[arg-type]
    with pytest.raises(IllegalArgumentError, match="dispatcher_threads"):
        RpcService("x", dispatcher_threads=0)
    with pytest.raises(IllegalArgumentError, match="mails_per_turn"):
        RpcService("x", mails_per_turn=True)
    with pytest.raises(IllegalArgumentError):
        RpcService("x", ask_timeout=0)


def test_it_starts_no_thread_before_it_is_used() -> None:
    before = {*threading.enumerate()}
    service = RpcService("idle")
    assert before.issuperset(threading.enumerate())
    service.close()


def test_an_unclosed_service_is_collected() -> None:
    import gc
    import weakref

    class Named(RpcService):
        pass

    ref = weakref.ref(Named("dropped"))
    gc.collect()
    assert ref() is None


def test_errors_of_futures_given_by_endpoints(service: RpcService) -> None:
    class Later(Counter):
        def add(self, n: int) -> Any:
            future: Future[int] = Future()
            threading.Timer(0.005, lambda: future.set_exception(ValueError("late"))).start()
            return future

        def nothing(self) -> Any:
            future: Future[int] = Future()
            threading.Timer(0.005, lambda: future.set_result(3)).start()
            return future

    later = Later(service, "later")
    later.start()
    gateway = counter_of(service, later)
    assert isinstance(gateway.add(1).exception(SOON), ValueError)
    assert gateway.nothing().result(SOON) == 3
