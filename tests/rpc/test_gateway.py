"""Gateways: kinds of calls, arguments, results; numbers are facts of section E."""

from __future__ import annotations

import asyncio
import itertools
import threading
from concurrent.futures import CancelledError, Future
from typing import Any

import pytest

from flinkish.common.errors import (
    DeadlockError,
    FencingTokenError,
    IllegalArgumentError,
    RpcError,
    RpcTimeoutError,
    SerializationError,
    UnknownMessageError,
    UnsupportedOperationError,
)
from flinkish.rpc import RpcEndpoint, RpcFuture, RpcGateway, RpcService

from .rig import (
    SOON,
    Counter,
    CounterGateway,
    Fenced,
    FencedGateway,
    Keeper,
    LocalGateway,
    counter_of,
    either,
    main_thread,
    service,
    started,
)

__all__ = ["either", "service"]


def test_three_kinds_of_calls(either: RpcService) -> None:
    """E.15."""
    counter, gateway = started(either)
    assert gateway.note(4) is None  # type: ignore[func-returns-value]
    asked = gateway.add(n=3)
    assert isinstance(asked, RpcFuture)
    assert asked.result(SOON) == 3
    assert gateway.value() == 3
    assert counter.noted == [4]


def test_a_blocking_ask_wraps_its_failure(either: RpcService) -> None:
    """E.15."""
    _, gateway = started(either)
    with pytest.raises(RpcError, match="Failure while obtaining synchronous RPC result") as caught:
        gateway.fail_at_once()
    assert isinstance(caught.value.__cause__, LookupError)


def test_errors_keep_type_and_message(either: RpcService) -> None:
    """E.16."""
    _, gateway = started(either)
    error = gateway.fail("what").exception(SOON)
    assert isinstance(error, KeyError)
    assert error.args == ("what",)


def test_none_is_a_result(either: RpcService) -> None:
    """E.17."""
    _, gateway = started(either)
    assert gateway.nothing().result(SOON) is None
    assert gateway.maybe(0).result(SOON) is None
    assert gateway.maybe(4).result(SOON) == 4
    assert gateway.echo(None).result(SOON) is None


def test_local_calls_pass_references(service: RpcService) -> None:
    """E.18."""
    _, gateway = started(service)
    thing = object()
    assert gateway.echo(thing).result(SOON) is thing


def test_forced_serialization_copies(caplog: pytest.LogCaptureFixture) -> None:
    """E.18, E.19, E.20: what cannot travel is refused as if the endpoint were remote."""
    with RpcService("bytes", force_serialization=True) as service:
        _, gateway = started(service)
        sent = [1, "two", {"three": 3.0}]
        back = gateway.echo(sent).result(SOON)
        assert back == sent
        assert back is not sent
        with pytest.raises(SerializationError, match=r"CounterGateway\.echo cannot be sent"):
            gateway.echo(object())

        class Odd(Counter):
            def echo(self, thing: Any) -> Any:
                return object()

            def add(self, n: int) -> Any:
                return "text, not a number"

        odd = Odd(service, "odd")
        odd.start()
        unsent = counter_of(service, odd).echo(1).exception(SOON)
        assert isinstance(unsent, RpcError)
        assert "Failed to serialize the result" in str(unsent)
        unread = counter_of(service, odd).add(1).exception(SOON)  # E.21
        assert isinstance(unread, RpcError)
        assert "Could not deserialize the result" in str(unread)
        wrong: Any = "seven"
        with pytest.raises(SerializationError, match=r"parameter 'n' is 'seven' .str.: Expected"):
            gateway.add(wrong)


def test_local_methods_are_never_serialized() -> None:
    """E.18."""
    with RpcService("bytes", force_serialization=True) as service:
        keeper = Keeper(service, "keeper")
        keeper.start()
        thing = threading.Event()
        gateway = service.connect(keeper.address, LocalGateway).result(SOON)
        assert gateway.keep(thing).result(SOON) is thing


def test_time_limits(service: RpcService) -> None:
    """E.22."""
    _, gateway = started(service)
    impatient: Any = gateway
    error = impatient.with_timeout(15).never().exception(SOON)
    assert isinstance(error, RpcTimeoutError)
    assert isinstance(error, TimeoutError)
    assert "Invocation of [never] at recipient [flinkish://test/user/rpc/counter]" in str(error)
    assert (error.method, error.timeout_ms) == ("never", 15)
    assert gateway.never_in().exception(SOON).timeout_ms == 20  # type: ignore[union-attr]
    assert gateway.never_in(5).exception(SOON).timeout_ms == 5  # type: ignore[union-attr]
    limited: Any = "30 milliseconds"
    assert gateway.never_in(limited).exception(SOON).timeout_ms == 30  # type: ignore[union-attr]
    assert service.statistics().expired_asks == 4


def test_the_limit_of_the_service() -> None:
    with RpcService("hasty", ask_timeout=10, capture_call_sites=True) as service:
        _, gateway = started(service)
        error = gateway.never().exception(SOON)
        assert isinstance(error, RpcTimeoutError)
        assert "test_the_limit_of_the_service" in error.__notes__[0]  # E.22: the call site


def test_answers_come_before_the_limit(service: RpcService) -> None:
    _, gateway = started(service)
    futures = [gateway.add(1) for _ in range(5_000)]
    assert [future.result(SOON) for future in futures] == list(range(1, 5_001))
    assert service.statistics().expired_asks == 0


