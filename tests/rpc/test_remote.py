"""Calls between services that talk over sockets; numbers are facts of section E."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from flinkish.common.errors import (
    EndpointNotStartedError,
    FencingTokenError,
    FrameTooLargeError,
    HandshakeError,
    IllegalArgumentError,
    RecipientUnreachableError,
    RemoteError,
    RpcConnectionError,
    RpcError,
    RpcTimeoutError,
    SerializationError,
    UnknownMessageError,
    UnsupportedOperationError,
)
from flinkish.rpc import RpcEndpoint, RpcGateway, RpcService

from .rig import (
    SOON,
    Counter,
    CounterGateway,
    Fenced,
    FencedGateway,
    Keeper,
    LocalGateway,
    started,
    within,
)

SECRET = "a secret of the tests"


@pytest.fixture
def server() -> Iterator[RpcService]:
    service = RpcService("server", host="127.0.0.1", secret=SECRET, max_frame_size=1 << 20)
    yield service
    service.close_async().exception(SOON)


@pytest.fixture
def client() -> Iterator[RpcService]:
    service = RpcService("client", secret=SECRET, max_frame_size=1 << 20)
    yield service
    service.close_async().exception(SOON)


def far(server: RpcService, client: RpcService, **more: Any) -> tuple[Counter, CounterGateway]:
    counter, _ = started(server, **more)
    return counter, client.connect(counter.address, CounterGateway).result(SOON)


def test_calls_of_all_kinds(server: RpcService, client: RpcService) -> None:
    """E.15, E.17."""
    counter, gateway = far(server, client)
    assert counter.address == f"flinkish.tcp://server@127.0.0.1:{server.port}/user/rpc/counter"
    assert gateway.address == counter.address
    assert gateway.hostname == "127.0.0.1"
    gateway.note(4)
    assert gateway.add(3).result(SOON) == 3
    assert gateway.value() == 3
    assert counter.noted == [4]
    assert gateway.maybe(0).result(SOON) is None
    assert gateway.nothing().result(SOON) is None
    assert gateway.echo([1, "two", {"b": b"3"}]).result(SOON) == [1, "two", {"b": b"3"}]


def test_the_order_of_calls_is_kept(server: RpcService, client: RpcService) -> None:
    counter, gateway = far(server, client)
    for i in range(3_000):
        gateway.note(i)
    futures = [gateway.add(1) for _ in range(3_000)]
    assert [future.result(SOON) for future in futures] == list(range(1, 3_001))
    assert counter.noted == list(range(3_000))


def test_errors_cross(server: RpcService, client: RpcService) -> None:
    """E.16: type name, message and traceback; Python's own classes are caught as such."""
    _, gateway = far(server, client)
    error = gateway.fail("what").exception(SOON)
    assert isinstance(error, KeyError)
    assert isinstance(error, RemoteError)
    assert error.args == ("what",)
    assert str(error) == "'what'"
    assert error.type_name == "builtins.KeyError"
    assert "rig.py" in error.remote_traceback
    with pytest.raises(RpcError, match="Failure while obtaining synchronous") as caught:
        gateway.fail_at_once()
    assert isinstance(caught.value.__cause__, LookupError)


def test_a_class_that_nobody_knows_is_named(server: RpcService, client: RpcService) -> None:
    class PrivateError(Exception):
        pass

    class Odd(Counter):
        def fail(self, text: str) -> Any:
            raise PrivateError(text, object())

        def never(self) -> Any:
            raise SystemError  # no argument at all

        def add(self, n: int) -> Any:
            raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad")

    _odd = Odd(server)
    _odd.start()
    gateway = client.connect(_odd.address, CounterGateway).result(SOON)
    error = gateway.fail("x").exception(SOON)
    assert type(error) is RemoteError
    assert error.type_name.endswith("PrivateError")
    assert isinstance(gateway.never().exception(SOON), SystemError)
    assert "bad" in str(gateway.add(1).exception(SOON))


def test_arguments_that_cannot_travel(server: RpcService, client: RpcService) -> None:
    """E.19: the call itself raises."""
    _, gateway = far(server, client)
    with pytest.raises(SerializationError, match=r"CounterGateway\.echo cannot be sent"):
        gateway.echo(threading.Event())


