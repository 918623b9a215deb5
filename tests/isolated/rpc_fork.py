"""Connections and a fork: the parent's go on, the child starts afresh, and neither hangs."""

import os
import threading
from itertools import count

import pytest

from flinkish._core.rpc.framing import FrameKind
from flinkish._core.testing.framing import EchoSink
from flinkish.common.errors import ConnectionLostError
from flinkish.rpc.connection import Connection
from flinkish.rpc.io_thread import IoThread
from flinkish.rpc.transport import Transport
from tests.forking import in_a_fork
from tests.racing import meanwhile
from tests.rpc.patience import patient
from tests.rpc.transport_rig import SECRET, Recorder
from tests.waiting import PATIENCE, until


class Echo(Recorder):
    def sink(self, connection: Connection) -> EchoSink:
        return EchoSink(connection)


there, here = Echo(), Recorder()
with patient():
    server = Transport("server", there, secret=SECRET, host="127.0.0.1")
    client = Transport("client", here, secret=SECRET)
address = server.listen()
connection = client.dial(address).result(PATIENCE)
calls = count()
parent_incarnation = client.incarnation


def hammer() -> None:
    """Send all the time, so that a fork finds locks held and a flush under way."""
    connection.send(FrameKind.ASK, 0, 0, next(calls), b"x" * 200)


def ask(connection: Connection, recorder: Recorder, call: int) -> None:
    connection.send(FrameKind.ASK, 0, 0, call, b"hello")
    until(lambda: any(frame[4] == call for frame in recorder.sinks[connection].frames))


def grandchild() -> None:
    ask(client.dial(address).result(PATIENCE), here, 2**41)
    client.close().result(PATIENCE)


def child() -> None:
    assert IoThread._current is None
    assert threading.active_count() == 1
    with pytest.raises(ConnectionLostError, match="made by the parent process before a fork"):
        connection.send(FrameKind.ASK, 0, 0, 0, b"")
    connection.consumed(100_000_000)
    assert connection._sock.fileno() == -1
    assert server.address is None
    assert server.connections() == client.connections() == []
    assert client.incarnation != parent_incarnation
    fresh = client.dial(address).result(PATIENCE)
    assert fresh is not connection
    ask(fresh, here, 2**40 + os.getpid())
    in_a_fork(grandchild)
    ask(fresh, here, 2**42)
    client.close().result(PATIENCE)
    server.close().result(PATIENCE)
    until(lambda: threading.active_count() == 1)


with meanwhile(hammer):
    for _ in range(10):
        in_a_fork(child)
        here.sinks[connection].frames.clear()  # else a slow fork of much memory makes it more
assert not here.lost, "the parent's connection goes on"
ask(connection, here, 2**50)
client.close().result(PATIENCE)
server.close().result(PATIENCE)
