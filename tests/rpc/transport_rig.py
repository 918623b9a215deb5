"""Transports in one process and two, and a handler that writes down what it hears."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flinkish._core.rpc.framing import FrameSink
from flinkish._core.testing.framing import EchoSink
from flinkish.common.errors import RpcError
from flinkish.rpc.connection import Connection
from flinkish.rpc.transport import Transport
from tests.processes import piped
from tests.waiting import PATIENCE

SECRET = "the secret of all tests"
SCRIPT = Path(__file__).with_name("echo_server.py")


class Recorder:
    """Keeps frames, connections and their errors."""

    def __init__(self, *, echo: bool = False) -> None:
        self.echo = echo
        self.sinks: dict[Connection, Any] = {}
        self.connected: list[Connection] = []
        self.lost: list[tuple[Connection, RpcError]] = []
        self.threads: set[int] = set()

    def sink(self, connection: Connection) -> FrameSink:
        self.sinks[connection] = EchoSink(connection) if self.echo else FrameSink()
        return self.sinks[connection]

    def on_connected(self, connection: Connection) -> None:
        self.threads.add(threading.get_ident())
        self.connected.append(connection)

    def on_lost(self, connection: Connection, error: RpcError) -> None:
        self.threads.add(threading.get_ident())
        self.lost.append((connection, error))

    @property
    def frames(self) -> list[tuple[int, int, int, int, int, bytes]]:
        return [frame for sink in self.sinks.values() for frame in sink.frames]


class Pair:
    """A server that listens, a client that dials."""

    def __init__(self, server: Transport, client: Transport, there: Recorder, here: Recorder):
        self.server, self.client, self.there, self.here = server, client, there, here

    def dial(self) -> Connection:
        return self.client.dial(self.server.listen()).result(PATIENCE)


@contextmanager
def pair(
    *, echo: bool = False, server: dict[str, Any] | None = None, **both: Any
) -> Iterator[Pair]:
    """Options for both; ``server`` has those that only one side gets."""
    there, here = Recorder(echo=echo), Recorder()
    options = {"secret": SECRET} | both
    first = Transport("server", there, **({"host": "127.0.0.1"} | options | (server or {})))
    second = Transport("client", here, **options)
    try:
        yield Pair(first, second, there, here)
    finally:
        second.close().result(PATIENCE)
        first.close().result(PATIENCE)


@contextmanager
def server(environment: dict[str, str], **options: Any) -> Iterator[tuple[Any, int]]:
    """A process that listens, and its port."""
    with piped(str(SCRIPT), json.dumps({"secret": SECRET} | options), env=environment) as process:
        yield process, int(process.stdout.readline())


@contextmanager
def dialing(port: int, **options: Any) -> Iterator[tuple[Transport, Recorder, Connection]]:
    recorder = Recorder()
    client = Transport("client", recorder, **({"secret": SECRET} | options))
    try:
        yield client, recorder, client.dial(("127.0.0.1", port)).result(PATIENCE)
    finally:
        client.close().result(PATIENCE)
