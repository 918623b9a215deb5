"""A broker in memory with Kafka's long poll: a fetch waits for min bytes or its time.

A fetch is a delayed operation, watched under each partition that it reads.  A produce appends
first and checks the partition afterwards, without holding the partition's lock: a fetch that is
being tried takes that lock, so holding it here could block both.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass

from flinkish.purgatory import DelayedOperation, DelayedOperationPurgatory


@dataclass(frozen=True)
class Fetched:
    """The answer to a fetch: records by partition, and whether it was time that ended it."""

    records: dict[str, list[bytes]]
    expired: bool

    @property
    def size(self) -> int:
        """Bytes of all records."""
        return sum(len(record) for records in self.records.values() for record in records)


class Partition:
    """An append-only log."""

    def __init__(self) -> None:
        self._records: list[bytes] = []
        self._lock = threading.Lock()

    def append(self, records: list[bytes]) -> None:
        """Add records at the end."""
        with self._lock:
            self._records += records

    def read(self, offset: int) -> list[bytes]:
        """All from an offset on."""
        with self._lock:
            return self._records[offset:]


class Fetch(DelayedOperation):
    """Waits until there are `min_bytes` behind the offsets; `answer` is a future of Fetched."""

    def __init__(
        self, broker: Broker, offsets: Mapping[str, int], min_bytes: int, max_wait_ms: int
    ) -> None:
        super().__init__(max_wait_ms)
        self.broker = broker
        self.offsets = dict(offsets)
        self.min_bytes = min_bytes
        self.answer: Future[Fetched] = Future()

    def read(self) -> dict[str, list[bytes]]:
        """What there is now."""
        partitions = self.broker.partitions
        return {name: partitions[name].read(at) for name, at in self.offsets.items()}

    def try_complete(self) -> bool:
        """Answer if there is enough."""
        size = sum(len(record) for records in self.read().values() for record in records)
        return self.force_complete() if size >= self.min_bytes else False

    def on_complete(self) -> None:
        """Answer with what there is, enough or not."""
        found = Fetched(self.read(), expired=False)
        if found.size < self.min_bytes:
            found = Fetched(found.records, expired=True)
        self.answer.set_result(found)


class Broker:
    """Partitions, and the fetches that wait for them."""

    def __init__(self, partitions: list[str]) -> None:
        self.partitions = {name: Partition() for name in partitions}
        self.waiting = DelayedOperationPurgatory("fetch")

    def fetch(self, offsets: Mapping[str, int], min_bytes: int, max_wait_ms: int) -> Fetched:
        """Records behind the offsets: at least `min_bytes`, or what there is after the wait."""
        fetch = Fetch(self, offsets, min_bytes, max_wait_ms)
        self.waiting.try_complete_else_watch(fetch, tuple(offsets))
        return fetch.answer.result()

    def produce(self, partition: str, records: list[bytes]) -> int:
        """Append records; how many waiting fetches that completed."""
        self.partitions[partition].append(records)
        return self.waiting.check_and_complete(partition)

    def close(self) -> None:
        """Answer all that wait, with what there is."""
        self.waiting.shutdown()
