"""Many endpoints on few threads: serial, fair, never forgotten."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from flinkish.rpc import RpcEndpoint, RpcGateway, RpcService
from tests.waiting import until

from .rig import SOON, Counter, counter_of, main_thread, started


class StressGateway(RpcGateway):
    def step(self, sender: int, n: int) -> None: ...
    def sum(self) -> int: ...


class Serial(RpcEndpoint, StressGateway):
    """Notices when two threads are in it, or when a sender's calls change their order."""

    def __init__(self, service: RpcService, name: str, senders: int) -> None:
        super().__init__(service, name)
        self.inside = 0
        self.last = [-1] * senders
        self.count = 0
        self.faults = 0

    def step(self, sender: int, n: int) -> None:
        self.inside += 1
        self.faults += self.inside != 1 or n != self.last[sender] + 1
        self.last[sender] = n
        self.count += 1
        self.inside -= 1

    def sum(self) -> int:
        return self.count


@pytest.mark.stress
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_endpoints_are_serial_and_calls_keep_their_order(threads: int) -> None:
    """I1, I2 of rpc/inbox.pxd."""
    senders, endpoints, rounds = 4, 20, 300
    with RpcService("stress", dispatcher_threads=threads, mails_per_turn=3) as service:
        serials = [Serial(service, f"e{i}", senders) for i in range(endpoints)]
        for serial in serials:
            serial.start()
        gateways = [serial.get_self_gateway(StressGateway) for serial in serials]

        def send(sender: int) -> None:
            for n in range(rounds):
                for gateway in gateways:
                    gateway.step(sender, n)

        workers = [threading.Thread(target=send, args=(i,)) for i in range(senders)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert [gateway.sum() for gateway in gateways] == [senders * rounds] * endpoints
        assert sum(serial.faults for serial in serials) == 0


@pytest.mark.stress
def test_no_wake_up_is_lost() -> None:
    """I5: single calls from several threads, each waiting for its answer."""
    with RpcService("stress", dispatcher_threads=3) as service:
        _, gateway = started(service)

        def ask() -> None:
            for _ in range(1_000):
                gateway.add(1).result(SOON)
                gateway.value()

        workers = [threading.Thread(target=ask) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert gateway.value() == 4_000


def test_a_busy_endpoint_does_not_starve_others() -> None:
    """I7: a turn is bounded."""
    with RpcService("fair", dispatcher_threads=1, mails_per_turn=8) as service:
        busy, _ = started(service, "busy")
        _, gateway = started(service, "other")
        stop = threading.Event()

        def again() -> None:
            if not stop.is_set():
                busy.run_async(again)

        for _ in range(20):
            busy.run_async(again)
        try:
            assert gateway.add(1).result(SOON) == 1
        finally:
            stop.set()


def test_one_endpoint_that_blocks_leaves_the_others_their_threads() -> None:
    with RpcService("blocked", dispatcher_threads=2) as service:
        blocked, _ = started(service, "blocked")
        gate = threading.Event()
        entered = threading.Event()
        blocked.run_async(entered.set)
        blocked.run_async(lambda: gate.wait(SOON))
        assert entered.wait(SOON)
        try:
            for i in range(20):
                assert started(service, f"c{i}")[1].add(1).result(SOON) == 1
        finally:
            gate.set()


def test_an_endpoint_with_a_thread_of_its_own() -> None:
    with RpcService("pinned", dispatcher_threads=1) as service:
        pinned, gateway = started(service, "pinned", own_thread=True)
        _, other = started(service, "other")
        gate = threading.Event()
        pinned.run_async(lambda: gate.wait(SOON))
        asked = gateway.add(1)
        try:
            assert other.add(1).result(SOON) == 1
            assert not asked.done()
        finally:
            gate.set()
        assert asked.result(SOON) == 1
        name = main_thread(pinned, lambda: threading.current_thread().name)
        assert name == "pinned-rpc-pinned"
        pinned.close_async().result(SOON)
        until(lambda: name not in {thread.name for thread in threading.enumerate()})


def test_spare_threads_go_again() -> None:
    with RpcService("spare", dispatcher_threads=1) as service:
        first, _ = started(service, "first")
        _, to_second = started(service, "second")
        assert main_thread(first, to_second.value) == 0

        def dispatchers() -> int:
            return sum("spare-rpc-dispatcher" in thread.name for thread in threading.enumerate())

        until(lambda: dispatchers() == 1)
        assert to_second.value() == 0


@pytest.mark.stress
def test_endpoints_come_and_go_while_they_are_called() -> None:
    """I4: every ask gets an answer or an error."""
    with RpcService("churn", dispatcher_threads=3) as service:
        outcomes: list[Any] = []
        for i in range(60):
            counter = Counter(service, "again")
            counter.start()
            gateway = counter_of(service, counter)
            asked: list[Any] = []
            sender = threading.Thread(
                target=lambda gateway=gateway, asked=asked: asked.extend(  # type: ignore[misc]
                    gateway.add(1) for _ in range(50)
                )
            )
            sender.start()
            if i % 3 == 0:
                time.sleep(0.0005)
            counter.close_async().result(SOON)
            sender.join()
            outcomes += [future.exception(SOON) for future in asked]
        assert len(outcomes) == 60 * 50
        assert service.statistics().pending_asks == 0
