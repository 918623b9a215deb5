"""Peers that know the secret and keep to no rule: each harms its own connection, and no other."""

from contextlib import suppress
from typing import Any

import pytest

from flinkish._core.rpc.framing import FRAME_HEADER_SIZE, OPEN_LIMIT, FrameKind
from flinkish.common.errors import FrameError, FrameTooLargeError, HandshakeError, RpcError
from flinkish.rpc import RpcService, remote
from flinkish.rpc.transport import Transport
from tests.rpc.rig import SECRET, SOON, CounterGateway, far
from tests.rpc.rig import client as _client
from tests.rpc.rig import server as _server
from tests.rpc.transport_rig import Recorder, pair
from tests.waiting import PATIENCE, until

client, server = _client, _server
WINDOW = 100_000


@pytest.mark.parametrize("size", [1_000, 2_000_000], ids=["small", "one of many reads"])
@pytest.mark.parametrize("unix", [True, False], ids=["unix", "tcp"])
def test_a_peer_that_sends_more_than_it_has_credit_for(unix: bool, size: int) -> None:
    with pair(receive_window=WINDOW, unix_sockets=unix) as two:
        there = two.dial()
        there.grant(1 << 40)  # so it says to itself
        allowed = -(-WINDOW // (size + FRAME_HEADER_SIZE))
        with suppress(RpcError):  # as soon as the connection is lost
            for call in range(1_000_000):
                there.send(FrameKind.TELL, 0, 0, call, bytes(size))
        until(lambda: bool(two.there.lost))
        error = two.there.lost[0][1]
        assert isinstance(error, FrameError)
        assert "all that it had credit for" in str(error)
        assert [frame[4] for frame in two.there.frames] == [*range(allowed)]


def test_who_keeps_to_its_credit_is_never_refused() -> None:
    """However small the window, and whoever gives back when."""
    with pair(echo=True, receive_window=1_000) as two:
        there = two.dial()
        for call in range(3_000):
            there.send(FrameKind.ASK, 0, 0, call, bytes(call % 1500))
        until(lambda: len(two.here.frames) == 3_000)
        assert not two.there.lost


def test_a_request_to_connect_is_bounded() -> None:
    with pair() as two:
        there = two.dial()
        there.send(FrameKind.OPEN, 0, 0, 1, bytes(OPEN_LIMIT - FRAME_HEADER_SIZE))
        until(lambda: len(two.there.frames) == 1)
        with pytest.raises(FrameTooLargeError, match=r"a request to connect to .* fewer methods"):
            there.send(FrameKind.OPEN, 0, 0, 1, bytes(OPEN_LIMIT))
        huge = (16 + OPEN_LIMIT).to_bytes(4, "little") + bytes([FrameKind.OPEN]) + bytes(15)
        there._sock.send(huge)
        until(lambda: bool(two.there.lost))
        assert "a request to connect has 65556 bytes" in str(two.there.lost[0][1])


def test_a_long_pattern_is_refused_before_it_is_matched(
    server: RpcService, client: RpcService
) -> None:
    counter, gateway = far(server, client)
    path = counter.address.replace("counter", "*c" * 500)
    error = client.connect(path, CounterGateway).exception(SOON)
    assert isinstance(error, HandshakeError)
    assert "a pattern of 1000 characters came in, and 512 are allowed" in str(error)
    assert gateway.add(1).result(SOON) == 1


def test_the_links_of_a_connection_are_bounded(
    server: RpcService, client: RpcService, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter, gateway = far(server, client)
    monkeypatch.setattr(remote, "LINKS_LIMIT", 1_000)
    asked = [client.connect(counter.address, CounterGateway, token) for token in range(40)]
    errors = [str(one.exception(SOON)) for one in asked]
    assert errors[0] == "None"
    assert "take more than 1000 bytes" in errors[-1]
    assert gateway.add(1).result(SOON) == 1


def test_nobody_is_reached_at_an_address_by_saying_that_it_is_its_own() -> None:
    """Over TCP a caller that says that it listens there is not who is called there."""
    options: dict[str, Any] = {"secret": SECRET, "unix_sockets": False}
    heard, true = Recorder(), Recorder()
    service = Transport("service", heard, host="127.0.0.1", **options)
    victim = Transport("victim", true, host="127.0.0.1", **options)
    address = victim.listen()
    liar = Transport("victim", Recorder(), **options)
    liar._bound = address
    assert liar.dial(service.listen()).result(PATIENCE).peer is not None
    until(lambda: bool(heard.connected))
    peer = heard.connected[0].peer
    assert peer is not None
    assert (peer.name, peer.listens) == ("victim", address)
    service.dial(address).result(PATIENCE).send(FrameKind.TELL, 0, 0, 1, b"for the victim")
    until(lambda: bool(true.frames))
    liar._bound = None
    for transport in (liar, service, victim):
        transport.close().result(PATIENCE)
