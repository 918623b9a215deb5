"""Connections give everything back: descriptors, objects, memory, the thread."""

import ctypes
import gc
import os
import threading
import weakref

import psutil

from flinkish._core.rpc.framing import FrameKind
from flinkish.rpc.tls import TlsConfig
from flinkish.rpc.transport import Transport
from tests.rpc.patience import patient
from tests.rpc.transport_rig import SECRET, Recorder
from tests.waiting import PATIENCE, until

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
        connection = client.dial(address).result(PATIENCE)
        connection.send(FrameKind.ASK, 0, 0, 1, bytes(100_000))
        until(lambda here=here: bool(here.frames))
        seen.add(connection)
    seen.update(there.connected)
    seen.update(clients)
    for client in clients:
        client.close().result(PATIENCE)
    until(lambda: server.statistics().connections == 0)
    server.close().result(PATIENCE)
    seen.add(server)


def turn(sizes: list[int]) -> None:
    even = len(sizes) % 2 == 0
    round_trip(50, unix_sockets=even, tls=None if even else TLS)
    until(lambda: threading.active_count() == 1)
    gc.collect()
    assert not seen, f"{len(seen)} connections and transports are left"
    assert descriptors() == before, f"{descriptors()} descriptors are open, {before} were"
    sizes.append(resident())


before = descriptors()
sizes: list[int] = []
with patient():
    while len(sizes) < 4:  # the first turns of each kind leave malloc in another state each time
        turn(sizes)
    # Python takes its memory by the MiB; whether these connections need one more than those before
    # them is a matter of how their threads took turns.  What leaks grows each time.
    grown = 1024
    while grown >= 1024 and len(sizes) < 32:
        for _ in range(4):
            turn(sizes)
        grown = sizes[-1] - sizes[-5]
assert grown < 1024, f"200 connections left {grown} KiB behind, each time: {sizes}"
