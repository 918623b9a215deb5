"""Calls between services that talk over sockets; numbers are facts of section E."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from flinkish.common.errors import (
    EndpointNotStartedError,
    FrameTooLargeError,
    RecipientUnreachableError,
    RemoteError,
    RpcError,
    RpcTimeoutError,
    SerializationError,
)
from flinkish.rpc import RpcEndpoint, RpcGateway, RpcService
from tests.waiting import until

from .rig import (
    SECRET,
    SOON,
    Counter,
    CounterGateway,
    client,
    far,
    server,
)

__all__ = ["client", "server"]


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
    assert str(error) == "KeyError: 'what'"
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


def test_a_time_limit_that_is_over_before_the_ask_is_sent(
    server: RpcService, caplog: pytest.LogCaptureFixture
) -> None:
    """S1 of rpc/remote.pxd: whoever stands still there leaves nothing under way, and asks."""
    asking = threading.get_ident()

    class Slow(RpcService):
        def _wake_at(self, at_ms: int) -> None:
            super()._wake_at(at_ms)
            if threading.get_ident() == asking and stands_still:
                until(lambda: self.deadlines.expired)

    with Slow("slow", secret=SECRET) as client:
        stands_still = False
        counter, gateway = far(server, client)
        impatient: Any = gateway
        impatient = impatient.with_timeout(5)
        stands_still = True
        assert isinstance(impatient.fail("text").exception(SOON), RpcTimeoutError)
        assert client.statistics().asks_under_way == 0
        stands_still = False
        assert gateway.add(1).result(SOON) == 1
        assert counter.total == 1
        assert "called by a tell" not in caplog.text


def counter_address(server: RpcService) -> str:
    return server.address_of("counter")


def test_an_endpoint_that_is_not_started(server: RpcService, client: RpcService) -> None:
    """E.1, E.24: it can be connected to."""
    counter = Counter(server)
    gateway = client.connect(counter.address, CounterGateway).result(SOON)
    error = gateway.add(1).exception(SOON)
    assert isinstance(error, EndpointNotStartedError)
    gateway.note(1)
    until(lambda: len(server.dead_letters) == 2)
    counter.start()
    assert gateway.add(1).result(SOON) == 1


def test_an_endpoint_that_has_ended(server: RpcService, client: RpcService) -> None:
    """E.23."""
    counter, gateway = far(server, client)
    counter.close_async().result(SOON)
    assert isinstance(gateway.add(1).exception(SOON), RecipientUnreachableError)
    gateway.note(3)
    until(lambda: len(server.dead_letters) == 2)


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
