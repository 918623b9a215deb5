"""What real processes and hostile strangers do to connections."""

import json
import socket
import threading
import time
from contextlib import suppress
from typing import Any

import psutil
import pytest

from flinkish._core.rpc.framing import FRAME_HEADER_SIZE, FrameKind, pack_frame
from flinkish.common.errors import (
    BackPressureError,
    ConnectionLostError,
    FlinkishError,
    RpcConnectionError,
)
from flinkish.rpc import listener
from flinkish.rpc.transport import Transport
from tests.processes import LONGEST_S, freeze, thaw
from tests.rpc.transport_rig import SECRET, Recorder, dialing, pair, server
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.stress


WAYS = pytest.mark.parametrize("unix", [True, False], ids=["unix", "tcp"])


@WAYS
def test_a_peer_that_is_killed_is_noticed_at_once(environment: dict[str, str], unix: bool) -> None:
    with (
        server(environment, mute=True) as (process, port),
        dialing(port, unix_sockets=unix) as (client, recorder, connection),
    ):
        connection.send(FrameKind.ASK, 0, 0, 1, b"never answered")
        process.kill()
        until(lambda: bool(recorder.lost))
        error = recorder.lost[0][1]
        assert isinstance(error, ConnectionLostError)
        assert f"'echo' at 127.0.0.1:{port} was lost" in str(error)
        process.wait()  # its connections end before its port does
        with pytest.raises(RpcConnectionError, match=r"nobody answers at .*Connection refused"):
            client.dial(("127.0.0.1", port)).result(PATIENCE)


@WAYS
def test_a_peer_that_is_frozen_is_given_up(environment: dict[str, str], unix: bool) -> None:
    often: dict[str, Any] = {"heartbeat_interval": 100, "heartbeat_timeout": 60_000}
    # Whoever stands still for two intervals takes itself for frozen, and begins anew.
    soon: dict[str, Any] = {"heartbeat_interval": 300, "heartbeat_timeout": 600}
    with (
        server(environment) as (process, port),
        dialing(port, unix_sockets=unix, **often) as (_, patient, connection),
    ):
        before = connection.reading.received
        until(lambda: connection.reading.received >= before + 10 * FRAME_HEADER_SIZE)
        assert not patient.lost, "an idle peer answers heartbeats"
        with dialing(port, unix_sockets=unix, **soon) as (_, hasty, _):
            freeze(process)
            until(lambda: bool(hasty.lost))
            assert "silent for 0.6 s" in str(hasty.lost[0][1])
        assert not patient.lost


def test_who_was_frozen_itself_does_not_blame_its_peers(environment: dict[str, str]) -> None:
    with server(environment, heartbeat_interval=50, heartbeat_timeout=1_000) as (process, port):

        def forgiven() -> bool:
            """False, too, where it was not frozen and this process was silent for so long."""
            with dialing(port) as (_, recorder, connection):
                freeze(process)
                time.sleep(1.5)
                thaw(process)
                with suppress(ConnectionLostError):
                    connection.send(FrameKind.ASK, 0, 0, 1, b"awake?")
                until(lambda: bool(recorder.frames) or bool(recorder.lost))
                return recorder.frames == [(FrameKind.REPLY, 0, 0, 0, 1, b"awake?")]

        until(forgiven)


def test_a_dead_port_and_the_patience_with_it() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = unused.getsockname()
    client = Transport("client", Recorder(), secret=SECRET)
    for _ in range(3):
        with pytest.raises(RpcConnectionError, match="is the service running"):
            client.dial(address).result(PATIENCE)
    assert client.statistics().dials_failed == 3
    late = Transport("late", Recorder(), secret=SECRET, host="127.0.0.1", port=address[1])
    late.listen()
    assert client.dial(address).result(PATIENCE).peer is not None
    client.close().result(PATIENCE)
    late.close().result(PATIENCE)


@pytest.mark.parametrize("name", ["no such host", "no..host"])
def test_names_that_do_not_resolve(name: str) -> None:
    client = Transport(
        "client", Recorder(), secret=SECRET, tls="plaintext", connect_timeout=LONGEST_S * 1000
    )
    with pytest.raises(RpcConnectionError, match=f"cannot resolve '{name}'"):
        client.dial((name, 1)).result(LONGEST_S)
    client.close().result(PATIENCE)


