"""Connections give everything back: descriptors, objects, memory, the thread."""

import ctypes
import gc
import os
import threading
import weakref

import psutil

from flinkish._core.framing import FrameKind
from flinkish.rpc.tls import TlsConfig
from flinkish.rpc.transport import Transport
from tests.rpc.transport_rig import SECRET, Recorder
from tests.waiting import until

TLS = TlsConfig.ephemeral()
process = psutil.Process()
malloc_trim = ctypes.CDLL(None).malloc_trim
seen: weakref.WeakSet[object] = weakref.WeakSet()


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def resident() -> int:
    """KiB of this process, without the free blocks that malloc keeps for later.

    How many it keeps differs by tens of MiB from turn to turn, after 50 connections that had large
    messages at a time, as the last block of its heap happens to be free or not.
    """
    malloc_trim(0)
    return process.memory_info().rss // 1024


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
for turn in range(8):
    round_trip(50, unix_sockets=turn % 2 == 0, tls=TLS if turn % 2 else None)
    until(lambda: threading.active_count() == 1)
    gc.collect()
    assert not seen, f"{len(seen)} connections and transports are left"
    assert descriptors() == before, f"{descriptors()} descriptors are open, {before} were"
    sizes.append(resident())
grown = sizes[-1] - sizes[3]  # the first turns of each kind leave malloc in another state each time
assert grown < 1024, f"200 connections left {grown} KiB behind: {sizes}"
