"""Connections and a fork: the parent's go on, the child starts afresh, and neither hangs."""

import os
import signal
import threading
import warnings

import pytest

from flinkish._core._testing_framing import EchoSink
from flinkish._core.framing import FrameKind
from flinkish.common.errors import ConnectionLostError
from flinkish.rpc.connection import Connection
from flinkish.rpc.io_thread import IoThread
from flinkish.rpc.transport import Transport
from tests.rpc.transport_rig import SECRET, Recorder
from tests.waiting import until

warnings.filterwarnings("ignore", message=".*multi-threaded.*fork", category=DeprecationWarning)


class Echo(Recorder):
    def sink(self, connection: Connection) -> EchoSink:
        return EchoSink(connection)


there, here = Echo(), Recorder()
server = Transport("server", there, secret=SECRET, host="127.0.0.1")
client = Transport("client", here, secret=SECRET)
address = server.listen()
connection = client.dial(address).result(20)
stop = threading.Event()
parent_incarnation = client.incarnation


def hammer() -> None:
    """Send all the time, so that a fork finds locks held and a flush under way."""
    call = 0
    while not stop.is_set():
        connection.send(FrameKind.ASK, 0, 0, call, b"x" * 200)
        call += 1


def ask(connection: Connection, recorder: Recorder, call: int) -> None:
    connection.send(FrameKind.ASK, 0, 0, call, b"hello")
    until(lambda: any(frame[4] == call for frame in recorder.sinks[connection].frames))


def child() -> None:
    signal.alarm(30)
    assert IoThread._current is None
    assert threading.active_count() == 1
    with pytest.raises(ConnectionLostError, match="made by the parent process before a fork"):
        connection.send(FrameKind.ASK, 0, 0, 0, b"")
    connection.consumed(100_000_000)
    assert connection._sock.fileno() == -1
    assert server.address is None
    assert server.connections() == client.connections() == []
    assert client.incarnation != parent_incarnation
    fresh = client.dial(address).result(20)
    assert fresh is not connection
    ask(fresh, here, 2**40 + os.getpid())
    grandchild = os.fork()
    if grandchild == 0:
        ask(client.dial(address).result(20), here, 2**41)
        client.close().result(20)
        os._exit(0)
    _, status = os.waitpid(grandchild, 0)
    assert status == 0
    ask(fresh, here, 2**42)
    client.close().result(20)
    server.close().result(20)
    until(lambda: threading.active_count() == 1)


threads = [threading.Thread(target=hammer) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(10):
    pid = os.fork()
    if pid == 0:
        try:
            child()
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert status == 0, f"the child ended with {status}"
stop.set()
for thread in threads:
    thread.join()
assert not here.lost, "the parent's connection goes on"
ask(connection, here, 2**50)
client.close().result(20)
server.close().result(20)