def test_results_that_cannot_travel(server: RpcService, client: RpcService) -> None:
    """E.20, E.21."""

    class Odd(Counter):
        def echo(self, thing: Any) -> Any:
            return threading.Event()

        def add(self, n: int) -> Any:
            return "text"

    odd = Odd(server)
    odd.start()
    gateway = client.connect(odd.address, CounterGateway).result(SOON)
    error = gateway.echo(1).exception(SOON)
    assert isinstance(error, RpcError)
    assert "Failed to serialize the result" in str(error)
    error = gateway.add(1).exception(SOON)
    assert isinstance(error, RpcError)
    assert "Could not deserialize the result" in str(error)


def test_frames_have_a_limit(server: RpcService, client: RpcService) -> None:
    """E.20: requests and replies, with size, limit and option; Flink drops the former silently."""

    class Big(Counter):
        def maybe(self, n: int) -> Any:
            return n

        def echo(self, thing: Any) -> Any:
            return bytes(thing)

        def fail(self, text: str) -> Any:
            raise ValueError("x" * 5_000_000)

    big = Big(server)
    big.start()
    gateway = client.connect(big.address, CounterGateway).result(SOON)
    with pytest.raises(FrameTooLargeError, match="max_frame_size") as caught:
        gateway.echo(bytes(2_000_000))
    assert caught.value.limit == 1 << 20
    assert caught.value.size > 2_000_000
    error = gateway.echo(2_000_000).exception(SOON)
    assert isinstance(error, RpcError)
    assert "max_frame_size" in str(error)
    assert "1048576" in str(error)
    assert isinstance(gateway.fail("x").exception(SOON), ValueError)
    assert len(gateway.echo(1_000_000).result(SOON)) == 1_000_000


def test_time_limits(server: RpcService, client: RpcService) -> None:
    """E.22."""
    _, gateway = far(server, client)
    error = gateway.never_in(15).exception(SOON)
    assert isinstance(error, RpcTimeoutError)
    assert counter_address(server) in str(error)
    assert error.timeout_ms == 15
    never = gateway.never()
    assert never.cancel()
    assert client.statistics().asks_under_way == 0
    assert gateway.add(1).result(SOON) == 1


def counter_address(server: RpcService) -> str:
    return server.address_of("counter")


def test_an_endpoint_that_is_not_started(server: RpcService, client: RpcService) -> None:
    """E.1, E.24: it can be connected to."""
    counter = Counter(server)
    gateway = client.connect(counter.address, CounterGateway).result(SOON)
    error = gateway.add(1).exception(SOON)
    assert isinstance(error, EndpointNotStartedError)
    gateway.note(1)
    within(SOON, lambda: len(server.dead_letters) == 2)
    counter.start()
    assert gateway.add(1).result(SOON) == 1


def test_an_endpoint_that_has_ended(server: RpcService, client: RpcService) -> None:
    """E.23."""
    counter, gateway = far(server, client)
    counter.close_async().result(SOON)
    assert isinstance(gateway.add(1).exception(SOON), RecipientUnreachableError)
    gateway.note(3)
    within(SOON, lambda: len(server.dead_letters) == 2)


def test_a_service_that_has_ended(server: RpcService, client: RpcService) -> None:
    """E.23: at once, not after the time limit; and the tell is counted."""
    counter, gateway = far(server, client)
    under_way = gateway.never()
    assert gateway.value() == 0
    server.close_async().result(SOON)
    error = under_way.exception(SOON)
    assert isinstance(error, RecipientUnreachableError)
    assert isinstance(error, ConnectionError)
    assert "[never] at [" in str(error)
    assert isinstance(gateway.add(1).exception(SOON), RecipientUnreachableError)
    gateway.note(1)
    assert [letter.method for letter in client.dead_letters] == ["note"]
    assert counter.noted == []


def test_connecting_to_nobody(server: RpcService, client: RpcService) -> None:
    """E.24."""
    address = server.address_of("nobody")
    with pytest.raises(RpcConnectionError, match="no such endpoint"):
        client.connect(address, CounterGateway).result(SOON)
    port = server.port
    other = f"flinkish.tcp://other@127.0.0.1:{port}/user/rpc/counter"
    with pytest.raises(RpcConnectionError, match="the service there is 'server'"):
        client.connect(other, CounterGateway).result(SOON)
    stranger = RpcService("stranger", secret="another secret")
    with stranger, pytest.raises(HandshakeError):
        stranger.connect(address, CounterGateway).result(SOON)
    with RpcService("open") as unarmed, pytest.raises(IllegalArgumentError, match="has no secret"):
        unarmed.connect(address, CounterGateway)
    dead = RpcService("server", host="127.0.0.1", secret=SECRET)
    address = dead.address_of("counter")
    dead.close()
    with pytest.raises(RpcConnectionError):
        client.connect(address, CounterGateway).result(SOON)


