"""Connections between two transports of one process."""

import select
import threading
from concurrent.futures import Future
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from flinkish._core.rpc.framing import FRAME_HEADER_SIZE, FrameKind
from flinkish.common.errors import (
    BackPressureError,
    ConnectionLostError,
    FrameTooLargeError,
    HandshakeError,
    IllegalArgumentError,
    IllegalStateError,
    RpcConnectionError,
)
from flinkish.rpc import connection
from flinkish.rpc.connection import Connection
from flinkish.rpc.tls import TlsConfig
from flinkish.rpc.transport import Transport
from tests.rpc.transport_rig import SECRET, Recorder, pair
from tests.waiting import PATIENCE, until

TELL, ASK, REPLY = FrameKind.TELL, FrameKind.ASK, FrameKind.REPLY
TLS = TlsConfig.ephemeral()
WAYS: dict[str, dict[str, Any]] = {
    "unix": {},
    "tcp": {"unix_sockets": False},
    "tls": {"unix_sockets": False, "tls": TLS},
}


@pytest.fixture(params=WAYS, ids=list(WAYS))
def way(request: pytest.FixtureRequest) -> dict[str, Any]:
    return WAYS[request.param] | {"_name": request.param}


def without_name(way: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in way.items() if key != "_name"}


def test_frames_go_both_ways_in_order(way: dict[str, Any]) -> None:
    with pair(**without_name(way)) as two:
        there = two.dial()
        sent = [(TELL, 0, n % 7, n, n * n, bytes(n)) for n in range(300)]
        sent.append((ASK, 3, 1, 2, 2**63, bytes(range(256)) * 12_000))
        sent += [(TELL, 0, 0, n, 0, b"after") for n in range(50)]
        for kind, flags, method, endpoint, call, payload in sent:
            there.send(kind, method, endpoint, call, payload, flags=flags)
        until(lambda: len(two.there.frames) == len(sent))
        assert two.there.frames == sent
        back = two.there.connected[0]
        back.send(REPLY, 1, 2, 3, memoryview(b"a reply"))
        until(lambda: bool(two.here.frames))
        assert two.here.frames == [(REPLY, 0, 1, 2, 3, b"a reply")]
        assert there.peer is not None
        assert back.peer is not None
        assert (there.peer.name, back.peer.name) == ("server", "client")
        assert there.peer.transport == back.peer.transport == way["_name"]
        assert there.peer.incarnation == two.server.incarnation != two.client.incarnation
        assert there.peer.listens == two.server.address
        assert back.peer.listens is None