def test_a_blocking_ask_to_oneself_is_refused(service: RpcService) -> None:
    counter, gateway = started(service)
    with pytest.raises(DeadlockError, match="that only this thread can give"):
        main_thread(counter, gateway.value)
    with pytest.raises(DeadlockError):
        main_thread(counter, lambda: gateway.add(1).result())
    assert gateway.add(0).result(SOON) == 1  # the ask itself arrived


def test_waiting_in_the_main_thread_for_a_function_of_ones_own(service: RpcService) -> None:
    counter, _ = started(service)
    other, _ = started(service, "other")
    for wait in (
        lambda: counter.call_async(int, SOON * 1000).result(),
        lambda: counter.main_thread_executor.submit(int).result(),
        lambda: counter.schedule_run_async(int, 1).result(),
    ):
        with pytest.raises(DeadlockError, match="a function"):
            main_thread(counter, wait)
    assert main_thread(counter, lambda: other.call_async(lambda: 7, SOON * 1000).result()) == 7
    with RpcService("one", dispatcher_threads=1) as one:  # a spare thread runs the other one
        first, second = started(one, "first")[0], started(one, "second")[0]
        assert main_thread(first, lambda: main_thread(second, lambda: 8)) == 8


def test_two_that_wait_for_each_other_are_found() -> None:
    with RpcService("pair", dispatcher_threads=1) as service:
        first, to_first = started(service, "first")
        second, to_second = started(service, "second")
        answers: list[RpcFuture[int]] = []

        def from_first() -> None:
            answers.append(second.call_async(to_first.value, SOON * 1000))
            to_second.value()  # a spare thread runs the second one, which finds the circle

        main_thread(first, from_first)
        error = answers[0].exception(SOON)
        assert isinstance(error, DeadlockError)
        assert "neither would ever answer" in str(error)


def test_blocked_threads_are_replaced() -> None:
    """A chain of endpoints, each waiting for the next, on one thread."""

    class LinkGateway(RpcGateway):
        def depth(self) -> int: ...

    class Link(RpcEndpoint, LinkGateway):
        following: LinkGateway | None = None

        def depth(self) -> int:
            return 1 if self.following is None else 1 + self.following.depth()

    with RpcService("chain", dispatcher_threads=1) as service:
        links = [Link(service, f"link{i}") for i in range(12)]
        for link in links:
            link.start()
        for link, following in itertools.pairwise(links):
            link.following = following.get_self_gateway(LinkGateway)
        assert links[0].get_self_gateway(LinkGateway).depth() == 12


def test_fencing(either: RpcService) -> None:
    """E.26."""
    leader = Fenced(either, "token-2")
    leader.start()
    address = leader.address
    good = either.connect(address, FencedGateway, "token-2").result(SOON)
    assert good.whose().result(SOON) == "'token-2'"
    assert good.fencing_token == "token-2"
    old = either.connect(address, FencedGateway, "token-1").result(SOON)
    error = old.whose().exception(SOON)
    assert isinstance(error, FencingTokenError)
    assert "token-1" in str(error)
    assert "token-2" in str(error)
    old.note("from the past")
    none = either.connect(address, FencedGateway).result(SOON)
    assert isinstance(none.whose().exception(SOON), UnknownMessageError)
    with pytest.raises(UnsupportedOperationError, match="without a fencing token"):
        _ = none.fencing_token
    good.note("now")
    assert good.whose().result(SOON)
    assert leader.noted == ["now"]
    assert [letter.told for letter in either.dead_letters].count(True) == 1


def test_a_token_for_an_unfenced_endpoint(service: RpcService) -> None:
    """E.26."""
    counter, _ = started(service)
    gateway = service.connect(counter.address, CounterGateway, "token").result(SOON)
    assert isinstance(gateway.add(1).exception(SOON), UnknownMessageError)


def test_a_fenced_endpoint_needs_its_token(service: RpcService) -> None:
    """E.26."""
    with pytest.raises(IllegalArgumentError, match="not None"):
        Fenced(service, None)
    leader = Fenced(service, "t")
    with pytest.raises(AttributeError):
        leader.fencing_token = "u"  # type: ignore[misc]


def test_asyncio_awaits_calls(service: RpcService) -> None:
    _, gateway = started(service)

    async def use() -> list[int]:
        calls: Any = [gateway.add(1) for _ in range(100)]

        async def wait(call: Any) -> int:
            answer: int = await call
            return answer

        answers = await asyncio.gather(*map(wait, calls))
        with pytest.raises(KeyError):
            await wait(gateway.fail("x"))
        never = gateway.never()
        waiter = asyncio.ensure_future(wait(never))
        await asyncio.sleep(0)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        assert never.cancelled()
        with pytest.raises(asyncio.CancelledError):
            await wait(never)
        assert await wait(calls[0]) == 1
        return answers

    assert asyncio.run(use()) == list(range(1, 101))


def test_a_future_that_the_endpoint_cancelled(either: RpcService) -> None:
    class Fickle(Counter):
        def never(self) -> Any:
            future: Future[int] = Future()
            future.cancel()
            return future

    fickle = Fickle(either, "fickle")
    fickle.start()
    assert isinstance(counter_of(either, fickle).never().exception(SOON), CancelledError)
