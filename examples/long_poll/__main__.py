"""Producers and consumers on threads, talking by long poll; every record is accounted for.

    python -m examples.long_poll [--records N] [--consumers N]

Producers write bursts with pauses in between.  Each consumer reads all partitions, a fetch at a
time, asking for 4 KiB or whatever there is after 20 ms.  Exits with 0 if every consumer got every
record once and in order, and no fetch was answered too early; with 1 if not.
"""

from __future__ import annotations

import argparse
import random
import threading
import time
from dataclasses import dataclass, field

from examples.long_poll.broker import Broker

PARTITIONS = ["p0", "p1", "p2", "p3"]
MIN_BYTES = 4_096
MAX_WAIT_MS = 20
BURST = 40  # records
TIMEOUT = 60  # seconds


@dataclass
class Consumer:
    """What one consumer saw."""

    records: dict[str, list[bytes]] = field(default_factory=lambda: {p: [] for p in PARTITIONS})
    fetches: int = 0
    expired: int = 0
    early: int = 0
    longest: float = 0.0

    def consume(self, broker: Broker, total: int) -> None:
        """Fetch until all records are there."""
        deadline = time.monotonic() + TIMEOUT
        while sum(map(len, self.records.values())) < total and time.monotonic() < deadline:
            begin = time.monotonic()
            offsets = {name: len(records) for name, records in self.records.items()}
            answer = broker.fetch(offsets, MIN_BYTES, MAX_WAIT_MS)
            waited = time.monotonic() - begin
            self.fetches += 1
            self.expired += answer.expired
            self.early += answer.expired and waited < MAX_WAIT_MS / 1_000
            self.longest = max(self.longest, waited)
            for name, records in answer.records.items():
                self.records[name] += records


def produce(broker: Broker, partition: str, records: list[bytes], counts: list[int]) -> None:
    """Write all records in bursts."""
    chance = random.Random(partition)
    for first in range(0, len(records), BURST):
        counts.append(broker.produce(partition, records[first : first + BURST]))
        time.sleep(chance.choice([0, 0, 0.001, 0.03]))


def main(given: list[str] | None = None) -> int:
    """Run broker, producers and consumers; 0 if all is right."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--records", type=int, default=8_000, metavar="N", help="a partition")
    parser.add_argument("--consumers", type=int, default=8, metavar="N")
    asked = parser.parse_args(given)
    for name in ("records", "consumers"):
        if getattr(asked, name) < 1:
            parser.error(f"--{name} must be at least 1")

    written = {
        name: [f"{name}:{number:06}".encode().ljust(100, b".") for number in range(asked.records)]
        for name in PARTITIONS
    }
    broker = Broker(PARTITIONS)
    consumers = [Consumer() for _ in range(asked.consumers)]
    completed: list[int] = []
    total = asked.records * len(PARTITIONS)
    threads = [threading.Thread(target=one.consume, args=(broker, total)) for one in consumers]
    threads += [
        threading.Thread(target=produce, args=(broker, name, records, completed))
        for name, records in written.items()
    ]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - began
    statistics = broker.waiting.statistics()
    broker.close()

    fetches = sum(one.fetches for one in consumers)
    expired = sum(one.expired for one in consumers)
    print(f"{total:,} records to each of {asked.consumers} consumers in {took:.1f} s")
    print(f"  {fetches:>7,}  fetches")
    print(f"  {fetches - statistics.entered:>7,}  answered at once")
    print(f"  {sum(completed):>7,}  completed by a produce")
    print(f"  {statistics.expired:>7,}  by time, {expired:,} of them with too few bytes")
    print(f"  {max(one.longest for one in consumers) * 1000:>7.1f}  ms was the longest wait")

    wrong = []
    if any(one.records != written for one in consumers):
        wrong.append("a consumer missed records, or got them twice or out of order")
    if any(one.early for one in consumers):
        wrong.append("a fetch was answered before its time with too few bytes")
    if statistics.completed != fetches or statistics.watched or statistics.errors:
        wrong.append(f"the purgatory is not done: {statistics}")
    for line in wrong:
        print(f"WRONG: {line}")
    if wrong:
        return 1
    print("Right: every consumer got every record once and in order, and no fetch came too early.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