def test_a_port_that_is_taken() -> None:
    with pair() as two:
        _, port = two.server.listen()
        other = Transport("other", Recorder(), secret=SECRET, host="127.0.0.1", port=port)
        with pytest.raises(RpcConnectionError, match=rf"cannot listen on 127.0.0.1:{port}"):
            other.listen()
        other.close().result(PATIENCE)


def test_a_host_that_is_no_name() -> None:
    transport = Transport("x", Recorder(), secret=SECRET, host="no..host", tls="plaintext")
    with pytest.raises(RpcConnectionError, match=r"cannot listen on no\.\.host:0"):
        transport.listen()
    transport.close().result(PATIENCE)


def test_a_service_that_never_answers_the_handshake() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = Transport("client", Recorder(), secret=SECRET)
        client._connect_seconds = 0.1  # for the handshake alone
        with pytest.raises(RpcConnectionError, match=r"did not finish the handshake within 0.1 s"):
            client.dial(silent.getsockname()).result(PATIENCE)
        client.close().result(PATIENCE)


def test_a_service_of_somebody_else() -> None:
    def answer() -> None:
        sock, _ = other.accept()
        with sock:
            sock.recv(65536)  # all, or else it resets the connection at its end
            sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as other:
        thread = threading.Thread(target=answer)
        thread.start()
        client = Transport("client", Recorder(), secret=SECRET)
        with pytest.raises(FlinkishError, match=r"1347703884 bytes came before|does not speak"):
            client.dial(other.getsockname()).result(PATIENCE)
        thread.join()
        client.close().result(PATIENCE)


KNOCKS = {
    "silence": b"",
    "http": b"GET / HTTP/1.1\r\n\r\n",
    "tls": bytes.fromhex("1603010200010001fc0303"),
    "4 GiB": b"\xff\xff\xff\xff" + bytes(16),
    "request": pack_frame(FrameKind.ASK, b"let me in"),
    "half": pack_frame(FrameKind.HELLO, b"{}")[:-1],
    "empty": pack_frame(FrameKind.HELLO),
    "proof first": pack_frame(FrameKind.PROOF, bytes(32)),
    "goodbye": pack_frame(FrameKind.GOODBYE, b"\xff\xfe"),
    "much": pack_frame(FrameKind.HELLO, bytes(8000)) * 100,
}


@pytest.mark.parametrize("knock", KNOCKS.values(), ids=KNOCKS)
def test_strangers_get_nowhere_and_harm_nobody(knock: bytes) -> None:
    with pair() as two:
        there = two.dial()
        two.server._connect_seconds = 0.3  # for the stranger alone
        with socket.create_connection(two.server.listen()) as stranger:
            stranger.settimeout(PATIENCE)
            with suppress(OSError):
                stranger.sendall(knock)
            with suppress(ConnectionResetError):
                while stranger.recv(4096):
                    pass
        until(lambda: two.server.statistics().handshakes_refused == 1)
        assert len(two.there.connected) == 1
        there.send(FrameKind.TELL, 0, 0, 0, b"meanwhile")
        until(lambda: bool(two.there.frames))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (b"\x05\0\0\0", "claims 9 bytes"),
        (pack_frame(0, b"x" * 50), "kind 0"),
        (pack_frame(FrameKind.HELLO, b"{}"), "kind 64 came"),
        (b"\xff\xff\xff\x7f" + bytes(16), "max_frame_size allows"),
    ],
)
def test_a_damaged_stream_ends_its_connection_only(damage: bytes, message: str) -> None:
    with pair() as two:
        there = two.dial()
        until(lambda: bool(two.there.connected))
        there._sock.send(damage)
        until(lambda: bool(two.there.lost))
        assert message in str(two.there.lost[0][1])
        until(lambda: bool(two.here.lost))
        assert two.dial() is not there