def test_a_gateway_that_is_not_offered(server: RpcService, client: RpcService) -> None:
    """E.24."""
    far(server, client)
    with pytest.raises(HandshakeError, match="does not offer the gateway FencedGateway"):
        client.connect(server.address_of("counter"), FencedGateway, "t").result(SOON)


def test_resolving(server: RpcService, client: RpcService) -> None:
    """E.9."""
    counter, _ = started(server, "master_7")
    pattern = server.address_of("master_*")
    assert client.resolve_one(pattern).result(SOON) == counter.address
    gateway = client.connect(pattern, CounterGateway).result(SOON)
    assert gateway.address == counter.address
    assert gateway.add(1).result(SOON) == 1
    with pytest.raises(RpcConnectionError):
        client.resolve_one(server.address_of("nobody_*")).result(SOON)


def test_fencing(server: RpcService, client: RpcService) -> None:
    """E.26."""
    token = uuid.UUID(int=7)
    leader = Fenced(server, token)
    leader.start()

    def connect(token: Any) -> FencedGateway:
        return client.connect(leader.address, FencedGateway, token).result(SOON)

    assert connect(token).whose().result(SOON) == repr(token)
    assert connect(token).fencing_token == token
    old = connect(uuid.UUID(int=6))
    error = old.whose().exception(SOON)
    assert isinstance(error, FencingTokenError)
    assert repr(token) in str(error)
    assert repr(uuid.UUID(int=6)) in str(error)
    assert error.expected == repr(token)
    assert error.found == repr(uuid.UUID(int=6))
    old.note("from the past")
    assert isinstance(connect(None).whose().exception(SOON), UnknownMessageError)
    assert connect(token).whose().result(SOON)
    assert leader.noted == []
    with pytest.raises(SerializationError, match="fencing token"):
        client.connect(leader.address, FencedGateway, object())


def test_a_token_for_an_unfenced_endpoint(server: RpcService, client: RpcService) -> None:
    """E.26."""
    counter, _ = started(server)
    gateway = client.connect(counter.address, CounterGateway, "t").result(SOON)
    assert isinstance(gateway.add(1).exception(SOON), UnknownMessageError)


def test_functions_do_not_travel(server: RpcService, client: RpcService) -> None:
    """E.14."""
    _, gateway = far(server, client)
    proxy: Any = gateway
    for use in (
        lambda: proxy.run_async(int),
        lambda: proxy.call_async(int, 10),
        lambda: proxy.schedule_run_async(int, 10),
    ):
        with pytest.raises(UnsupportedOperationError, match="code does not travel"):
            use()


def test_local_methods_stay(server: RpcService, client: RpcService) -> None:
    """E.18."""
    keeper = Keeper(server, "keeper")
    keeper.start()
    gateway = client.connect(keeper.address, LocalGateway).result(SOON)
    with pytest.raises(UnsupportedOperationError, match="@local"):
        gateway.keep(threading.Event())


def test_both_sides_serve_over_one_connection(server: RpcService) -> None:
    """A client that only dials is called back by its name."""
    counter, _ = started(server)
    with RpcService("worker-1", secret=SECRET) as worker:
        gateway = worker.connect(counter.address, CounterGateway).result(SOON)
        mine, _ = started(worker, "mine")
        assert mine.address == "flinkish://worker-1/user/rpc/mine"
        back = server.connect(mine.address, CounterGateway).result(SOON)
        assert back.add(5).result(SOON) == 5
        assert gateway.add(1).result(SOON) == 1
        assert mine.total == 5
        statistics = server.statistics().transport
        assert statistics is not None
        assert server.resolve_one(mine.address).result(SOON) == mine.address
    with pytest.raises(RpcConnectionError, match="worker-2"):
        server.connect("flinkish://worker-2/user/rpc/mine", CounterGateway).result(SOON)


def test_its_own_remote_address_is_local(server: RpcService) -> None:
    _, gateway = started(server)
    thing = object()
    assert gateway.echo(thing).result(SOON) is thing