def test_many_threads_share_a_connection(way: dict[str, Any]) -> None:
    """Each thread's frames stay in order, none is lost or torn."""
    with pair(**without_name(way)) as two:
        there = two.dial()

        def send(endpoint: int) -> None:
            for n in range(2000):
                there.send(TELL, 0, endpoint, n, b"%d" % n * (n % 50), flush=n % 3 != 0)
            there.flush()

        threads = [threading.Thread(target=send, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        until(lambda: len(two.there.frames) == 8000)
        for endpoint in range(4):
            mine = [frame for frame in two.there.frames if frame[3] == endpoint]
            assert [frame[4] for frame in mine] == list(range(2000))
            assert all(frame[5] == b"%d" % frame[4] * (frame[4] % 50) for frame in mine)


def test_one_connection_for_all_who_dial() -> None:
    with pair() as two:
        futures = [two.client.dial(two.server.listen()) for _ in range(50)]
        assert len({future.result(PATIENCE) for future in futures}) == 1
        assert two.dial() is futures[0].result()
        assert two.client.statistics().dialed == two.server.statistics().accepted == 1


def test_a_socket_that_is_full_for_a_while(
    way: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest waits for room and comes in order, whatever was sent meanwhile; so does the end."""
    monkeypatch.setattr(connection, "LINGER", PATIENCE)
    with pair(**without_name(way)) as two:
        there = two.dial()
        until(lambda: bool(two.there.connected))
        back = two.there.connected[0]
        io, fd = there._io, there._sock.fileno()
        io.post(lambda: io.modify(fd, 0))  # deaf
        for call in range(30):
            back.send(REPLY, 0, 0, call, bytes([call]) * 500_000)
        until(lambda: back._blocked, "the socket is full")
        back.send(REPLY, 0, 0, 30, b"last")
        back.close("after all that")
        io.post(lambda: io.modify(fd, select.EPOLLIN))
        until(lambda: bool(two.here.lost))
        assert "after all that" in str(two.here.lost[0][1])
        assert [frame[4] for frame in two.here.frames] == list(range(31))
        assert all(set(frame[5]) == {frame[4]} for frame in two.here.frames[:30])


def test_who_takes_nothing_in_is_left() -> None:
    with pair(unix_sockets=False) as two:
        there = two.dial()
        until(lambda: bool(two.there.connected))
        there._io.post(lambda: there._io.modify(there._sock.fileno(), 0))  # deaf
        back = two.there.connected[0]
        for call in range(30):
            back.send(REPLY, 0, 0, call, bytes(500_000))
        back.close("enough")
        until(lambda: bool(two.there.lost))
        assert "was closed: enough" in str(two.there.lost[0][1])
        there._io.post(lambda: there._io.modify(there._sock.fileno(), select.EPOLLIN))


def test_localhost_is_one_address() -> None:
    with pair(server={"host": "localhost"}) as two:
        host, port = two.server.listen()
        assert host == "127.0.0.1"
        assert two.client.dial(("localhost", port)).result(PATIENCE) is two.dial()


def test_the_other_side_shares_the_connection() -> None:
    """Who was dialled by a service that listens, too, need not dial it."""
    there, here = Recorder(), Recorder()
    first = Transport("first", there, secret=SECRET, host="127.0.0.1")
    second = Transport("second", here, secret=SECRET, host="127.0.0.1")
    address = second.listen()
    mine = second.dial(first.listen()).result(PATIENCE)
    until(lambda: bool(there.connected))
    assert first.dial(address).result(PATIENCE) is there.connected[0]
    assert first.statistics().dialed == 0
    mine.close("enough")
    until(lambda: bool(there.lost and here.lost))
    assert first.dial(address).result(PATIENCE) is not there.connected[0]
    first.close().result(PATIENCE)
    second.close().result(PATIENCE)


@pytest.mark.usefixtures("new_io_thread")
def test_the_same_thread_serves_all_and_ends_with_the_last() -> None:
    before = {*threading.enumerate()}

    def names() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread not in before]

    with pair() as two:
        two.dial()
        until(lambda: bool(two.there.connected))
        assert two.here.threads == two.there.threads != {threading.get_ident()}
        assert names().count("flinkish-rpc-io") == 1
    until(lambda: "flinkish-rpc-io" not in names())


def test_nothing_runs_before_it_is_needed() -> None:
    before = {*threading.enumerate()}
    transport = Transport("idle", Recorder(), secret=SECRET)
    assert before.issuperset(threading.enumerate())
    assert transport.address is None
    assert "dials only" in repr(transport)
    with pytest.raises(IllegalArgumentError, match="without host only dials"):
        transport.listen()
    transport.close().result(PATIENCE)


def test_goodbye_reaches_the_other_side() -> None:
    with pair() as two:
        there = two.dial()
        for n in range(100):
            there.send(TELL, 0, 0, n, bytes(1000))
        there.close("lunch")
        until(lambda: bool(two.there.lost and two.here.lost))
        assert len(two.there.frames) == 100, "what was sent before comes before"
        assert "said goodbye: lunch" in str(two.there.lost[0][1])
        assert "was closed: lunch" in str(two.here.lost[0][1])
        with pytest.raises(ConnectionLostError, match="lunch") as caught:
            there.send(TELL, 0, 0, 0, b"")
        assert caught.value.address == "{}:{}".format(*two.server.listen())
        assert two.dial() is not there


def test_a_closed_transport_says_so() -> None:
    with pair() as two:
        there = two.dial()
        address = two.server.listen()
        assert two.client.close() is two.client.close()
        two.client.close().result(PATIENCE)
        with pytest.raises(RpcConnectionError, match="'client' is closed"):
            two.client.dial(address).result(PATIENCE)
        with pytest.raises(ConnectionLostError):
            there.send(TELL, 0, 0, 0, b"")
        until(lambda: bool(two.there.lost))


def test_a_cancelled_dial_harms_nobody() -> None:
    with pair() as two:
        address = two.server.listen()
        first: Future[Connection] = two.client.dial(address)
        first.cancel()
        assert two.client.dial(address).result(PATIENCE).peer is not None


# --- limits


def test_a_frame_over_the_limit_is_refused_at_the_caller() -> None:
    with pair(max_frame_size=100_000) as two:
        there = two.dial()
        there.send(ASK, 0, 0, 1, bytes(100_000 - FRAME_HEADER_SIZE))
        with pytest.raises(FrameTooLargeError) as caught:
            there.send(ASK, 0, 0, 2, bytes(100_001 - FRAME_HEADER_SIZE))
        error = caught.value
        assert (error.size, error.limit, error.option) == (100_001, 100_000, "max_frame_size")
        assert "a request" in str(error)
        assert "has 100001 bytes, and max_frame_size allows 100000" in str(error)
        until(lambda: len(two.there.frames) == 1)
        with pytest.raises(FrameTooLargeError, match="a reply"):
            two.there.connected[0].send(REPLY, 0, 0, 1, bytes(100_000))
        there.send(ASK, 0, 0, 3, b"still works")
        until(lambda: len(two.there.frames) == 2)


def test_the_smaller_limit_of_both_counts() -> None:
    with pair(server={"max_frame_size": 20_000}) as two:
        there = two.dial()
        with pytest.raises(FrameTooLargeError, match="of the other side allows 20000"):
            there.send(ASK, 0, 0, 1, bytes(20_000))


def test_a_slow_reader_stops_its_senders_and_nobody_else() -> None:
    window = 50_000
    with pair(receive_window=window) as two:
        there = two.dial()
        sent = -(-window // (1000 + FRAME_HEADER_SIZE))  # the last one overdraws
        for n in range(sent):
            there.send(TELL, 0, 0, n, bytes(1000))
        with pytest.raises(BackPressureError, match=r"not sent within 50 ms.* 50000 byt") as caught:
            there.send(TELL, 0, 0, sent, bytes(1000), timeout_ms=50)
        assert caught.value.timeout_ms == 50
        there.send(REPLY, 0, 0, 1, b"replies never wait")
        until(lambda: len(two.there.frames) == sent + 1)

        back = two.there.connected[0]
        waiting = threading.Thread(target=lambda: there.send(TELL, 0, 0, sent, b"late"))
        waiting.start()
        until(lambda: two.client.statistics().credit_waits == 2)
        back.consumed(sent * (1000 + FRAME_HEADER_SIZE))
        waiting.join(PATIENCE)
        assert not waiting.is_alive()
        until(lambda: len(two.there.frames) == sent + 2)


def test_who_waits_for_credit_hears_of_the_end() -> None:
    with pair(receive_window=1) as two:
        there = two.dial()
        there.send(TELL, 0, 0, 0, b"overdraws the window")
        caught: list[BaseException] = []

        def send() -> None:
            try:
                there.send(TELL, 0, 0, 0, b"")
            except ConnectionLostError as error:
                caught.append(error)

        thread = threading.Thread(target=send)
        thread.start()
        until(lambda: two.client.statistics().credit_waits > 0)
        until(lambda: bool(two.there.connected))
        two.there.connected[0].close("gone")
        thread.join(PATIENCE)
        assert "gone" in str(caught[0])


def test_the_io_thread_never_waits_for_credit() -> None:
    with pair(receive_window=1) as two:
        there = two.dial()
        there.send(TELL, 0, 0, 0, b"overdraws the window")
        refused: Future[None] = Future()

        def send(_: object) -> None:
            try:
                there.send(TELL, 0, 0, 0, b"")
            except BackPressureError as error:
                refused.set_exception(error)

        two.client.dial(two.server.listen()).add_done_callback(lambda done: None)
        there._io.post(lambda: send(None))
        with pytest.raises(BackPressureError):
            refused.result(PATIENCE)


def test_statistics() -> None:
    with pair(echo=True) as two:
        there = two.dial()
        for n in range(10):
            there.send(ASK, 0, 0, n, b"payload")
        until(lambda: two.client.statistics().frames_received >= 12)
        found = two.client.statistics()
        assert len(two.here.frames) == 10
        assert (found.connections, found.dialed, found.accepted) == (1, 1, 0)
        assert found.frames_sent >= 12
        assert found.bytes_sent > 10 * (FRAME_HEADER_SIZE + 7)
        assert found.backlog_bytes == 0
        with pytest.raises(FrozenInstanceError):
            found.connections = 7  # type: ignore[misc]
        there.close()
        until(lambda: bool(two.here.lost))  # and counted
        after = two.client.statistics()
        assert (after.connections, after.connections_lost) == (0, 1)
        assert after.frames_sent > found.frames_sent


# --- who may connect


@pytest.mark.parametrize("secret", ["another secret", b"the secret of all test"])
def test_a_wrong_secret(way: dict[str, Any], secret: str | bytes) -> None:
    options = without_name(way)
    with pair(**options) as two:
        stranger = Transport("stranger", Recorder(), secret=secret, **options)
        with pytest.raises(HandshakeError, match=r"refused.*'stranger' does not know the shared"):
            stranger.dial(two.server.listen()).result(PATIENCE)
        until(lambda: two.server.statistics().handshakes_refused == 1)
        assert not two.there.connected
        stranger.close().result(PATIENCE)


def test_a_secret_is_text_or_bytes() -> None:
    with pair(server={"secret": SECRET.encode()}) as two:
        assert two.dial().peer is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"secret": ""}, "needs a secret"),
        ({"max_frame_size": 100}, "8192 bytes to 4 GiB, not 100"),
        ({"receive_window": 0}, "receive_window must be positive"),
        ({"heartbeat_interval": 1000, "heartbeat_timeout": 1500}, "at least twice"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(IllegalArgumentError, match=message):
        Transport("x", Recorder(), **({"secret": SECRET} | options))


def test_a_connection_stays_in_its_process() -> None:
    import pickle

    with pair() as two, pytest.raises(IllegalStateError, match="belongs to process"):
        pickle.dumps(two.dial())