def test_a_slow_reader_costs_bounded_memory(environment: dict[str, str]) -> None:
    """100 times the window is offered; neither side ever holds more than a few windows."""
    window = 1 << 20
    with (
        server(environment, mute=True, receive_window=window) as (process, port),
        dialing(port) as (client, _, connection),
    ):
        before, refused = psutil.Process(process.pid).memory_info().rss, 0
        for _ in range(1600):
            try:
                connection.send(FrameKind.TELL, 0, 0, 0, bytes(65536), timeout_ms=0)
            except BackPressureError:
                refused += 1
        assert refused >= 1600 - 2 - window // 65536
        until(lambda: connection.backlog == 0)
        assert psutil.Process(process.pid).memory_info().rss - before < 16 * window
        process.stdin.write("\n")
        process.stdin.flush()
        statistics = json.loads(process.stdout.readline())
        assert statistics["bytes_received"] < 2 * window
        assert client.statistics().credit_waits == refused


def test_a_peer_that_reads_no_replies_gets_no_more_credit() -> None:
    """It may ask as much as one window holds, and is not served further until it reads."""
    with pair(echo=True, receive_window=100_000, unix_sockets=False) as two:
        there = two.dial()
        until(lambda: bool(two.there.connected))
        back = two.there.connected[0]
        there._io.post(lambda: there._io.modify(there._sock.fileno(), 0))  # deaf

        def ask_on() -> None:
            for call in range(100_000):
                there.send(FrameKind.ASK, 0, 0, call, bytes(10_000), timeout_ms=500)

        with pytest.raises(BackPressureError):
            ask_on()
        assert back.backlog < 400_000
        there._io.post(lambda: there._io.modify(there._sock.fileno(), 1))
        there.send(FrameKind.ASK, 0, 0, 1, b"again")


def test_tells_that_were_not_sent_are_counted(environment: dict[str, str]) -> None:
    with (
        server(environment, mute=True, receive_window=1 << 30) as (process, port),
        dialing(port, unix_sockets=False) as (client, recorder, connection),
    ):
        freeze(process)
        for _ in range(1000):
            connection.send(FrameKind.TELL, 0, 0, 0, bytes(30_000))
        process.kill()
        until(lambda: bool(recorder.lost))
        assert 0 < client.statistics().tells_dropped <= 1000


# --- many


def test_a_thousand_connections() -> None:
    """All to one service, all at once, each with a call of its own."""
    count = 1000
    there = Recorder(echo=True)
    limit = LONGEST_S * 1000
    server = Transport("server", there, secret=SECRET, host="127.0.0.1", connect_timeout=limit)
    address = server.listen()
    recorders = [Recorder() for _ in range(count)]
    clients = [
        Transport(f"client {n}", recorder, secret=SECRET, connect_timeout=limit)
        for n, recorder in enumerate(recorders)
    ]
    connections = [dialed.result(LONGEST_S) for dialed in [c.dial(address) for c in clients]]
    for n, connection in enumerate(connections):
        connection.send(FrameKind.ASK, 0, 0, n, b"%d" % n)
    until(lambda: all(recorder.frames for recorder in recorders), seconds=LONGEST_S)
    for n, recorder in enumerate(recorders):
        assert recorder.frames == [(FrameKind.REPLY, 0, 0, 0, n, b"%d" % n)]
    assert server.statistics().connections == count
    for done in [client.close() for client in clients]:
        done.result(LONGEST_S)
    until(lambda: server.statistics().connections == 0)
    server.close().result(PATIENCE)


def test_who_only_knocks_does_not_keep_others_out_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "STRANGERS", 4)
    with pair(server={"connect_timeout": 300}, unix_sockets=False) as two:
        address = two.server.listen()
        knocking = [socket.create_connection(address) for _ in range(20)]

        def is_let_in() -> bool:
            with suppress(FlinkishError):  # a busy machine may take longer than it has, too
                return two.dial().peer is not None
            return False

        until(is_let_in, seconds=LONGEST_S)
        until(lambda: two.server.statistics().handshakes_refused >= 20)
        for sock in knocking:
            sock.close()


def test_no_descriptors_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """An accept that fails is tried again."""
    with pair(unix_sockets=False) as two:
        address = two.server.listen()
        real, failures = socket.socket.accept, [OSError(24, "Too many open files")] * 2

        def accept(self: socket.socket) -> Any:
            if failures:
                raise failures.pop()
            return real(self)

        monkeypatch.setattr(listener.socket.socket, "accept", accept)
        assert two.client.dial(address).result(PATIENCE).peer is not None
        assert not failures
