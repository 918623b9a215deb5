"""`async def` methods of endpoints; C1 - C6 are the invariants of flinkish/rpc/coroutines.py."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from flinkish.common.errors import (
    EndpointNotStartedError,
    RecipientUnreachableError,
    RemoteError,
)
from flinkish.rpc import RpcEndpoint, RpcGateway, RpcService, ask, tell
from tests.waiting import until

from .rig import SOON, either, service

__all__ = ["either", "service"]


class WorkerGateway(RpcGateway):
    @ask
    def sleep(self, millis: int, name: str) -> str: ...  # type: ignore[empty-body]
    @ask
    def hold(self, name: str) -> str: ...  # type: ignore[empty-body]
    @tell
    def release(self, name: str) -> None: ...
    @tell
    def note(self, name: str) -> None: ...
    @tell
    def fail_quietly(self) -> None: ...
    @ask
    def fail(self) -> int: ...  # type: ignore[empty-body]
    @ask
    def give_up(self) -> int: ...  # type: ignore[empty-body]
    @ask
    def leave(self) -> int: ...  # type: ignore[empty-body]
    @ask
    def fetch(self, port: int) -> str: ...  # type: ignore[empty-body]
    @ask
    def thread_and_back(self) -> int: ...  # type: ignore[empty-body]
    @ask
    def busy(self) -> int: ...  # type: ignore[empty-body]
    @ask
    def spin(self) -> None: ...
    @ask
    def order(self) -> list[str]: ...  # type: ignore[empty-body]


class Worker(RpcEndpoint, WorkerGateway):
    def __init__(self, service: RpcService, name: str = "worker", **more: Any) -> None:
        super().__init__(service, name, **more)
        self.events: list[str] = []
        self.held: dict[str, asyncio.Event] = {}
        self.inside = 0
        self.spins = True
        self.stopping: str | None = None

    def mark(self, what: str) -> None:
        self.validate_runs_in_main_thread()
        self.events.append(what)

    async def sleep(self, millis: int, name: str) -> str:
        self.mark(f"{name} in")
        await asyncio.sleep(millis / 1000)
        self.mark(f"{name} out")
        return name

    async def hold(self, name: str) -> str:
        self.mark(f"{name} in")
        event = self.held[name] = asyncio.Event()
        try:
            await event.wait()
        except asyncio.CancelledError:
            self.mark(f"{name} cancelled")
            await asyncio.sleep(0.001)  # a clean-up that waits
            self.mark(f"{name} cleaned")
            raise
        self.mark(f"{name} out")
        return name

    def release(self, name: str) -> None:
        self.mark(f"release {name}")
        self.held[name].set()

    async def note(self, name: str) -> None:
        self.mark(name)

    async def fail_quietly(self) -> None:
        await asyncio.sleep(0)
        raise KeyError("quiet")

    async def fail(self) -> int:
        await asyncio.sleep(0)
        raise KeyError("loud")

    async def give_up(self) -> int:
        raise asyncio.CancelledError

    async def leave(self) -> int:
        await asyncio.sleep(0)
        raise SystemExit(3)

    async def fetch(self, port: int) -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"hello\n")
        line = await reader.readline()
        self.validate_runs_in_main_thread()
        writer.close()
        await writer.wait_closed()
        return line.decode()

    async def thread_and_back(self) -> int:
        there = await asyncio.to_thread(threading.get_ident)
        self.validate_runs_in_main_thread()
        return there

    async def _one(self) -> int:
        for _ in range(20):
            self.inside += 1
            assert self.inside == 1
            self.validate_runs_in_main_thread()
            self.inside -= 1
            await asyncio.sleep(0)
        return 1

    async def busy(self) -> int:
        return sum(await asyncio.gather(*(self._one() for _ in range(20))))

    async def spin(self) -> None:
        while self.spins:
            await asyncio.sleep(0)

    def order(self) -> list[str]:
        return list(self.events)

    async def on_stop(self) -> None:
        self.mark("stopping")
        if self.stopping is not None:
            await self.hold(self.stopping)


@pytest.fixture
def worker(service: RpcService) -> Worker:
    worker = Worker(service)
    worker.start()
    return worker


def gateway_of(worker: Worker) -> WorkerGateway:
    return worker.get_self_gateway(WorkerGateway)


def test_calls_interleave_at_waits_and_begin_in_order(worker: Worker) -> None:
    """C1, C2: what came later runs while an earlier call waits, in its turn until it waits."""
    gateway = gateway_of(worker)
    first, second = gateway.hold("a"), gateway.hold("b")
    gateway.note("c")
    assert gateway.order().result(SOON) == ["a in", "b in", "c"]
    gateway.release("b")
    assert second.result(SOON) == "b"
    assert not first.done()
    gateway.release("a")
    assert first.result(SOON) == "a"
    assert worker.events[3:] == ["release b", "b out", "release a", "a out"]


def test_timers_of_the_loop(either: RpcService) -> None:
    worker = Worker(either)
    worker.start()
    gateway = gateway_of(worker)
    long, short = gateway.sleep(40, "long"), gateway.sleep(1, "short")
    assert [long.result(SOON), short.result(SOON)] == ["long", "short"]
    assert worker.events[:2] == ["long in", "short in"]


def test_errors_arrive_as_those_of_plain_methods(either: RpcService) -> None:
    worker = Worker(either)
    worker.start()
    gateway = gateway_of(worker)
    with pytest.raises(KeyError, match="loud"):
        gateway.fail().result(SOON)
    remote = isinstance(gateway.fail().exception(SOON), RemoteError)
    assert remote is either._serialize
    assert gateway.give_up().exception(SOON) is not None
    assert gateway.leave().exception(SOON) is not None
    assert gateway.sleep(0, "well").result(SOON) == "well"


def test_tells_that_fail_are_logged(worker: Worker, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "flinkish.rpc"):
        gateway_of(worker).fail_quietly()
        until(lambda: caplog.records)
    assert "fail_quietly of endpoint 'worker' raised" in caplog.text
    assert "KeyError: 'quiet'" in caplog.text


@contextlib.contextmanager
def echo() -> Iterator[int]:
    """The port of a server that sends lines back."""
    started, ended = threading.Event(), threading.Event()
    ports: list[int] = []

    async def serve() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write((await reader.readline()).upper())
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            ports.append(server.sockets[0].getsockname()[1])
            started.set()
            await asyncio.to_thread(ended.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert started.wait(SOON)
    try:
        yield ports[0]
    finally:
        ended.set()
        thread.join()


def test_libraries_of_asyncio_work_within(worker: Worker) -> None:
    """Sockets, threads, tasks: C1 holds for all of them, C3 for their wake-ups."""
    gateway = gateway_of(worker)
    with echo() as port:
        asks = [gateway.fetch(port) for _ in range(20)]
        assert {ask.result(SOON) for ask in asks} == {"HELLO\n"}
    assert gateway.thread_and_back().result(SOON) != threading.get_ident()
    assert gateway.busy().result(SOON) == 20


def test_a_coroutine_that_never_rests_leaves_others_their_turns(worker: Worker) -> None:
    gateway = gateway_of(worker)
    spinning = gateway.spin()
    assert gateway.sleep(1, "other").result(SOON) == "other"
    worker.run_async(lambda: setattr(worker, "spins", False))
    assert spinning.result(SOON) is None


def test_wake_ups_from_other_threads_are_never_lost(service: RpcService) -> None:
    """C3: two endpoints ask each other, so each answer ends a wait of the other one's loop."""

    class PingGateway(RpcGateway):
        @ask
        def ping(self, n: int) -> int: ...  # type: ignore[empty-body]

    class Ping(RpcEndpoint, PingGateway):
        other: PingGateway

        async def ping(self, n: int) -> int:
            return 0 if n == 0 else 1 + await self.other.ping(n - 1)

    one, two = Ping(service, "one"), Ping(service, "two")
    one.other, two.other = two.get_self_gateway(PingGateway), one.get_self_gateway(PingGateway)
    one.start()
    two.start()
    asks = [end.get_self_gateway(PingGateway).ping(30) for end in (one, two) for _ in range(20)]
    assert [ask.result(SOON) for ask in asks] == [30] * 40


