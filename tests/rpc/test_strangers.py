"""Those that connect and never prove themselves: they keep nobody out, and fill no log."""

import logging
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from flinkish._core.rpc.framing import FrameKind, pack_frame
from flinkish.rpc import listener
from flinkish.rpc.strangers import LINES, PERIOD_S, SILENT_S, SPEAKING_S, Strangers, Throttle, shown
from tests.rpc.transport_rig import pair
from tests.waiting import PATIENCE, until


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def stranger(said: int = 0) -> Any:
    class Some(SimpleNamespace):
        __hash__ = object.__hash__  # type: ignore[assignment]
        __eq__ = object.__eq__

    return Some(received_bytes=said)


def test_the_silent_one_that_is_there_for_longest_goes_first() -> None:
    clock = Clock()
    places = Strangers(clock)
    first, second = stranger(), stranger()
    places.add(first, "a")
    clock.now += SILENT_S / 2
    places.add(second, "a")
    found, wait = places.next_to_go()
    assert found is first
    assert wait == pytest.approx(SILENT_S / 2)
    clock.now += SILENT_S
    assert places.next_to_go()[1] < 0
    assert places.remove(first)
    assert not places.remove(first)
    assert places.next_to_go()[0] is second
    assert len(places) == 1


def test_who_has_said_something_has_time_for_a_handshake() -> None:
    clock = Clock()
    places = Strangers(clock)
    speaking, silent = stranger(said=100), stranger()
    places.add(speaking, "a")
    clock.now += SPEAKING_S - 2 * SILENT_S
    places.add(silent, "a")
    assert places.next_to_go() == (silent, pytest.approx(SILENT_S))
    places.remove(silent)
    assert places.next_to_go() == (speaking, pytest.approx(2 * SILENT_S))


def test_a_crowd_from_one_place_takes_from_itself() -> None:
    clock = Clock()
    places = Strangers(clock)
    honest, crowd = stranger(), [stranger() for _ in range(10)]
    places.add(honest, "10.0.0.1")
    clock.now += 1
    for one in crowd:
        places.add(one, "10.6.6.6")
    for one in crowd[:-1]:
        assert places.next_to_go()[0] is one, "though another one is there for longer"
        places.remove(one)


# --- real sockets


@contextmanager
def flood(address: Any, count: int, say: bytes = b"") -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        found = []
        for _ in range(count):
            sock = stack.enter_context(socket.socket(family))
            sock.connect(address)
            sock.sendall(say)
            found.append(sock)
        yield found


@pytest.mark.parametrize("say", [b"", pack_frame(FrameKind.HELLO, b"{}")[:-1]])
@pytest.mark.parametrize("unix", [False, True], ids=["tcp", "unix"])
def test_six_hundred_that_say_nothing_keep_nobody_out(unix: bool, say: bytes) -> None:
    with pair(unix_sockets=unix) as two:
        address: Any = two.server.listen()
        if unix:
            until(lambda: len(two.server._listeners) == 2)
            address = two.server._listeners[1]._path
        with flood(address, 600, say):
            peer = two.dial().peer
            assert peer is not None
            assert peer.transport == ("unix" if unix else "tcp")


def test_unix_sockets_have_places_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """No stranger over TCP is sent away for a peer that needs no place of theirs."""
    monkeypatch.setattr(listener, "STRANGERS", 8)
    with pair() as two:
        address = two.server.listen()
        with flood(address, 8) as silent:
            until(lambda: two.server.statistics().accepted == 8)
            peer = two.dial().peer
            assert peer is not None
            assert peer.transport == "unix"
            assert two.server.statistics().handshakes_refused == 0
            for sock in silent:
                sock.setblocking(False)
                with pytest.raises(BlockingIOError):
                    sock.recv(1)


# --- logs


def test_a_throttle_lets_a_few_lines_through_and_counts_the_others() -> None:
    clock, lines = Clock(), list[str]()
    throttle = Throttle(lines.append, clock)
    for n in range(1000):
        throttle.say(f"line {n}")
    assert lines == [f"line {n}" for n in range(LINES)]
    throttle.flush()
    assert len(lines) == LINES
    clock.now += PERIOD_S
    throttle.flush()
    assert lines[LINES:] == [f"{1000 - LINES} more lines like those before were left out"]
    throttle.flush()
    throttle.say("again")
    clock.now += PERIOD_S
    throttle.flush()
    assert lines[LINES + 1 :] == ["again"]


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        ("plain words – é 字", "plain words – é 字"),
        ("one\ntwo\r\n\x1b[2J\x00", "one\\ntwo\\r\\n\\x1b[2J\\x00"),
        ("left\u202eright\u2028\ud800", "left\\u202eright\\u2028\\ud800"),
        ("x" * 5000, "x" * 200 + "… (5000 characters)"),
    ],
)
def test_what_is_shown_of_a_text(said: str, seen: str) -> None:
    assert shown(said) == seen


EVIL = "\n2026-01-01 root ERROR all is lost\x1b[2J\u202e"


def test_no_stranger_writes_lines_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    knocks = [
        pack_frame(FrameKind.GOODBYE, EVIL.encode() + b"x" * 8000),
        pack_frame(FrameKind.HELLO, EVIL.encode()),
        EVIL.encode() * 100,
    ]
    with caplog.at_level(logging.WARNING), pair(unix_sockets=False) as two:
        address = two.server.listen()
        for n in range(300):
            with socket.create_connection(address) as sock:
                sock.settimeout(PATIENCE)
                sock.sendall(knocks[n % 3])
                while True:
                    try:
                        if not sock.recv(4096):
                            break
                    except ConnectionResetError:
                        break
        until(lambda: two.server.statistics().handshakes_refused == 300)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) <= LINES
    assert all(line.isprintable() and len(line) < 1000 for line in lines)


def test_no_peer_writes_lines_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), pair() as two:
        there = two.dial()
        until(lambda: bool(two.there.connected))
        there.put_control(FrameKind.GOODBYE, EVIL.encode())
        there.flush()
        until(lambda: bool(two.there.lost))
        assert str(two.there.lost[0][1]).isprintable()
    assert all(record.getMessage().isprintable() for record in caplog.records)
