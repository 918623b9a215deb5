"""Threads that wait for one connection read it themselves; R1-R6 of ``reading.pxd``."""

from __future__ import annotations

import itertools
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from types import SimpleNamespace
from typing import Any

import pytest

from flinkish.common.errors import ConnectionLostError, RpcTimeoutError
from flinkish.rpc import RpcEndpoint, RpcGateway, RpcService, TlsConfig
from tests.racing import meanwhile, switched_every, together
from tests.waiting import until

from .rig import SECRET, SOON, CounterGateway, client, far, server, started

__all__ = ["client", "server"]


def loans(service: RpcService) -> int:
    return sum(connection.reading.loans for connection in service.transport().connections())


def lends(service: RpcService, before: int, seconds: float) -> bool:
    """Whether a thread that waits reads within so long, and not the I/O thread just then."""
    deadline = time.monotonic() + seconds
    while loans(service) <= before:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True


def until_lent(service: RpcService, act: Callable[[], object]) -> None:
    """Do it until a thread that waited read: the I/O thread may be reading just then instead."""
    before = loans(service)

    def has_lent() -> bool:
        act()
        return loans(service) > before

    until(has_lent)


def calm(service: RpcService, gateway: CounterGateway) -> None:
    """Return when an ask was read by its asker: then the I/O thread is not just reading."""
    until_lent(service, lambda: gateway.echo(0).result(SOON))


def lent(service: RpcService, gateway: CounterGateway) -> tuple[Any, list[BaseException | None]]:
    """An ask without an answer whose waiting thread reads, and where that thread puts its end.

    Who finds the I/O thread reading just then sleeps instead: it is called off, and another asks.
    """
    for _ in range(60):
        calm(service, gateway)
        before = loans(service)
        asked: Any = gateway.never()
        ends: list[BaseException | None] = []

        def wait(asked: Any = asked, ends: list[BaseException | None] = ends) -> None:
            try:
                ends.append(asked.exception(SOON))
            except CancelledError as error:
                ends.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        if lends(service, before, 2):
            return asked, ends
        asked.cancel()
        thread.join(SOON)
    pytest.fail("no thread that waited read")


def test_lone_asks_borrow_on_both_sides(server: RpcService, client: RpcService) -> None:
    counter, gateway = far(server, client)
    for n in range(1, 201):
        assert gateway.add(1).result(SOON) == n
    assert gateway.value() == 200
    assert loans(client) <= 201
    for side in (client, server):
        until_lent(side, lambda: gateway.echo(0).result(SOON))
    large = bytes(300_000)
    for _ in range(20):
        assert gateway.echo(large).result(SOON) == large
    error = gateway.fail("text").exception(SOON)
    assert isinstance(error, KeyError)
    assert counter.total == 200


def test_many_asks_leave_it_to_the_thread_that_reads_for_all(
    server: RpcService, client: RpcService
) -> None:
    _, gateway = far(server, client)
    before = loans(client)
    for _ in range(10):
        futures = [gateway.add(1) for _ in range(500)]
        for future in futures:
            future.result(SOON)
    assert loans(client) - before <= 20, "for the last of each round at most"


def test_what_is_encrypted_is_not_lent() -> None:
    tls = TlsConfig.ephemeral()
    options: dict[str, Any] = {"secret": SECRET, "tls": tls, "unix_sockets": False}
    with (
        RpcService("server", host="127.0.0.1", **options) as server,
        RpcService("client", **options) as client,
    ):
        _, gateway = far(server, client)
        assert [gateway.add(1).result(SOON) for _ in range(3)] == [1, 2, 3]
        assert loans(client) == loans(server) == 0


def test_a_reader_hears_that_its_ask_was_cancelled(server: RpcService, client: RpcService) -> None:
    _, gateway = far(server, client)
    for _ in range(50):
        asked, ends = lent(client, gateway)
        assert asked.cancel()
        until(lambda ends=ends: ends)  # type: ignore[misc]
        assert isinstance(ends[0], CancelledError)
    assert gateway.add(1).result(SOON) == 1


def test_a_reader_hears_that_its_time_is_over(server: RpcService, client: RpcService) -> None:
    _, gateway = far(server, client)

    def answered_too_late() -> None:
        with pytest.raises(RpcTimeoutError):
            gateway.never_in(20).result(SOON)

    def not_waited_for() -> None:
        with pytest.raises(TimeoutError, match="did not end"):
            gateway.never().result(0.01)

    for _ in range(5):
        until_lent(client, answered_too_late)
        until_lent(client, not_waited_for)
    assert gateway.add(1).result(SOON) == 1


