"""Somebody on this host who does not know the secret, between two services that do.

It bound the port of a service that died, or can change what is on its way.  Whatever it does,
nothing of it reaches a service as a call, and no answer of a service is its own.
"""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from unittest.mock import patch

import pytest

from flinkish._core.rpc.framing import FrameKind, pack_frame
from flinkish.common.errors import HandshakeError, RpcError
from flinkish.rpc import transport
from flinkish.rpc.connection import Connection
from flinkish.rpc.transport import Transport
from tests.models.siphash import record
from tests.rpc.transport_rig import SECRET, Recorder
from tests.waiting import PATIENCE, until

Change = Callable[[bytes], bytes]
OPTIONS = {"secret": SECRET, "unix_sockets": False}
INJECTED = b"of somebody in between"


def same(data: bytes) -> bytes:
    return data


class Relay:
    """Takes one connection and passes what comes to another address, as it likes."""

    def __init__(self, stack: ExitStack, target: tuple[str, int]) -> None:
        self.trap = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.address = self.trap.getsockname()
        self.change = {"there": same, "back": same}
        self.seen = {"there": b"", "back": b""}
        self.far = stack.enter_context(socket.create_connection(target))
        self.near: socket.socket | None = None
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            near, _ = self.trap.accept()
            self.near = near
            threading.Thread(target=self._pass, args=(self.far, near, "back"), daemon=True).start()
            self._pass(near, self.far, "there")

    def _pass(self, source: socket.socket, target: socket.socket, way: str) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self.seen[way] += data
                target.sendall(self.change[way](data))
        for sock in (source, target):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        for sock in filter(None, (self.far, self.near)):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()


class Between:
    """A server, a client, and who sits between them."""

    def __init__(self, stack: ExitStack) -> None:
        self.there, self.here = Recorder(echo=True), Recorder()
        self.server = Transport("server", self.there, host="127.0.0.1", **OPTIONS)
        self.client = Transport("client", self.here, **OPTIONS)
        self.relay = Relay(stack, self.server.listen())

    def dial(self) -> Connection:
        return self.client.dial(self.relay.address).result(PATIENCE)

    def dial_unnoticed(self) -> Connection:
        """As if the packets to the right address were led astray."""
        _, port = self.server.listen()

        def lies(address: object) -> str:
            return f"127.0.0.1:{port}"

        with patch.object(transport, "place_of", lies):
            connection = self.dial()
        connection.send(FrameKind.ASK, 0, 0, 1, b"first")
        until(lambda: len(self.here.frames) == 1)
        return connection


@pytest.fixture
def between() -> Iterator[Between]:
    with ExitStack() as stack:
        two = Between(stack)
        yield two
        two.relay.close()
        for one in (two.client, two.server):
            one.close().result(PATIENCE)


def test_who_took_the_port_of_a_dead_service_cannot_pass_its_callers_on(between: Between) -> None:
    with pytest.raises(HandshakeError, match=r"'client' dialled '127.0.0.1:\d+' and reached 'serv"):
        between.dial()
    assert not between.here.connected
    assert not between.there.connected


def test_what_is_only_passed_on_arrives(between: Between) -> None:
    """So that what the other tests show is due to the attack."""
    connection = between.dial_unnoticed()
    connection.send(FrameKind.ASK, 0, 0, 2, bytes(200_000))
    until(lambda: len(between.here.frames) == 2)
    assert between.here.frames[1][5] == bytes(200_000)


def ends(between: Between, recorder: Recorder) -> str:
    until(lambda: bool(recorder.lost))
    error = recorder.lost[0][1]
    assert isinstance(error, RpcError)
    assert not getattr(error, "for_good", False)
    return str(error)


INJECTIONS: dict[str, Change] = {
    "a bare call": lambda seen: pack_frame(FrameKind.ASK, INJECTED, call=9),
    "a call in a record of a guessed key": lambda seen: record(
        bytes(16), 1, pack_frame(FrameKind.ASK, INJECTED, call=9)
    ),
    "what the client said, again": lambda seen: seen,
}


@pytest.mark.parametrize("made", INJECTIONS.values(), ids=INJECTIONS)
def test_nothing_is_injected(between: Between, made: Change) -> None:
    between.dial_unnoticed()
    before = between.server.statistics().frames_received
    said = made(between.relay.seen["there"])
    between.relay.far.sendall(said + bytes(100_000))
    assert "somebody" in ends(between, between.there)
    after = between.server.statistics().frames_received
    assert after == before, "not one frame came out of it"


def test_an_answer_is_not_sent_back_as_a_call(between: Between) -> None:
    """The server echoes: its answer has the very bytes of a call but for the kind."""
    between.dial_unnoticed()
    last = between.relay.seen["back"][-(4 + 20 + 5 + 16) :]
    between.relay.far.sendall(last)
    assert "wrong code" in ends(between, between.there)


@pytest.mark.parametrize("way", ["there", "back"])
def test_nothing_is_changed(between: Between, way: str) -> None:
    connection = between.dial_unnoticed()
    seen = between.relay.seen[way]
    between.relay.change[way] = lambda data: data[:30] + bytes([data[30] ^ 1]) + data[31:]
    connection.send(FrameKind.ASK, 0, 0, 2, bytes(100))
    recorder = between.there if way == "there" else between.here
    assert "wrong code" in ends(between, recorder)
    assert len(between.here.frames) == 1
    assert between.relay.seen[way] != seen


@pytest.mark.parametrize("way", ["there", "back"])
def test_nothing_is_left_out(between: Between, way: str) -> None:
    connection = between.dial_unnoticed()
    dropped: list[bytes] = []

    def drop(data: bytes) -> bytes:
        if dropped:
            return data
        dropped.append(data)
        return b""

    between.relay.change[way] = drop
    connection.send(FrameKind.ASK, 0, 0, 2, b"left out")
    until(lambda: bool(dropped))
    connection.send(FrameKind.ASK, 0, 0, 3, b"comes after")
    assert "wrong code" in ends(between, between.there if way == "there" else between.here)
    assert [frame[4] for frame in between.here.frames] == [1]


def test_an_end_that_nobody_said_is_a_loss(between: Between) -> None:
    """Who cuts the line cannot make it look like a goodbye."""
    between.dial_unnoticed()
    between.relay.far.sendall(pack_frame(FrameKind.GOODBYE, b"for good", call=1))
    between.relay.close()
    for recorder in (between.here, between.there):
        assert "for good" not in ends(between, recorder)


def test_the_first_version_of_the_wire_is_refused() -> None:
    """It had no records and did not say whom it dialled."""
    server = Transport("server", Recorder(), host="127.0.0.1", **OPTIONS)
    address = server.listen()
    old = b'{"protocol":"flinkish","name":"old","incarnation":"1","pid":1,"listens":null,'
    old += b'"window":1000,"frame":10000,"nonce":"%s","versions":[1,1]}' % (b"ab" * 32)
    with socket.create_connection(address) as sock:
        sock.settimeout(PATIENCE)
        sock.sendall(pack_frame(FrameKind.HELLO, old))
        answer = b""
        while data := sock.recv(4096):
            answer += data
    assert answer[4] == FrameKind.GOODBYE
    assert b"'server' speaks protocol versions 2 to 2, and 'old' speaks 1 to 1" in answer
    server.close().result(PATIENCE)