def test_the_end_cancels_coroutines_and_waits_for_them(worker: Worker) -> None:
    """C5: on_stop comes first, calls are answered until it ends, then the rest is cancelled."""
    gateway = gateway_of(worker)
    worker.stopping = "stop"
    held = gateway.hold("a")
    ended = worker.close_async()
    assert gateway.sleep(1, "late").result(SOON) == "late"
    assert not ended.done()
    gateway.release("stop")
    ended.result(SOON)
    assert isinstance(held.exception(SOON), RecipientUnreachableError)
    assert worker.events[-3:] == ["stop out", "a cancelled", "a cleaned"]
    assert isinstance(gateway.sleep(1, "x").exception(SOON), RecipientUnreachableError)


def test_functions_that_are_async(worker: Worker, caplog: pytest.LogCaptureFixture) -> None:
    async def inside() -> str:
        await asyncio.sleep(0.001)
        worker.validate_runs_in_main_thread()
        return "done"

    async def fails() -> None:
        raise KeyError("inside")

    assert worker.call_async(inside, "1 minute").result(SOON) == "done"
    assert worker.main_thread_executor.submit(inside).result(SOON) == "done"
    assert isinstance(worker.call_async(fails, "1 minute").exception(SOON), KeyError)
    with caplog.at_level(logging.ERROR, "flinkish.rpc"):
        worker.run_async(fails)
        until(lambda: caplog.records)
    assert "KeyError: 'inside'" in caplog.text


def test_nothing_of_a_stopped_endpoint_starts(service: RpcService) -> None:
    worker = Worker(service)
    gateway = gateway_of(worker)
    assert isinstance(gateway.sleep(1, "x").exception(SOON), EndpointNotStartedError)
    worker.close_async().result(SOON)
    assert worker.events == []


def test_a_failing_endpoint_gives_its_files_back(service: RpcService) -> None:
    """C5, C6: on the short way out, too; its coroutines get their cancellation."""
    worker = Worker(service)
    worker.start()
    held = gateway_of(worker).hold("a")
    assert gateway_of(worker).order().result(SOON) == ["a in"]
    worker._control(worker._start)  # as if started
    worker._control(lambda: worker._abort(OSError("lost")))
    assert isinstance(held.exception(SOON), RecipientUnreachableError)
    assert "a cancelled" in worker.events


def test_loops_give_their_files_back() -> None:
    def rounds() -> None:
        with RpcService("files") as service:
            workers = [Worker(service, f"w{n}") for n in range(5)]
            for worker in workers:
                worker.start()
            asks = [gateway_of(worker).sleep(1, "x") for worker in workers]
            assert [ask.result(SOON) for ask in asks] == ["x"] * 5

    rounds()
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    rounds()
    until(lambda: len(os.listdir("/proc/self/fd")) <= before, "files are closed")
