"""Unix sockets beside the port: private to one user, and done without where they are not."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from flinkish.common.errors import HandshakeError
from flinkish.rpc import listener, unix_sockets
from flinkish.rpc.transport import Transport
from tests.rpc.transport_rig import SECRET, Recorder, dialing, pair, server
from tests.waiting import PATIENCE


@pytest.fixture
def short_path() -> Iterator[Path]:
    """The name of a socket holds 107 bytes, and pytest's own directories have long names."""
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        yield Path(place)


def test_a_private_directory_or_none(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unix_sockets.tempfile, "gettempdir", lambda: str(short_path))
    place = short_path / f"flinkish-rpc-{os.getuid()}"
    with pair() as two:
        peer = two.dial().peer
        assert peer is not None
        assert peer.transport == "unix"
        assert place.stat().st_mode & 0o777 == 0o700
        assert len(list(place.iterdir())) == 1
    assert not list(place.iterdir())

    def replace_by_link() -> None:
        place.rmdir()
        place.symlink_to(short_path)

    for spoil in (lambda: place.chmod(0o755), replace_by_link):
        spoil()
        with pair() as two:
            peer = two.dial().peer
            assert peer is not None
            assert peer.transport == "tcp"


def test_names_of_the_dead(
    environment: dict[str, str], short_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed service leaves its name; TCP is used, and the next service clears it away.

    Any next service, so this is done where no other process has names.
    """
    monkeypatch.setattr(unix_sockets.tempfile, "gettempdir", lambda: str(short_path))
    with server(environment | {"TMPDIR": str(short_path)}) as (process, port):
        path = unix_sockets.path_beside("127.0.0.1", port)
        assert path is not None
        assert os.path.exists(path)
        process.kill()
        process.wait()
    assert os.path.exists(path)
    again = Transport(
        "again", Recorder(), secret=SECRET, host="127.0.0.1", port=port, unix_sockets=False
    )
    again.listen()
    with dialing(port) as (_, _, connection):
        assert connection.peer is not None
        assert connection.peer.transport == "tcp"
    again.close().result(PATIENCE)
    with pair() as two:
        two.server.listen()
        assert not os.path.exists(path)


def test_a_name_that_is_too_long(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setattr(unix_sockets.tempfile, "gettempdir", lambda: str(long))
    with pair() as two:
        peer = two.dial().peer
        assert peer is not None
        assert peer.transport == "tcp"


def test_another_user_is_not_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    from flinkish.rpc import dialing as module

    monkeypatch.setattr(module, "same_user", lambda sock: False)
    with pair() as two:
        peer = two.dial().peer
        assert peer is not None
        assert peer.transport == "tcp"
    monkeypatch.undo()
    monkeypatch.setattr(listener, "same_user", lambda sock: False)
    with pair() as two, pytest.raises(HandshakeError, match="closed"):
        two.dial()
