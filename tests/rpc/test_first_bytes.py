"""What the first bytes of a connection say: frames, TLS, or a session that began at once."""

import json
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress

import pytest

from flinkish._core.rpc.framing import CONTROL_LIMIT, FRAME_HEADER_SIZE, FrameKind, pack_frame
from flinkish.rpc.connection import Connection
from flinkish.rpc.handshake import Handshake, Identity, place_of, secret_key
from flinkish.rpc.tls import is_tls
from flinkish.rpc.transport import Transport
from tests.rpc.transport_rig import SECRET, Recorder, pair
from tests.waiting import PATIENCE, until


def hello(length: int, address: tuple[str, int]) -> bytes:
    """A HELLO whose frame has so many bytes."""
    identity = Identity("stranger", "1", 1, None, 1000, 10_000)
    key, places = secret_key(SECRET), [place_of(address)]
    start = Handshake(identity, key, dialing=True, address="there", places=places).start()
    said = json.loads(start) | {"padding": ""}
    bare = len(json.dumps(said).encode())
    said["padding"] = "x" * (length - FRAME_HEADER_SIZE - bare)
    frame = pack_frame(FrameKind.HELLO, json.dumps(said).encode())
    assert len(frame) == length
    return frame


@pytest.mark.parametrize("low", [0x15, 0x16])
def test_a_frame_whose_length_looks_like_a_record_of_tls(low: int) -> None:
    """The low byte of the length of a frame is any byte."""
    with pair(unix_sockets=False) as two:
        address = two.server.listen()
        with socket.create_connection(address) as sock:
            sock.settimeout(PATIENCE)
            sock.sendall(hello(0x0300 + low + 4, address))
            assert sock.recv(4096)[4] == FrameKind.CHALLENGE


def test_no_frame_of_a_handshake_is_taken_for_tls() -> None:
    for length in range(FRAME_HEADER_SIZE, CONTROL_LIMIT + 1):
        frame = pack_frame(FrameKind.HELLO, bytes(length - FRAME_HEADER_SIZE))
        assert not any(is_tls(frame[:size]) for size in range(8))


def client_hello(version: ssl.TLSVersion) -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = context.maximum_version = version
    outgoing = ssl.MemoryBIO()
    session = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="somewhere")
    with pytest.raises(ssl.SSLWantReadError):
        session.do_handshake()
    return outgoing.read()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_client_hello_is_tls(version: ssl.TLSVersion) -> None:
    said = client_hello(version)
    assert not any(is_tls(said[:size]) for size in range(3))
    assert all(is_tls(said[:size]) for size in range(3, 10))


def test_an_alert_is_tls() -> None:
    assert is_tls(bytes.fromhex("15030100020228"))


PIECES: list[Callable[[bytes], list[bytes]]] = [
    lambda said: [said],
    lambda said: [bytes([byte]) for byte in said[:6]],
]


@pytest.mark.parametrize("cut", PIECES, ids=["whole", "by bytes"])
def test_who_speaks_tls_is_told_so(cut: Callable[[bytes], list[bytes]]) -> None:
    client = Transport("client", Recorder(), secret=SECRET, unix_sockets=False)
    with socket.create_server(("127.0.0.1", 0)) as other:
        dialled = client.dial(other.getsockname())
        sock, _ = other.accept()
        with sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.recv(4096)
            with suppress(ConnectionError):  # it hangs up as soon as it has seen enough
                for piece in cut(client_hello(ssl.TLSVersion.TLSv1_3)):
                    sock.sendall(piece)
            assert "speaks TLS and this service does not" in str(dialled.exception(PATIENCE))
    client.close().result(PATIENCE)


class Eager(Recorder):
    """Sends much as soon as it may: both sides share the I/O thread, so it all comes at once."""

    def on_connected(self, connection: Connection) -> None:
        for call in range(20):
            connection.send(FrameKind.REPLY, 0, 0, call, bytes(10_000))
        super().on_connected(connection)


@pytest.mark.parametrize("unix", [True, False])
def test_what_follows_the_welcome_belongs_to_the_session(unix: bool) -> None:
    """More than a stranger may send comes in one read with the end of the handshake."""
    here = Recorder()
    server = Transport("server", Eager(), secret=SECRET, host="127.0.0.1", unix_sockets=unix)
    client = Transport("client", here, secret=SECRET, unix_sockets=unix)
    assert client.dial(server.listen()).result(PATIENCE).peer is not None
    until(lambda: len(here.frames) == 20)
    assert [frame[4] for frame in here.frames] == list(range(20))
    client.close().result(PATIENCE)
    server.close().result(PATIENCE)
