"""Connections give everything back: descriptors, objects, memory, the thread."""

import gc
import os
import threading
import weakref

import psutil

from flinkish._core.framing import FrameKind
from flinkish.rpc.tls import TlsConfig
from flinkish.rpc.transport import Transport
from tests.rpc.transport_rig import SECRET, Recorder, until

TLS = TlsConfig.ephemeral()
process = psutil.Process()
seen: weakref.WeakSet[object] = weakref.WeakSet()


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def round_trip(count: int, **options: object) -> None:
    there = Recorder(echo=True)
    server = Transport("server", there, secret=SECRET, host="127.0.0.1", **options)
    address = server.listen()
    recorders = [Recorder() for _ in range(count)]
    clients = [Transport("client", here, secret=SECRET, **options) for here in recorders]
    for client, here in zip(clients, recorders, strict=True):
        connection = client.dial(address).result(20)
        connection.send(FrameKind.ASK, 0, 0, 1, bytes(100_000))
        until(lambda here=here: bool(here.frames))
        seen.add(connection)
    seen.update(there.connected)
    seen.update(clients)
    for client in clients:
        client.close().result(20)
    until(lambda: server.statistics().connections == 0)
    server.close().result(20)
    seen.add(server)


before = descriptors()
sizes = []
for turn in range(6):
    round_trip(50, unix_sockets=turn % 2 == 0, tls=TLS if turn % 2 else None)
    until(lambda: threading.active_count() == 1)
    gc.collect()
    assert not seen, f"{len(seen)} connections and transports are left"
    assert descriptors() == before, f"{descriptors()} descriptors are open, {before} were"
    sizes.append(process.memory_info().rss)
grown = (sizes[-1] - sizes[1]) / 1024
assert grown < 4096, f"200 connections left {grown:.0f} KiB behind"
