"""Every ask ends once, and no callback keeps others from their answers."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from flinkish.common.errors import (
    DeadlockError,
    RecipientUnreachableError,
    RpcTimeoutError,
)
from flinkish.rpc import (
    Opaque,
    RpcEndpoint,
    RpcFuture,
    RpcGateway,
    RpcService,
    register_codec,
)
from flinkish.rpc.callbacks import CALLBACKS
from flinkish.rpc.io_thread import IoThread
from tests.waiting import PATIENCE, until

from .rig import (
    SOON,
    Counter,
    client,
    counter_of,
    far,
    main_thread,
    server,
    service,
    started,
)

__all__ = ["client", "server", "service"]


# --- asks whose answers are yet to come when their endpoint ends


@pytest.mark.parametrize("where", ["local", "remote"])
def test_pending_answers_fail_when_their_endpoint_ends(
    server: RpcService, client: RpcService, where: str
) -> None:
    """E.23: immediately."""
    counter, near = started(server)
    gateway = client.connect(counter.address, type(near).__mro__[2]).result(SOON)
    gateway = near if where == "local" else gateway
    asked: list[Any] = [gateway.never() for _ in range(10)]  # type: ignore[attr-defined]
    assert gateway.value() == 0  # type: ignore[attr-defined]
    counter.close_async().result(SOON)
    for future in asked:
        error = future.exception(SOON)
        assert isinstance(error, RecipientUnreachableError)
        assert "has ended before the future did" in str(error)


def test_an_end_and_an_answer_at_once_are_one_answer(service: RpcService) -> None:
    class Slow(Counter):
        def never(self) -> Any:
            self.kept += 1
            answers.append(RpcFuture())
            return answers[-1]

    for n in range(100):
        answers: list[RpcFuture[int]] = []
        slow = Slow(service, f"slow-{n}")
        slow.start()
        gateway = counter_of(service, slow)
        asked = [gateway.never() for _ in range(20)]
        assert gateway.value() == 0
        together = threading.Barrier(2)

        def answer(answers: list[RpcFuture[int]] = answers) -> None:
            together.wait()  # noqa: B023
            for i, future in enumerate(answers):
                future.set_result(i)

        thread = threading.Thread(target=answer)
        thread.start()
        together.wait()
        slow.close_async().result(SOON)
        thread.join(SOON)
        for i, future in enumerate(asked):
            error = future.exception(SOON)
            assert isinstance(error, RecipientUnreachableError) or future.result() == i


def test_given_up_answers_are_forgotten(service: RpcService) -> None:
    counter, gateway = started(service)
    for _ in range(20):
        asked: list[Any] = [gateway.never() for _ in range(1_000)]
        assert gateway.value() == 0
        for future in asked:
            future.cancel()
    assert counter._inbox.pending_calls <= 3_000


# --- callbacks


def test_a_callback_of_a_remote_future_may_ask(server: RpcService, client: RpcService) -> None:
    counter, gateway = far(server, client)
    found: Future[tuple[int, str]] = Future()

    def go_on(_: object) -> None:
        value = gateway.value() + counter_of(client, counter).value()  # connects, and asks twice
        found.set_result((value, threading.current_thread().name))

    held = threading.Event()
    counter.run_async(lambda: held.wait(SOON))
    gateway.add(1).add_done_callback(go_on)
    held.set()
    value, thread = found.result(SOON)
    assert value == 2
    assert thread.startswith("flinkish-rpc-callbacks")


def test_a_callback_may_wait_for_another_one(server: RpcService, client: RpcService) -> None:
    """C2 of callbacks.py."""
    counter, gateway = far(server, client)
    link: RpcFuture[int] = RpcFuture()
    found: Future[int] = Future()
    held = threading.Event()
    counter.run_async(lambda: held.wait(SOON))
    gateway.add(1).add_done_callback(lambda _: found.set_result(link.result(SOON)))
    gateway.add(2).add_done_callback(lambda _: link.set_result(7))
    held.set()
    assert found.result(SOON) == 7


def test_callbacks_run_in_the_order_of_answers(server: RpcService, client: RpcService) -> None:
    counter, gateway = far(server, client)
    order: list[int] = []
    held = threading.Event()
    counter.run_async(lambda: held.wait(SOON))
    asked = [gateway.add(1) for _ in range(500)]
    for n, future in enumerate(asked):
        future.add_done_callback(lambda _, n=n: order.append(n))  # type: ignore[misc]
    held.set()
    until(lambda: len(order) == 500)
    assert order == list(range(500))


def test_a_blocked_callback_holds_up_no_answer_and_no_time_limit(
    server: RpcService, client: RpcService
) -> None:
    _, gateway = far(server, client)
    held, entered = threading.Event(), threading.Event()

    def block(_: object) -> None:
        entered.set()
        held.wait(SOON)

    hasty: Any = gateway
    late = hasty.with_timeout(1).never()
    late.add_done_callback(block)
    assert isinstance(late.exception(SOON), RpcTimeoutError)
    assert entered.wait(SOON)
    assert isinstance(hasty.with_timeout(1).never().exception(SOON), RpcTimeoutError)
    assert gateway.add(1).result(SOON) == 1

    async def awaits() -> int:
        return await gateway.add(1)  # needs no thread for callbacks

    assert asyncio.run(awaits()) == 2
    held.set()


@pytest.mark.parametrize("where", ["local", "remote"])
def test_a_time_limit_ends_on_the_timer_thread_itself(
    server: RpcService, client: RpcService, where: str
) -> None:
    """The thread that would end it is the one that waits."""
    _, far_one = far(server, client)
    service = server if where == "local" else client
    gateway: Any = far_one if where == "remote" else counter_of(server, far_one)
    hasty = gateway.with_timeout(1)
    late: Future[BaseException | None] = Future()
    service.timers.register_timer(0, lambda _: late.set_result(hasty.never().exception()))
    assert isinstance(late.result(SOON), RpcTimeoutError)


class Parcel:
    """Of a class with a codec of the user."""


@dataclass
class Checked:
    """A record that checks itself when it is made."""

    number: int

    def __post_init__(self) -> None:
        if self.number:
            unpacked(self.number)


unpacking: list[str] = []  # threads
let_go = threading.Event()


def unpacked(number: int) -> None:
    unpacking.append(threading.current_thread().name)
    assert let_go.wait(SOON)
    if number < 0:
        raise ValueError("no such number")


def parcel_of(data: bytes) -> Parcel:
    unpacked(1)
    return Parcel()


register_codec(Parcel, lambda parcel: b"", parcel_of)


class Post(RpcGateway):
    def parcel(self) -> Future[Annotated[Parcel, Opaque]]: ...
    def checked(self, number: int) -> Future[list[Checked]]: ...
    def number(self) -> Future[int]: ...


class PostOffice(RpcEndpoint, Post):
    def parcel(self) -> Any:
        return Parcel()

    def checked(self, number: int) -> Any:
        made = Checked(0)
        made.number = number
        return [made]

    def number(self) -> Any:
        return 7


@pytest.mark.parametrize("waits", [True, False])
def test_decoders_of_users_run_on_no_thread_that_others_depend_on(
    server: RpcService, client: RpcService, waits: bool
) -> None:
    """Nor on that of an ask that reads the socket itself, as one that waits does."""
    unpacking.clear()
    let_go.clear()
    office = PostOffice(server, "post")
    office.start()
    gateway: Any = client.connect(office.address, Post).result(SOON)
    held = [gateway.parcel(), gateway.checked(1), gateway.checked(-1)]
    try:
        if waits:
            until(lambda: unpacking)
        assert gateway.number().result(SOON) == 7
        until(lambda: len(unpacking) == 3)  # nor does one of them wait for another
    finally:
        let_go.set()
    assert isinstance(held[0].result(SOON), Parcel)
    assert held[1].result(SOON) == [Checked(1)]
    assert "no such number" in str(held[2].exception(SOON))
    assert sorted(unpacking) == ["MainThread", *["flinkish-rpc-functions"] * 3]


def test_the_io_thread_never_waits(server: RpcService, client: RpcService) -> None:
    _, gateway = far(server, client)
    found: Future[BaseException | None] = Future()

    def wait() -> None:
        try:
            gateway.value()
        except BaseException as error:
            found.set_result(error)
        else:
            found.set_result(None)

    assert IoThread._current is not None
    IoThread._current.post(wait)
    assert isinstance(found.result(SOON), DeadlockError)


def test_callbacks_of_futures_that_are_ended_by_a_loss(
    server: RpcService, client: RpcService
) -> None:
    _, gateway = far(server, client)
    names: list[str] = []
    nobody = client.connect("flinkish.tcp://x@127.0.0.1:1/user/rpc/x", RpcGateway)
    for future in (gateway.never(), nobody):
        future.add_done_callback(lambda _: names.append(threading.current_thread().name))  # type: ignore[attr-defined]
    assert gateway.value() == 0
    server.close()
    until(lambda: len(names) == 2)
    assert not any(name.startswith("flinkish-rpc-io") for name in names)


def test_a_connection_that_nobody_wants_any_more(
    server: RpcService, client: RpcService, caplog: pytest.LogCaptureFixture
) -> None:
    counter, _ = far(server, client)
    with caplog.at_level(logging.WARNING):
        for _ in range(50):
            client.connect(counter.address, RpcGateway).cancel()
            client.resolve_one(counter.address).cancel()
        assert client.resolve_one(counter.address).result(SOON) == counter.address
    assert not caplog.records


def test_nobody_can_cancel_an_end_for_others(service: RpcService) -> None:
    counter, _ = started(service)
    held = threading.Event()
    counter.run_async(lambda: held.wait(SOON))

    async def hurry() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(_awaited(counter.close_async()), 0.01)

    asyncio.run(hurry())
    held.set()
    counter.termination_future.result(SOON)
    assert not service.is_closed


async def _awaited(future: Any) -> Any:
    return await future


def test_without_a_thread_for_callbacks_the_next_one_tries_again(
    server: RpcService, client: RpcService, monkeypatch: pytest.MonkeyPatch
) -> None:
    until(lambda: not CALLBACKS._free)
    start, refused = threading.Thread.start, []

    def refuses(thread: threading.Thread) -> None:
        if not refused and thread.name.startswith("flinkish-rpc-callbacks"):
            refused.append(thread)
            raise RuntimeError("can't start new thread")
        start(thread)

    counter, gateway = far(server, client)
    called: list[int] = []
    monkeypatch.setattr(threading.Thread, "start", refuses)
    for n in range(2):
        held = threading.Event()
        counter.run_async(lambda held=held: held.wait(PATIENCE))  # type: ignore[misc]
        future = gateway.add(1)
        future.add_done_callback(lambda _, n=n: called.append(n))  # type: ignore[misc]
        held.set()
        future.result(SOON)
        until(lambda: bool(refused))
    until(lambda: called == [0, 1])


def test_a_wait_for_which_no_thread_can_be_had(
    service: RpcService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I9: the queue has as many workers as before."""
    alone = RpcService("alone", dispatcher_threads=1)
    one, to_one = started(alone, "one")
    _, to_two = started(alone, "two")
    main_thread(one, int)

    def refuses(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuses)
        for _ in range(3):
            error = one.call_async(to_two.value, SOON * 1000).exception(SOON)
            assert "can't start new thread" in str(error)
    for _ in range(3):
        assert main_thread(one, to_two.value) == 0, "a spare thread takes its place again"
    assert to_one.value() == 0
    alone.close()