def test_a_heartbeat_leaves_a_borrower_its_memory(
    server: RpcService, client: RpcService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R1: the cutter is trimmed by who reads."""
    _, gateway = far(server, client)
    calm(client, gateway)
    (connection,) = client.transport().connections()
    trims: list[str] = []

    def beat() -> int:
        done = threading.Event()

        def run() -> None:
            connection.reading.silent = 0
            with monkeypatch.context() as patch:
                patch.setattr(connection, "_cutter", SimpleNamespace(trim=lambda: trims.append("")))
                connection.beat(9, 1.0)
            done.set()

        connection._io.post(run)
        assert done.wait(SOON)
        return len(trims)

    assert beat() == 1
    _, ends = lent(client, gateway)
    assert beat() == 1
    connection.close("the test has seen enough")
    until(lambda: ends)
    assert isinstance(ends[0], ConnectionLostError)


@pytest.mark.parametrize("whose", ["ours", "theirs", "all of theirs"])
def test_a_connection_that_ends_while_it_is_read(
    server: RpcService, client: RpcService, whose: str
) -> None:
    """R4."""
    _, gateway = far(server, client)
    _, ends = lent(client, gateway)
    gateway.value()  # the ask before it has arrived, else it would be told that nobody took it
    if whose == "all of theirs":
        server.close()
    else:
        for connection in (client if whose == "ours" else server).transport().connections():
            connection.close("the test has seen enough")
    until(lambda: ends)
    assert isinstance(ends[0], ConnectionLostError)
    until(lambda: not client.transport().connections())
    if whose != "all of theirs":
        assert "the test has seen enough" in str(ends[0])
        until(lambda: gateway.add(1).exception(SOON) is None)


class Alarm(BaseException):
    """What a signal handler raises; if it were KeyboardInterrupt, pytest would end."""


def test_a_signal_interrupts_a_reader(server: RpcService, client: RpcService) -> None:
    """R7."""
    _, gateway = far(server, client)
    myself = threading.get_ident()

    def alarm(*_: object) -> None:
        raise Alarm

    def ring(before: int) -> None:
        lends(client, before, 1)
        signal.pthread_kill(myself, signal.SIGALRM)  # this thread reads, or else sleeps

    def interrupted() -> None:
        asked: Any = gateway.never()
        ringer = threading.Thread(target=ring, args=(loans(client),))

        def wait() -> None:
            ringer.start()
            asked.result(SOON)

        with pytest.raises(Alarm):
            wait()
        ringer.join(SOON)
        assert asked.cancel()

    calm(client, gateway)
    handler = signal.signal(signal.SIGALRM, alarm)
    try:
        until_lent(client, interrupted)
    finally:
        signal.signal(signal.SIGALRM, handler)
    assert gateway.add(1).result(SOON) == 1


class PairGateway(RpcGateway):
    def first(self) -> Future[str]: ...

    def second(self) -> Future[str]: ...

    def through(self, address: str) -> Future[int]: ...


class Pair(RpcEndpoint, PairGateway):
    """Answers the first ask before the second; asks callers back."""

    def __init__(self, service: RpcService) -> None:
        super().__init__(service, "pair", own_thread=True)
        self.waiting: Future[str] = Future()

    def first(self) -> Any:
        return self.waiting

    def second(self) -> Any:
        self.waiting.set_result("first")
        self.waiting = Future()
        return "second"

    def through(self, address: str) -> Any:
        return self.service.connect(address, CounterGateway).result(SOON).value() + 1


def test_callbacks_run_elsewhere(server: RpcService, client: RpcService) -> None:
    """R3: whoever reads runs nobody's code."""
    Pair(server).start()
    pair = client.connect(server.address_of("pair"), PairGateway).result(SOON)

    def ask() -> None:
        first: Any = pair.first()
        ran: list[tuple[str, Any]] = []
        for _ in range(2):
            first.add_done_callback(
                lambda first: ran.append((threading.current_thread().name, first.result()))
            )
        assert pair.second().result(SOON) == "second"
        until(lambda: len(ran) == 2)
        assert [result for _, result in ran] == ["first"] * 2
        assert all(name.startswith("flinkish-rpc-callbacks") for name, _ in ran)

    for _ in range(50):
        until_lent(client, ask)


def test_who_is_asked_back_answers_while_it_waits(server: RpcService, client: RpcService) -> None:
    """The asker reads the call that its own ask causes."""
    Pair(server).start()
    started(client, "ours")
    pair = client.connect(server.address_of("pair"), PairGateway).result(SOON)

    def ask() -> None:
        assert pair.through("flinkish://client/user/rpc/ours").result(SOON) == 1

    for _ in range(50):
        until_lent(client, ask)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_worker_that_reads_is_there_for_others(client: RpcService, threads: int) -> None:
    """Local calls find it while it waits for a connection, and so does the end."""
    with RpcService(
        "server", host="127.0.0.1", secret=SECRET, dispatcher_threads=threads
    ) as server:
        _, gateway = far(server, client)
        _, near = started(server, "near")
        numbers = itertools.count(1)

        def ask() -> None:
            n = next(numbers)
            assert gateway.add(1).result(SOON) == n
            assert near.add(1).result(SOON) == n
            assert near.value() == n

        for _ in range(100):
            until_lent(server, ask)


@pytest.mark.stress
def test_askers_of_one_connection_race(server: RpcService, client: RpcService) -> None:
    """R1: every answer comes to its asker, whoever reads, waits, gives up or is called back."""
    counter, gateway = far(server, client)
    impatient: Any = gateway
    totals: list[int] = []

    def ask() -> None:
        for n in range(300):
            if n % 7 == 0:
                gateway.never().cancel()
            if n % 11 == 0:
                with pytest.raises(RpcTimeoutError):
                    impatient.with_timeout(1).never().result(SOON)
            if n % 5 == 0:
                gateway.note(n)
            totals.append(gateway.add(1).result(SOON))
            assert gateway.echo(n).result(SOON) == n

    def race() -> None:
        with switched_every(1e-5):
            together(*[ask] * 3)

    until_lent(client, race)
    assert sorted(totals) == list(range(1, len(totals) + 1))
    until(lambda: len(counter.noted) == len(totals) // 5)


@pytest.mark.stress
def test_loans_and_losses_race(server: RpcService, client: RpcService) -> None:
    """R4: connections end under asks all the time; none hangs, and none gets another's answer."""
    _, gateway = far(server, client)

    def ask() -> None:
        for n in range(400):
            answer: Any = gateway.echo(n)
            try:
                assert answer.result(SOON) == n
            except ConnectionLostError:
                continue

    def cut() -> None:
        time.sleep(0.003)
        for connection in client.transport().connections():
            connection.close("cut")

    with meanwhile(cut, threads=1):
        together(ask, ask)
    until(lambda: gateway.add(0).exception(SOON) is None)
