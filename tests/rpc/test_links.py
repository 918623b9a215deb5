"""Who is connected to whom, and by which right; numbers are facts of section E."""

from __future__ import annotations

import threading
import time
import uuid
from typing import Any

import pytest

from flinkish.common.errors import (
    ConnectionLostError,
    FencingTokenError,
    HandshakeError,
    IllegalArgumentError,
    RecipientUnreachableError,
    RpcConnectionError,
    SerializationError,
    UnknownMessageError,
    UnsupportedOperationError,
)
from flinkish.rpc import RpcService
from tests.waiting import until

from .rig import (
    SECRET,
    SOON,
    Counter,
    CounterGateway,
    Fenced,
    FencedGateway,
    Keeper,
    LocalGateway,
    client,
    far,
    server,
    started,
)

__all__ = ["client", "server"]


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
    until(lambda: again.echo(1).exception(SOON) is None)
    assert gateway.add(1).result(SOON) == 2
    assert counter.total == 2


def test_a_service_that_ends_says_so(server: RpcService, client: RpcService) -> None:
    """One that only drops a connection does not: gateways look for it again."""
    _, gateway = far(server, client)
    under_way = gateway.never()
    for connection in server.transport().connections():
        connection.close("for now")
    error = under_way.exception(SOON)
    assert isinstance(error, ConnectionLostError)
    assert not error.for_good
    assert "for now" in str(error)
    until(lambda: gateway.add(1).exception(SOON) is None)
    under_way = gateway.never()
    assert gateway.add(0).result(SOON) == 1, "what was sent before has arrived"
    server.close()
    dialed = client.statistics().transport
    for _ in range(2):
        error = under_way.exception(SOON)
        assert isinstance(error, ConnectionLostError)
        assert error.for_good
        assert "The service there has ended" in str(error)
        under_way = gateway.add(1)
    assert dialed is not None
    after = client.statistics().transport
    assert after is not None
    assert after.dials_failed == dialed.dials_failed


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
        until(lambda: _can_connect(client, counter))
        assert counter.total == 0


def _can_connect(client: RpcService, counter: Counter) -> bool:
    return client.connect(counter.address, CounterGateway).exception(SOON) is None
