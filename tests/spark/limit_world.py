"""Ledger and workers in virtual time: clocks that disagree, slow networks, sudden deaths."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable
from itertools import count

from flinkish.spark.limits.lease import NEVER, Lease
from flinkish.spark.limits.permits import PermitLedger

MS = 1_000_000
S = 1_000_000_000


class World:
    """Events in the order of true time (ns), which is what the ledger's clock shows."""

    def __init__(self, ledger: PermitLedger, seed: int, latency_ms: float = 0.5) -> None:
        self.ledger = ledger
        self.chance = random.Random(seed)
        self.latency_ms = latency_ms
        self.now = 1_000 * S
        self.uses: list[int] = []  # true times at which calls were started
        self.workers: list[Worker] = []
        self.requests = 0
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()

    def at(self, when: int, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (max(when, self.now), next(self._order), event))

    def run(self, seconds: float) -> None:
        end = self.now + int(seconds * S)
        while self._events and self._events[0][0] <= end:
            self.now, _, event = heapq.heappop(self._events)
            event()
        self.now = end

    def travel(self) -> int:
        """How long a message takes: mostly short, one in a hundred long."""
        longer = 20.0 if self.chance.random() < 0.01 else 1.0
        return int(self.chance.expovariate(1 / self.latency_ms) * longer * MS) + 20_000

    def lag(self) -> int:
        """How late an event loop wakes up, by the way."""
        return int(self.chance.expovariate(1 / 0.1) * MS)

    def stall(self) -> tuple[int, int]:
        """When an event loop stands still next, and for how long: every other second, for 20 ms."""
        wait, length = self.chance.expovariate(1 / 2.0) * S, self.chance.expovariate(1 / 20) * MS
        return self.now + int(wait), int(length)

    def worker(self, **options: float) -> Worker:
        worker = Worker(self, f"w{len(self.workers)}", **options)
        self.workers.append(worker)
        worker.pump()
        return worker


class Worker:
    """Starts calls as soon as its lease lets it; `waiting` of them are there."""

    def __init__(
        self, world: World, name: str, waiting: float = math.inf, call_ms: float = 0
    ) -> None:
        self.world = world
        ledger = world.ledger
        limits = ledger.statistics(0)
        self.lease = Lease(name, paced=limits.rate_per_s > 0, counted=limits.concurrency > 0)
        self.waiting = waiting
        self.call_ns = int(call_ms * MS)
        self.alive = True
        self.calls = 0
        self.most = 0
        self._apart = world.chance.randrange(-(10**15), 10**15)
        self._drift = 1 + world.chance.uniform(-5e-5, 5e-5)
        self._wakes = 0
        self._stall = world.stall()
        self._latest = 0  # when the last of its requests arrives

    def clock(self) -> int:
        return int(self.world.now * self._drift) + self._apart

    def arrive(self, calls: int = 1) -> None:
        if self.alive:
            self.waiting += calls
            self.pump()

    def pump(self) -> None:
        if not self.alive:
            return
        world, lease = self.world, self.lease
        while self.waiting and lease.take(self.clock()):
            self.waiting -= 1
            self.calls += 1
            self.most = max(self.most, lease.busy)
            world.uses.append(world.now)
            world.at(world.now + self.call_ns, self._done)
        waiting = int(min(self.waiting, 1000))
        request = lease.request(waiting, self.clock())
        if request is not None:
            world.requests += 1
            arrival = world.now + world.travel()
            self._latest = max(self._latest, arrival)
            world.at(arrival, lambda: self._arrived(request))
        wake = lease.wake_at(waiting, self.clock())
        self._wakes += 1
        if wake < NEVER:
            wait = int((wake - self.clock()) / self._drift)
            number = self._wakes
            at = world.now + max(wait, 0) + world.lag()
            begin, length = self._stall
            if at >= begin:
                at += length
                self._stall = world.stall()
            world.at(at, lambda: self._wake(number))

    def die(self) -> None:
        self.alive = False

    def leave(self) -> None:
        if self.alive:
            self.alive = False
            world, lease = self.world, self.lease
            unused = lease.drop()
            world.at(
                max(world.now + world.travel(), self._latest),  # a good-bye overtakes no request
                lambda: world.ledger.leave(lease.worker, lease.token, unused, world.now),
            )

    def _arrived(self, request: object) -> None:
        grant = self.world.ledger.lease(request, self.world.now)  # type: ignore[arg-type]
        self.world.at(self.world.now + self.world.travel(), lambda: self._answered(grant))

    def _answered(self, grant: object) -> None:
        if self.alive:
            self.lease.granted(grant, self.clock())  # type: ignore[arg-type]
            self.pump()

    def _done(self) -> None:
        if self.alive:
            self.lease.done()
            self.pump()

    def _wake(self, number: int) -> None:
        if number == self._wakes:
            self.pump()


def most_in(uses: list[int], window: int) -> int:
    """The most uses in any window of this many ns."""
    first = most = 0
    for last, use in enumerate(uses):
        while uses[first] <= use - window:
            first += 1
        most = max(most, last - first + 1)
    return most


def least_in(uses: list[int], window: int, start: int, end: int) -> int:
    """The fewest uses in any window of this many ns between start and end."""
    inside = [use for use in uses if start <= use < end]
    least = len(inside)
    last = 0
    for first, use in enumerate([start, *inside]):  # a worst window begins just after a use
        if use + window > end:
            break
        while last < len(inside) and inside[last] < use + window:
            last += 1
        least = min(least, last - first)
    return least
