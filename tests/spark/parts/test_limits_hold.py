"""Limits across a job, in virtual time (see limit_world): rates over any 5 s, places always."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flinkish.spark.limits import Adaptive, Concurrency, Rate
from flinkish.spark.limits.permits import LEASE_NS, PermitLedger
from tests.spark.limit_world import S, Worker, World, least_in, most_in


def come_and_go(world: World, most: int, every_s: float) -> None:
    """Between one and `most` workers; every 5 s one dies without a word, if there are three."""
    chance = world.chance

    def living() -> list[Worker]:
        return [worker for worker in world.workers if worker.alive]

    def change() -> None:
        there = living()
        if len(there) < 2 or (len(there) < most and chance.random() < 0.5):
            world.worker()
        else:
            chance.choice(there).leave()
        world.at(world.now + int(chance.expovariate(1 / every_s) * S), change)

    def death() -> None:
        if len(living()) > 2:
            chance.choice(living()).die()
        world.at(world.now + 5 * S, death)

    world.worker()
    world.at(world.now + S, change)
    world.at(world.now + 3 * S, death)


@pytest.mark.parametrize("latency_ms", [0.2, 1.0])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rate", ["500/s", "5000/s"])
def test_any_5_s_have_the_rate_within_2_percent(rate: str, seed: int, latency_ms: float) -> None:
    limit = Rate(rate)
    world = World(PermitLedger(limit), seed, latency_ms)
    start = world.now
    come_and_go(world, most=8, every_s=1.2)  # who goes leaves a gap of some 20 ms
    world.run(40 if limit.per_second < 1000 else 20)
    full = 5 * limit.per_second
    assert len(world.workers) >= 8
    assert most_in(world.uses, 5 * S) <= full * 1.02
    assert least_in(world.uses, 5 * S, start + S, world.now) >= full * 0.98
    asked = world.requests / len(world.uses)
    assert asked <= (0.35 if limit.per_second < 1000 else 0.035), "a permit costs no round trip"


@pytest.mark.parametrize("latency_ms", [10, 20, 50, 100])
@pytest.mark.parametrize("workers", [1, 4, 8])
def test_a_rate_is_reached_where_answers_take_longer_than_slices_last(
    workers: int, latency_ms: float
) -> None:
    """A machine on which everybody waits for a core: one worker stood still for seconds there."""
    world = World(PermitLedger(Rate("500/s")), seed=1, latency_ms=latency_ms)
    start = world.now
    for _ in range(workers):
        world.worker()
    world.run(30)
    assert most_in(world.uses, 5 * S) <= 2_500 * 1.02
    assert least_in(world.uses, 5 * S, start + 5 * S, world.now) >= 2_500 * 0.75


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    rate=st.sampled_from(["3/s", "40/s", "700/s"]),
    latency_ms=st.sampled_from([0.1, 1.0, 5.0, 30.0]),
    every_s=st.sampled_from([0.1, 1.0]),
)
def test_no_5_s_have_more_whatever_the_network_does(
    seed: int, rate: str, latency_ms: float, every_s: float
) -> None:
    """Where 2 % are less than a permit, one permit for the burst and one for the late count."""
    limit = Rate(rate)
    world = World(PermitLedger(limit), seed, latency_ms)
    come_and_go(world, most=8, every_s=every_s)
    world.run(15)
    full = 5 * limit.per_second
    slack = 0.02 if latency_ms <= 5 else 0.03
    assert most_in(world.uses, 5 * S) <= full + max(full * slack, 2)
    assert world.uses, "and it does start calls"


def test_workers_share_evenly() -> None:
    world = World(PermitLedger(Rate("800/s")), seed=1)
    for _ in range(8):
        world.worker()
    world.run(20)
    calls = [worker.calls for worker in world.workers]
    assert max(calls) < 1.1 * min(calls)


def test_who_needs_little_gets_it_and_the_rest_gets_what_is_left() -> None:
    world = World(PermitLedger(Rate("500/s")), seed=2)
    small, large = world.worker(waiting=0), world.worker()
    for i in range(1000):
        world.at(world.now + i * S // 50, small.arrive)
    world.run(20)
    assert small.calls >= 980
    assert sum(worker.calls for worker in (small, large)) >= 0.98 * 500 * 20


def test_after_a_pause_only_the_burst_comes_at_once() -> None:
    world = World(PermitLedger(Rate("100/s", burst=30)), seed=3)
    worker = world.worker(waiting=0)
    world.run(10)
    worker.arrive(1000)
    world.run(4)
    assert 430 - 12 <= len(world.uses) <= 430 + 4
    assert most_in(world.uses, S // 100) >= 30 - 2


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    limit=st.integers(1, 40),
    call_ms=st.sampled_from([2.0, 30.0, 400.0]),  # the first is over before an answer comes
    latency_ms=st.sampled_from([0.2, 5.0]),
)
def test_calls_at_once_are_never_more_than_the_limit(
    seed: int, limit: int, call_ms: float, latency_ms: float
) -> None:
    """P3; who dies in silence takes its calls with it, and its places return after a lease."""
    world = World(PermitLedger(concurrency=Concurrency(limit)), seed, latency_ms)
    chance = world.chance
    world.worker(call_ms=call_ms)
    for step in range(60):
        living = [worker for worker in world.workers if worker.alive]
        if len(living) < 6 and chance.random() < 0.3:
            world.worker(waiting=chance.choice([math.inf, 20]), call_ms=call_ms)
        elif chance.random() < 0.1:
            chance.choice(living or world.workers).leave()
        elif chance.random() < 0.05:
            chance.choice(living or world.workers).die()
        world.run(chance.choice([0.01, 0.3]))
        assert sum(worker.lease.busy for worker in world.workers if worker.alive) <= limit, step
        assert world.ledger.statistics(world.now).held <= limit
    for worker in world.workers:
        worker.die()
    heir = world.worker(call_ms=400)
    world.run(2 * LEASE_NS / S)
    assert heir.lease.busy == limit, "all places are there again"


def test_an_adaptive_rate_finds_what_the_service_takes() -> None:
    """A service for 200/s behind a limit of 1,000/s: AIMD saws below and about it."""
    ledger = PermitLedger(Rate("1000/s", adaptive=Adaptive(lambda error: True, increase=0.02)))
    world = World(ledger, seed=4)
    for _ in range(4):
        world.worker()
    refused, seen = 0, 0

    def serve() -> None:
        nonlocal refused, seen
        lately = [use for use in world.uses[-400:] if use > world.now - S]
        if len(lately) > 200:
            refused += 1
            worker = world.chance.choice(world.workers)
            worker.lease.throttled(worker.clock(), 0, worker.clock())
            worker.pump()
        seen += 1
        world.at(world.now + S // 20, serve)

    serve()
    world.run(10)
    begin = len(world.uses)
    world.run(40)
    assert 80 <= (len(world.uses) - begin) / 40 <= 230
    assert refused < seen / 3
