"""Calls between two processes: python asv_bench/whole/rpc_remote.py [--seconds S] [KIND ...]

A client asks an endpoint of another process on this host, futures and all, over tcp, unix sockets
and TLS.  CPU is that of both processes, the system's share included.  Beside it pyzmq and gRPC,
where they are installed, and the round trip in C that no transport can beat.  Each kind of work is
measured three times and the median is given.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import psutil
import pyarrow as pa
from rpc_floor import compiled_pingpong

from flinkish.rpc import RpcEndpoint, RpcGateway, RpcService
from flinkish.rpc.tls import TlsConfig

SECRET = "a secret for one measurement"
IN_FLIGHT = 1000
REPEAT = 3
MEASURED = ("tcp", "unix", "tls", "zmq", "grpc")
TEXT = "x" * 80


class EchoGateway(RpcGateway):
    def add(self, n: int) -> Future[int]: ...
    def echo(self, data: bytes) -> Future[bytes]: ...
    def text(self, text: str) -> Future[str]: ...
    def told(self, n: int) -> None: ...
    def count(self) -> int: ...
    def table(self, batch: pa.RecordBatch) -> Future[int]: ...


class Echo(RpcEndpoint, EchoGateway):
    def __init__(self, service: RpcService) -> None:
        super().__init__(service, "echo")
        self.tells = 0

    def add(self, n: int) -> Any:
        return n + 1

    def echo(self, data: bytes) -> Any:
        return data

    def text(self, text: str) -> Any:
        return text

    def told(self, n: int) -> None:
        self.tells += 1

    def count(self) -> int:
        return self.tells

    def table(self, batch: Any) -> Any:
        return batch.num_rows


class Meter:
    """Work per second, and per second of CPU of both processes."""

    def __init__(self, server: int, seconds: float) -> None:
        self._server = psutil.Process(server)
        self._seconds = seconds

    def _cpu(self) -> float:
        own, other = os.times(), self._server.cpu_times()
        return own.user + own.system + other.user + other.system

    def latency(self, call: Callable[[], object]) -> float:
        """The median of one call, in us."""
        times = []
        end = time.perf_counter() + self._seconds
        while (start := time.perf_counter()) < end:
            call()
            times.append(time.perf_counter() - start)
        return statistics.median(times) * 1e6

    def rate(self, some: Callable[[], int]) -> tuple[float, float]:
        """How many per second, and per second of CPU."""
        found = []
        for _ in range(REPEAT):
            count, before, start = 0, self._cpu(), time.perf_counter()
            while time.perf_counter() - start < self._seconds:
                count += some()
            found.append((count / (time.perf_counter() - start), count / (self._cpu() - before)))
        return sorted(found)[REPEAT // 2]


def options(kind: str, pem: list[str]) -> dict[str, Any]:
    return {"unix_sockets": kind == "unix", "tls": TlsConfig(*pem) if kind == "tls" else None}


def measure_flinkish(kind: str, meter: Meter, port: int, pem: list[str]) -> dict[str, float]:
    with RpcService("client", secret=SECRET, ask_timeout="60 seconds", **options(kind, pem)) as s:
        address = f"flinkish.tcp://server@127.0.0.1:{port}/user/rpc/echo"
        echo = s.connect(address, EchoGateway).result(10)

        def pipelined() -> int:
            futures = [echo.text(TEXT) for _ in range(IN_FLIGHT)]
            for future in futures:
                future.result()
            return IN_FLIGHT

        def rolling() -> int:
            """As many under way at all times."""
            futures = [echo.add(i) for i in range(IN_FLIGHT)]
            for _ in range(4):
                for i in range(0, IN_FLIGHT, 100):
                    for at in range(i, i + 100):
                        futures[at].result()
                    futures[i : i + 100] = [echo.add(at) for at in range(100)]
            for future in futures:
                future.result()
            return 5 * IN_FLIGHT

        def tells() -> int:
            for i in range(5000):
                echo.told(i)
            echo.count()
            return 5000

        kib64, batch = bytes(65536), pa.record_batch({"a": pa.array(range(131_072), pa.int64())})
        echo.add(1).result()
        found = {
            "ask p50 us": meter.latency(lambda: echo.add(1).result()),
            "blocking ask p50 us": meter.latency(echo.count),
            "64 KiB ask p50 us": meter.latency(lambda: echo.echo(kib64).result()),
        }
        found["1 MiB Arrow batch GB/s"] = (
            1.048 / meter.latency(lambda: echo.table(batch).result()) * 1e3
        )
        for name, some in (("asks", pipelined), ("rolling asks", rolling), ("tells", tells)):
            found[f"{name}/s"], found[f"{name} per core-second"] = meter.rate(some)
        return found


def serve_flinkish(kind: str, pem: list[str]) -> None:
    with RpcService("server", secret=SECRET, host="127.0.0.1", **options(kind, pem)) as service:
        echo = Echo(service)
        echo.start()
        print(service.port, flush=True)
        sys.stdin.read()


def serve_zmq() -> None:
    import zmq

    socket = zmq.Context().socket(zmq.ROUTER)
    port = socket.bind_to_random_port("tcp://127.0.0.1")
    print(port, flush=True)
    while True:
        socket.send_multipart(socket.recv_multipart())


def measure_zmq(meter: Meter, port: int) -> dict[str, float]:
    import zmq

    socket = zmq.Context().socket(zmq.DEALER)
    socket.connect(f"tcp://127.0.0.1:{port}")
    message = TEXT.encode()

    def once() -> None:
        socket.send(message)
        socket.recv()

    def pipelined() -> int:
        for _ in range(IN_FLIGHT):
            socket.send(message)
        for _ in range(IN_FLIGHT):
            socket.recv()
        return IN_FLIGHT

    found = {"ask p50 us": meter.latency(once)}
    found["asks/s"], found["asks per core-second"] = meter.rate(pipelined)
    return found


def serve_grpc() -> None:
    import grpc

    async def echo(requests: Any, context: Any) -> Any:
        async for request in requests:
            yield request

    async def main() -> None:
        server = grpc.aio.server()
        handler = grpc.stream_stream_rpc_method_handler(echo)
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("Echo", {"Talk": handler}),)
        )
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        print(port, flush=True)
        await server.wait_for_termination()

    asyncio.run(main())


def measure_grpc(meter: Meter, port: int) -> dict[str, float]:
    import grpc

    loop = asyncio.new_event_loop()
    channel = None

    async def begin() -> Any:
        nonlocal channel
        channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
        return channel.stream_stream("/Echo/Talk")()

    call = loop.run_until_complete(begin())
    message = TEXT.encode()

    async def exchange(count: int) -> None:
        async def send() -> None:
            for _ in range(count):
                await call.write(message)

        sending = asyncio.ensure_future(send())
        for _ in range(count):
            await call.read()
        await sending

    def pipelined() -> int:
        loop.run_until_complete(exchange(IN_FLIGHT))
        return IN_FLIGHT

    found = {"ask p50 us": meter.latency(lambda: loop.run_until_complete(exchange(1)))}
    found["asks/s"], found["asks per core-second"] = meter.rate(pipelined)
    call.cancel()
    loop.run_until_complete(channel.close())
    return found


def measure(kind: str, seconds: float) -> dict[str, float]:
    if kind in ("zmq", "grpc"):
        importlib.import_module(kind)
    tls = TlsConfig.ephemeral() if kind == "tls" else None
    pem = [str(tls.certificate), str(tls.key), str(tls.ca)] if tls else []
    command = [sys.executable, __file__, "--serve", kind, *pem]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            port = int(process.stdout.readline())
            meter = Meter(process.pid, seconds)
            if kind == "zmq":
                return measure_zmq(meter, port)
            if kind == "grpc":
                return measure_grpc(meter, port)
            return measure_flinkish(kind, meter, port, pem)
        finally:
            process.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--serve", nargs="+")
    parser.add_argument("kinds", nargs="*", default=MEASURED)
    asked = parser.parse_args()
    if asked.serve:
        kind, *pem = asked.serve
        other = {"zmq": serve_zmq, "grpc": serve_grpc}.get(kind)
        return other() if other else serve_flinkish(kind, pem)
    print(f"C TCP ping-pong p50 us: {compiled_pingpong()}")
    for kind in asked.kinds:
        try:
            found = measure(kind, asked.seconds)
        except ImportError as error:
            print(f"{kind:5} {error}")
            continue
        for name, value in found.items():
            print(f"{kind:5} {name:28} {value:12,.1f}")
    return None


if __name__ == "__main__":
    main()
