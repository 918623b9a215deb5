"""The ledger behind an endpoint: through bytes, over sockets, between processes."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from flinkish.common.errors import FencingTokenError
from flinkish.functions import RuntimeContext
from flinkish.operators import TaskRuntimeContext
from flinkish.rpc import RpcService
from flinkish.spark.limits import Concurrency, Rate
from flinkish.spark.limits import endpoint as limits_endpoint
from flinkish.spark.limits.endpoint import LimitServer, PermitsEndpoint, PermitsGateway, connect
from flinkish.spark.limits.layer import JobLimits, LimitLayer
from flinkish.spark.limits.lease import Lease
from flinkish.spark.limits.permits import LEASE_NS, PermitLedger
from tests.processes import LONGEST_S
from tests.spark.limit_world import most_in
from tests.waiting import PATIENCE, until

S = 1_000_000_000


@pytest.fixture
def server() -> Iterator[LimitServer]:
    served = LimitServer("127.0.0.1")
    yield served
    while limits_endpoint._clients:
        limits_endpoint._clients.popitem()[1].close_async().result(PATIENCE)
    served.close()


def test_requests_and_grants_travel_as_bytes() -> None:
    service = RpcService("here", force_serialization=True)
    ledger = PermitLedger(Rate("100/s", burst=1), Concurrency(3))
    endpoint = PermitsEndpoint(service, "permits", "token", ledger, clock_ns=lambda: 7 * S)
    endpoint.start()
    gateway = service.connect(endpoint.address, PermitsGateway, "token").result(PATIENCE)
    lease = Lease("w", paced=True, counted=True)
    request = lease.request(5, 100)
    assert request is not None
    lease.granted(gateway.lease(request).result(PATIENCE), 100)
    assert lease.take(100)
    assert not lease.take(101)
    assert lease.in_hand == 3
    gateway.leave("w", lease.token, lease.drop())
    seen = endpoint.statistics().result(PATIENCE)
    assert (seen.workers, seen.granted, seen.returned, seen.held) == (0, 4, 3, 0)
    zombie = service.connect(endpoint.address, PermitsGateway, "an earlier one").result(PATIENCE)
    assert isinstance(zombie.lease(request).exception(PATIENCE), FencingTokenError)
    service.close_async().result(PATIENCE)


def test_workers_of_another_definition_get_nothing(server: LimitServer) -> None:
    address, _ = server.serve(Rate("100/s"), None)
    other, _ = server.serve(Rate("100/s"), None)
    request = Lease("w", paced=True, counted=False).request(1, 0)
    assert request is not None
    assert connect(address).lease(request).result(PATIENCE).permits == 1
    fenced = connect(replace(address, token=other.token)).lease(request)
    assert isinstance(fenced.exception(PATIENCE), FencingTokenError)


def test_an_address_keeps_its_secret_to_itself(server: LimitServer) -> None:
    address, _ = server.serve(Rate("100/s"), None)
    assert address.secret not in repr(address)
    assert pickle.loads(pickle.dumps(address)) == address


def context() -> RuntimeContext:
    return TaskRuntimeContext(task_name="calls")


def workers_of(endpoint: PermitsEndpoint) -> int:
    return endpoint.statistics().result(PATIENCE).workers


@pytest.mark.parametrize("far", [True, False])
def test_a_layer_limits_calls_on_the_loop_and_on_threads(server: LimitServer, far: bool) -> None:
    limit = Concurrency(2)
    address, endpoint = server.serve(None, limit)
    layer = LimitLayer(JobLimits(None, limit, address if far else None))
    freed = []
    layer.open(context(), lambda: freed.append(layer.num_waiting()))
    under_way, most = 0, 0

    async def call(row: int) -> int:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.005)
        under_way -= 1
        return row

    async def calls() -> list[int]:
        return await asyncio.gather(*(layer.call(call, row) for row in range(20)))

    assert layer._loop is not None
    assert layer._loop.run(calls()) == list(range(20))
    assert most == 2
    assert freed
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda row: layer.call_blocking(str, row), range(20))) == [
            str(row) for row in range(20)
        ]
    layer.close()
    layer.close()
    if far:
        until(lambda: workers_of(endpoint) == 0, "its good-bye arrives")
        assert endpoint.statistics().result(PATIENCE).held == 0


def test_a_layer_that_did_not_open_closes(server: LimitServer) -> None:
    address, _ = server.serve(Rate("1/s"), None)
    nowhere = replace(address, address=address.address.replace("permits-", "nobody-"))
    layer = LimitLayer(JobLimits(Rate("1/s"), None, nowhere))
    with pytest.raises(Exception, match="no such endpoint"):
        layer.open(context(), lambda: None)
    layer.close()


WORKER = """
    import asyncio, json, pickle, sys, time
    from flinkish.spark.limits import Rate, endpoint
    from flinkish.spark.limits.endpoint import connect
    from flinkish.spark.limits.limiter import Limiter

    async def main(name, address, rate, seconds):
        gateway = connect(pickle.loads(bytes.fromhex(address)))
        limiter = Limiter(gateway, name, rate=Rate(rate), loop=asyncio.get_running_loop())
        end = time.monotonic() + float(seconds)
        async def calls():
            while time.monotonic() < end:
                started = await limiter.acquire()
                limiter.release(started)
                print(started, flush=True)
        await asyncio.gather(*(calls() for _ in range(20)))
        limiter.close()

    asyncio.run(main(*sys.argv[1:]))
    for service in endpoint._clients.values():
        service.close_async().result()  # behind the good-bye
"""


def test_processes_keep_to_one_rate_and_one_of_them_is_killed(
    server: LimitServer, environment: dict[str, str]
) -> None:
    rate = Rate("300/s")
    address, endpoint = server.serve(rate, None)
    told = pickle.dumps(address).hex()

    def start(name: str, seconds: float) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", textwrap.dedent(WORKER), name, told, rate.text]
        return subprocess.Popen(
            [*command, str(seconds)], env=environment, stdout=subprocess.PIPE, text=True
        )

    workers = [start("a", 3.0), start("b", 2.0), start("c", 3_600.0)]
    killed = workers[2].stdout
    assert killed is not None
    first = killed.readline()
    time.sleep(0.5)
    os.kill(workers[2].pid, signal.SIGKILL)
    silent_since = time.monotonic_ns()
    lines = [first, *(worker.communicate(timeout=LONGEST_S)[0] for worker in workers)]
    assert [worker.returncode for worker in workers] == [0, 0, -signal.SIGKILL]
    uses = sorted(int(use) for use in "".join(lines).split())
    assert most_in(uses, S) <= 300 * (1 + 0.08) + rate.burst_permits
    until(lambda: workers_of(endpoint) <= 1, "the good-byes of the others arrive")
    seen = endpoint.statistics().result(PATIENCE)
    forgotten = time.monotonic_ns() - silent_since > LEASE_NS
    assert seen.workers == 1 or forgotten, "the one that was killed has not said good-bye"
    assert len(uses) <= seen.granted
    assert json.dumps(vars(seen))


def test_the_services_of_two_drivers_are_kept_apart(server: LimitServer) -> None:
    other = LimitServer("127.0.0.1")
    for one in (server, other, server):
        address, _ = one.serve(Rate("5/s"), None)
        request: Any = Lease("w", paced=True, counted=False).request(1, 0)
        assert connect(address).lease(request).result(PATIENCE).permits == 1
    other.close()
