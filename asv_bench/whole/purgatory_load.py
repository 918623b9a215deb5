"""The published load of Kafka's purgatory redesign: how many requests a second it sustains.

    bash ci/bench.sh purgatory_load [RATE ...]       # default 50000 105000 150000 200000 ...

An open-loop generator: requests come at a fixed rate whether or not the purgatory keeps up.  Each
is an operation in Python with a timeout of 200 ms, watched under a key of its own, and is to be
completed after a time from a log-normal distribution with p50 200 ms and p75 400 ms, so half of
them time out.  Two threads work at it, one makes requests and one completes them by key; the
purgatory adds its reaper and its executor.

A rate is sustained if all requests were made within 2 % of their time, and completions and
expiries were no later than 100 ms at p99 (the queue does not grow).  Lateness of expiries is
against the time that the request was made plus its timeout.

Peers (``reference/kafka-semantics.md`` N): the old design saturated at 25,000–40,000 requests/s,
the redesign at 105,000; today's Java on 2 cores at 377,000–445,000.
"""

from __future__ import annotations

import sys
import threading
import time
from itertools import pairwise

import numpy as np

from flinkish.purgatory import DelayedOperation, DelayedOperationPurgatory

TIMEOUT_MS = 200
P50_MS, P75_MS = 200, 400
SECONDS = 4
RATES = [50_000, 105_000, 150_000, 200_000, 250_000, 300_000]
SIGMA = np.log(P75_MS / P50_MS) / 0.6744897501960817  # the normal quantile of 0.75


class Request(DelayedOperation):
    """A request that notes when it was made and how late it expired."""

    __slots__ = ("late", "made", "ready")

    def __init__(self, late: list[int]) -> None:
        super().__init__(TIMEOUT_MS)
        self.ready = False
        self.late = late
        self.made = time.monotonic_ns()

    def try_complete(self) -> bool:
        return self.force_complete() if self.ready else False

    def on_complete(self) -> None:
        pass

    def on_expiration(self) -> None:
        self.late.append(time.monotonic_ns() - self.made)


class Load:
    """One run at one rate."""

    def __init__(self, rate: int) -> None:
        rng = np.random.default_rng(rate)
        self.per_ms = np.diff(np.arange(SECONDS * 1_000 + 1) * rate // 1_000).tolist()
        self.total = sum(self.per_ms)
        delays = rng.lognormal(np.log(P50_MS), SIGMA, self.total)
        made = np.repeat(np.arange(len(self.per_ms)), self.per_ms)
        due = np.minimum(made + np.ceil(delays), SECONDS * 1_000 + 2_000).astype(np.int64)
        order = np.argsort(due, kind="stable")
        edges = np.searchsorted(due[order], np.arange(due.max() + 2))
        self.due = [order[a:b].tolist() for a, b in pairwise(edges)]
        self.requests: list[Request | None] = [None] * self.total
        self.late_expiries: list[int] = []
        self.late_checks: list[int] = []
        self.completed = 0
        self.completed_at_once = 0

    def make(self, home: DelayedOperationPurgatory, begin: int) -> None:
        first = 0
        for at, count in enumerate(self.per_ms):
            wait(begin + at * 1_000_000)
            for number in range(first, first + count):
                request = Request(self.late_expiries)
                self.requests[number] = request
                self.completed_at_once += home.try_complete_else_watch(request, (number,))
            first += count

    def complete(self, home: DelayedOperationPurgatory, begin: int) -> None:
        for at, numbers in enumerate(self.due):
            wait(begin + at * 1_000_000)
            self.late_checks.append(time.monotonic_ns() - begin - at * 1_000_000)
            for number in numbers:
                request = self.requests[number]
                if request is not None:
                    self.requests[number] = None
                    request.ready = True
                    self.completed += home.check_and_complete(number)

    def run(self) -> bool:
        with DelayedOperationPurgatory("load") as home:
            begin = time.monotonic_ns() + 10_000_000
            cpu = time.process_time()
            completer = threading.Thread(target=self.complete, args=(home, begin))
            completer.start()
            self.make(home, begin)
            took = (time.monotonic_ns() - begin) / 1e9
            cpu = time.process_time() - cpu
            completer.join()
            while home.num_delayed():
                time.sleep(0.01)
        # The purgatory is shut down: what was due has run.
        done = self.completed + self.completed_at_once + len(self.late_expiries)
        late = np.array(self.late_expiries) / 1e6 - TIMEOUT_MS
        checks = np.percentile(np.array(self.late_checks[: len(self.per_ms)]) / 1e6, 99)
        p50, p99 = np.percentile(late, [50, 99])
        assert late.min() >= 0, "a request expired early"
        assert done == self.total, f"{self.total - done} requests were lost"
        sustained = took <= SECONDS * 1.02 and p99 <= 100 and checks <= 100
        print(
            f"{self.total / SECONDS:>8,.0f} requests/s asked, {self.total / took:>8,.0f} made, "
            f"{len(late) / self.total:.0%} expired, late p50 {p50:.1f} ms p99 {p99:.1f} ms, "
            f"checks late p99 {checks:.1f} ms, {cpu / self.total * 1e6:.1f} µs CPU a request: "
            f"{'sustained' if sustained else 'NOT sustained'}",
            flush=True,
        )
        return sustained


def wait(until: int) -> None:
    """Sleep until that time of the monotonic clock, in nanoseconds."""
    left = until - time.monotonic_ns()
    if left > 0:
        time.sleep(left / 1e9)


def main(rates: list[int]) -> None:
    best = 0
    for rate in rates:
        if not Load(rate).run():
            break
        best = rate
    print(f"sustained: {best:,} requests/s (published redesign: 105,000)")


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or RATES)
