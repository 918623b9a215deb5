"""What the transport alone can do: python asv_bench/whole/rpc_floor.py [--seconds S] [KIND ...]

Two processes on this host, a client that asks and a server that answers with the same 100 bytes
from its I/O thread.  Beside it the same round trip in C (``tcp_pingpong.c``, compiled here), that
no transport can beat.  Kinds are tcp, unix and tls.  CPU is that of both processes, the system's
share included.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import psutil

from flinkish._core.rpc.framing import FrameKind
from flinkish._core.testing.framing import EchoSink, ReplySink
from flinkish.rpc.tls import TlsConfig
from flinkish.rpc.transport import Transport

SECRET = "a secret for one measurement"
IN_FLIGHT = 1000
MEASURED = ("tcp", "unix", "tls")


def compiled_pingpong() -> str:
    """The median round trip of the C program in us, or why there is none."""
    source = Path(__file__).with_name("tcp_pingpong.c")
    with tempfile.TemporaryDirectory() as place:
        program = f"{place}/pingpong"
        subprocess.run(["cc", "-O2", "-o", program, str(source)], check=True)
        done = subprocess.run([program], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def options(kind: str) -> dict[str, Any]:
    return {"unix_sockets": kind == "unix"}


class Server:
    def sink(self, connection: Any) -> EchoSink:
        return EchoSink(connection)

    def on_connected(self, connection: Any) -> None: ...

    def on_lost(self, connection: Any, error: Exception) -> None: ...


class Client(Server):
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.lock.acquire()
        self.replies = ReplySink(self.lock)

    def sink(self, connection: Any) -> Any:
        return self.replies


def serve(kind: str, pem: list[str]) -> None:
    tls = TlsConfig(*pem) if kind == "tls" else None
    server = Transport("s", Server(), secret=SECRET, host="127.0.0.1", tls=tls, **options(kind))
    print(server.listen()[1], flush=True)
    sys.stdin.read()


def cpu(process: psutil.Process) -> float:
    own, other = os.times(), process.cpu_times()
    return own.user + own.system + other.user + other.system


def measure(kind: str, seconds: float) -> dict[str, float]:
    tls = TlsConfig.ephemeral() if kind == "tls" else None
    pem = [str(tls.certificate), str(tls.key), str(tls.ca)] if tls else []
    with subprocess.Popen(
        [sys.executable, __file__, "--serve", kind, *pem],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        server = psutil.Process(process.pid)
        handler = Client()
        client = Transport("c", handler, secret=SECRET, tls=tls, **options(kind))
        connection = client.dial(("127.0.0.1", port)).result(10)
        found = {
            "ask p50 us": sequential(connection, handler, seconds, 100),
            "64 KiB ask p50 us": sequential(connection, handler, seconds / 2, 65536),
            "1 MiB ask p50 us": sequential(connection, handler, seconds / 2, 1 << 20),
        }
        before, start = cpu(server), time.perf_counter()
        asked = pipelined(connection, handler, seconds)
        found["asks/s"] = asked / (time.perf_counter() - start)
        found["asks per core-second"] = asked / (cpu(server) - before)
        before, start = cpu(server), time.perf_counter()
        told = tells(connection, handler, seconds)
        found["tells/s"] = told / (time.perf_counter() - start)
        found["tells per core-second"] = told / (cpu(server) - before)
        client.close().result(10)
        process.communicate()
    return found


def sequential(connection: Any, handler: Client, seconds: float, size: int) -> float:
    times, payload, replies = [], bytes(size), handler.replies
    end = time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        wanted = replies.replies + 1
        replies.want(wanted)
        connection.send(FrameKind.ASK, 1, 2, wanted, payload)
        handler.lock.acquire()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def pipelined(connection: Any, handler: Client, seconds: float) -> int:
    payload, replies, send = bytes(100), handler.replies, connection.send
    first = sent = replies.replies
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for _ in range(IN_FLIGHT - (sent - replies.replies)):
            send(FrameKind.ASK, 1, 2, sent, payload)
            sent += 1
        if not replies.want(sent - IN_FLIGHT // 2):
            handler.lock.acquire()
    if not replies.want(sent):
        handler.lock.acquire()
    return sent - first


def tells(connection: Any, handler: Client, seconds: float) -> int:
    payload, send, sent = bytes(100), connection.send, 0
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for _ in range(1000):
            send(FrameKind.TELL, 1, 2, 0, payload)
        sent += 1000
    wanted = handler.replies.replies + 1
    if not handler.replies.want(wanted):
        send(FrameKind.ASK, 1, 2, 0, payload)
        handler.lock.acquire()
    return sent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--serve", nargs="+")
    parser.add_argument("kinds", nargs="*", default=MEASURED)
    asked = parser.parse_args()
    if asked.serve:
        serve(asked.serve[0], asked.serve[1:])
        return
    print(f"C TCP ping-pong p50 us: {compiled_pingpong()}")
    for kind in asked.kinds:
        for name, value in measure(kind, asked.seconds).items():
            print(f"{kind:5} {name:24} {value:12,.1f}")


if __name__ == "__main__":
    main()