def test_asyncio_awaits_remote_calls(server: RpcService, client: RpcService) -> None:
    _, gateway = far(server, client)

    async def use() -> int:
        calls: list[Any] = [gateway.add(1) for _ in range(200)]
        answers = [await call for call in calls]
        return max(answers)

    assert asyncio.run(use()) == 200


@dataclass
class Reading:
    sensor: str
    values: list[float]


class DataGateway(RpcGateway):
    def total(self, batch: pa.RecordBatch) -> Future[int]: ...
    def scale(self, array: np.ndarray, by: float) -> Future[np.ndarray]: ...
    def latest(self, readings: dict[str, Reading]) -> Future[Reading | None]: ...


class Data(RpcEndpoint, DataGateway):
    def total(self, batch: Any) -> Any:
        return int(sum(batch.column(0).to_pylist()))

    def scale(self, array: Any, by: float) -> Any:
        return array * by

    def latest(self, readings: dict[str, Reading]) -> Any:
        assert all(isinstance(reading, Reading) for reading in readings.values())
        return readings[max(readings)] if readings else None


def test_data_travels(server: RpcService, client: RpcService) -> None:
    data = Data(server, "data")
    data.start()
    gateway = client.connect(data.address, DataGateway).result(SOON)
    batch = pa.record_batch({"n": range(10_000)})
    assert gateway.total(batch).result(SOON) == sum(range(10_000))
    np.testing.assert_array_equal(
        gateway.scale(np.arange(6.0).reshape(2, 3), 2.0).result(SOON),
        np.arange(6.0).reshape(2, 3) * 2,
    )
    reading = Reading("a", [1.0, 2.0])
    assert gateway.latest({"a": reading}).result(SOON) == reading
    assert gateway.latest({}).result(SOON) is None


@pytest.mark.stress
def test_many_threads_share_a_connection(server: RpcService, client: RpcService) -> None:
    counter, gateway = far(server, client)

    def ask() -> None:
        for _ in range(20):
            futures = [gateway.add(1) for _ in range(50)]
            for future in futures:
                future.result(SOON)
            gateway.value()

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.total == 6_000
    assert client.statistics().asks_under_way == 0


def test_a_wait_for_credit_ends_with_its_time_limit() -> None:
    with (
        RpcService("server", host="127.0.0.1", secret=SECRET, receive_window=10_000) as server,
        RpcService("client", secret=SECRET, send_timeout=20) as client,
    ):
        counter, gateway = far(server, client)
        gate = threading.Event()
        counter.run_async(lambda: gate.wait(SOON))
        try:
            errors = [gateway.echo(bytes(4_000)) for _ in range(3)]
            hasty: Any = gateway
            late = hasty.with_timeout(20).echo(b"")
            assert isinstance(late.exception(SOON), RpcTimeoutError)
            gateway.note(7)  # dropped: counted and logged
            assert len(client.dead_letters) == 1
        finally:
            gate.set()
        assert [len(future.result(SOON)) for future in errors] == [4_000] * 3
        assert counter.noted == []


def test_a_gateway_finds_its_endpoint_again(server: RpcService, client: RpcService) -> None:
    """After the connection was lost, not the process; nothing is sent twice."""
    counter, gateway = far(server, client)
    patient: Any = gateway
    again = patient.with_timeout("5 seconds")
    assert gateway.add(1).result(SOON) == 1
    (connection,) = client.transport().connections()
    under_way = gateway.never()
    connection.close("lost on purpose")
    assert isinstance(under_way.exception(SOON), RecipientUnreachableError)
    assert isinstance(gateway.add(100).exception(SOON), RecipientUnreachableError)
    within(SOON, lambda: again.echo(1).exception(SOON) is None)
    assert gateway.add(1).result(SOON) == 2
    assert counter.total == 2


def test_a_service_made_anew_is_another_one(client: RpcService) -> None:
    first = RpcService("server", host="127.0.0.1", secret=SECRET)
    port = first.port
    _, gateway = far(first, client)
    assert gateway.add(1).result(SOON) == 1
    first.close()
    with RpcService("server", host="127.0.0.1", port=port or 0, secret=SECRET) as second:
        counter, _ = started(second)
        for _ in range(50):
            assert isinstance(gateway.add(1).exception(SOON), RecipientUnreachableError)
            time.sleep(0.005)
        within(SOON, lambda: _can_connect(client, counter))
        assert counter.total == 0


def _can_connect(client: RpcService, counter: Counter) -> bool:
    return client.connect(counter.address, CounterGateway).exception(SOON) is None
