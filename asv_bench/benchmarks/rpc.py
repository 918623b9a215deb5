"""Calls within a process: one by one, pipelined, to 100,000 endpoints; peers beside them.

Figures of ``time_`` are seconds for all ``CALLS`` (or ``ROUNDS``): divide to get the cost of one.
``track_`` gives what its unit says.  Calls between processes are in whole/rpc_remote.py.
"""

import os
import statistics
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import psutil

from flinkish.rpc import RpcEndpoint, RpcFuture, RpcGateway, RpcService

CALLS = 100_000
ROUNDS = 5_000
IN_FLIGHT = 1_000
CROWD = 100_000
PENDING = 1_000_000


class CounterGateway(RpcGateway):
    def add(self, n: int) -> Future[int]: ...
    def note(self, n: int) -> None: ...
    def value(self) -> int: ...
    def never(self) -> Future[int]: ...


class Counter(RpcEndpoint, CounterGateway):
    def __init__(self, service: RpcService) -> None:
        super().__init__(service)
        self.total = 0

    def add(self, n: int) -> Any:
        self.total += n
        return self.total

    def note(self, n: int) -> None:
        self.total += n

    def value(self) -> int:
        return self.total

    def never(self) -> Any:
        return RpcFuture()


class _Bench:
    number = 1
    repeat = (5, 15, 10.0)
    warmup_time = 0
    serialize = False

    def setup(self) -> None:
        self.service = RpcService(
            "bench", force_serialization=self.serialize, ask_timeout="10 minutes"
        )
        self.counter = Counter(self.service)
        self.counter.start()
        self.gateway = self.counter.get_self_gateway(CounterGateway)
        self.gateway.value()

    def teardown(self) -> None:
        self.service.close()


def pipelined(ask: Callable[[int], Any], calls: int = CALLS) -> None:
    for _ in range(calls // IN_FLIGHT):
        futures = [ask(1) for _ in range(IN_FLIGHT)]
        for future in futures:
            future.result()


class RpcLocal(_Bench):
    """Calls by reference."""

    def time_asks_one_by_one(self) -> None:
        add = self.gateway.add
        for _ in range(ROUNDS):
            add(1).result()

    def time_blocking_asks(self) -> None:
        value = self.gateway.value
        for _ in range(ROUNDS):
            value()

    def time_pipelined_asks(self) -> None:
        pipelined(self.gateway.add)

    def time_tells(self) -> None:
        note = self.gateway.note
        for _ in range(CALLS):
            note(1)
        self.gateway.value()

    def track_ask_p50(self) -> float:
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            self.gateway.add(1).result()
            times.append(time.perf_counter() - start)
        return statistics.median(times) * 1e6

    track_ask_p50.unit = "us"  # type: ignore[attr-defined]


class RpcSerialized(_Bench):
    """The same through bytes."""

    serialize = True

    def time_pipelined_asks(self) -> None:
        pipelined(self.gateway.add)


class RpcPeers:
    """What else a process has for a call on another thread."""

    number = 1
    repeat = (5, 15, 10.0)
    warmup_time = 0

    def setup(self) -> None:
        self.pool = ThreadPoolExecutor(1)
        self.there, self.back = os.eventfd(0), os.eventfd(0)
        self.ended = False
        self.thread = threading.Thread(target=self.answer)
        self.thread.start()

    def answer(self) -> None:
        while not self.ended:
            os.eventfd_read(self.there)
            os.eventfd_write(self.back, 1)

    def teardown(self) -> None:
        self.ended = True
        os.eventfd_write(self.there, 1)
        self.thread.join()
        for file in (self.there, self.back):
            os.close(file)
        self.pool.shutdown()

    def time_eventfd_round_trips(self) -> None:
        for _ in range(ROUNDS):
            os.eventfd_write(self.there, 1)
            os.eventfd_read(self.back)

    def time_thread_pool_one_by_one(self) -> None:
        for _ in range(ROUNDS):
            self.pool.submit(int).result()

    def time_thread_pool_pipelined(self) -> None:
        pipelined(lambda _: self.pool.submit(int))


class RpcCrowd(_Bench):
    """100,000 endpoints on two threads."""

    repeat = (3, 5, 10.0)  # each makes the crowd anew
    timeout = 300

    def setup(self) -> None:
        super().setup()
        before = psutil.Process().memory_info().rss
        self.crowd = [Counter(self.service) for _ in range(CROWD)]
        for counter in self.crowd:
            counter.start()
        self.gateway.value()
        self.weight = (psutil.Process().memory_info().rss - before) / CROWD
        self.gateways = [counter.get_self_gateway(CounterGateway) for counter in self.crowd]
        self.gateways[-1].value()

    def time_a_tell_to_each(self) -> None:
        for gateway in self.gateways:
            gateway.note(1)
        self.gateways[-1].value()

    def time_an_ask_to_each(self) -> None:
        futures = [gateway.add(1) for gateway in self.gateways]
        for future in futures:
            future.result()

    def track_bytes_of_an_idle_endpoint(self) -> float:
        return self.weight

    track_bytes_of_an_idle_endpoint.unit = "bytes"  # type: ignore[attr-defined]


class RpcTimeLimits(_Bench):
    """Pipelined asks while others wait for their answers; compare with no others."""

    repeat = (3, 5, 10.0)
    timeout = 300
    params = (0, PENDING)
    param_names = ("pending",)

    def setup(self, pending: int) -> None:
        super().setup()
        never = self.gateway.never
        self.others = [never() for _ in range(pending)]
        self.gateway.value()

    def teardown(self, pending: int) -> None:
        del self.others
        super().teardown()

    def time_pipelined_asks(self, pending: int) -> None:
        pipelined(self.gateway.add)


class RpcFutures:
    """A future made, ended and read."""

    number = 1
    repeat = (5, 15, 10.0)
    warmup_time = 0
    params = ("light", "standard")
    param_names = ("kind",)

    def setup(self, kind: str) -> None:
        self.make: Any = RpcFuture if kind == "light" else Future

    def time_life(self, kind: str) -> None:
        make = self.make
        for _ in range(CALLS):
            future = make()
            future.set_result(1)
            future.result()
