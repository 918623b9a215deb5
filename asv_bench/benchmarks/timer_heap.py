"""Timers: whole columns beside the same calls one by one, from a thousand to five million.

Figures are seconds for all ``timers``: divide to get the cost of one.  Timestamps are random over
34 years and keys all differ, so that nothing is found in a cache by luck.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import numpy as np

from flinkish._core.timers.heap import TimerHeap

SEED = 20_240_311
SPAN = 2**40  # ms
EVER = 2**63 - 1
GROUPS = 128


def _columns(timers: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Timestamps, keys, and an order to remove them in."""
    rng = np.random.default_rng(SEED)
    return (
        rng.integers(0, SPAN, timers),
        rng.permutation(timers).astype(np.uint32),
        rng.permutation(timers),
    )


class TimerHeapBatch:
    """One call for all."""

    params: ClassVar = [1_000, 10_000, 100_000, 1_000_000, 5_000_000]
    param_names: ClassVar = ["timers"]
    number = 1
    repeat = (3, 10, 10.0)
    warmup_time = 0

    def setup(self, timers: int) -> None:
        self.stamps, self.keys, order = _columns(timers)
        self.gone = self.stamps[order], self.keys[order]
        self.groups = self.keys % np.uint32(GROUPS)
        self.later = self.stamps + SPAN
        self.empty = TimerHeap()
        self.heap = TimerHeap()
        self.heap.add_many(self.stamps, self.keys)
        self.spread = TimerHeap(0, GROUPS - 1)

    def time_add(self, timers: int) -> None:
        self.empty.add_many(self.stamps, self.keys)

    def time_add_to_128_key_groups(self, timers: int) -> None:
        self.spread.add_many(self.stamps, self.keys, None, self.groups)

    def time_add_duplicates(self, timers: int) -> None:
        self.heap.add_many(*self.gone)

    def time_remove_random(self, timers: int) -> None:
        self.heap.remove_many(*self.gone)

    def time_poll_all(self, timers: int) -> None:
        self.heap.poll_until(EVER)

    def time_poll_in_100_steps(self, timers: int) -> None:
        for step in range(1, 101):
            self.heap.poll_until(SPAN * step // 100)

    def time_poll_1000_at_a_time(self, timers: int) -> None:
        while len(self.heap):
            self.heap.poll_until(EVER, 1000)

    def time_move_all(self, timers: int) -> None:
        """What a dead-man switch does: remove each timer and add it later."""
        for at in range(0, timers, 10_000):
            rows = slice(at, at + 10_000)
            self.heap.remove_many(self.stamps[rows], self.keys[rows])
            self.heap.add_many(self.later[rows], self.keys[rows])

    def track_bytes_per_timer(self, timers: int) -> float:
        return self.heap.memory_bytes / timers

    track_bytes_per_timer.unit = "bytes"  # type: ignore[attr-defined]


class TimerHeapScalar:
    """One call for each timer; ``loop`` is what the Python loop costs by itself."""

    params: ClassVar = [1_000, 10_000, 100_000, 1_000_000]
    param_names: ClassVar = ["timers"]
    number = 1
    repeat = (3, 10, 10.0)
    warmup_time = 0

    def setup(self, timers: int) -> None:
        stamps, keys, order = _columns(timers)
        self.rows = list(zip(stamps.tolist(), keys.tolist(), strict=True))
        # New ints in the order of use: else the loop would pay for finding them in memory.
        self.gone = list(zip(stamps[order].tolist(), keys[order].tolist(), strict=True))
        self.empty = TimerHeap()
        self.heap = TimerHeap()
        for stamp, key in self.rows:
            self.heap.add(stamp, key)

    def time_loop(self, timers: int) -> None:
        for _stamp, _key in self.rows:
            pass

    def time_add(self, timers: int) -> None:
        add = self.empty.add
        for stamp, key in self.rows:
            add(stamp, key)

    def time_add_duplicates(self, timers: int) -> None:
        add = self.heap.add
        for stamp, key in self.gone:
            add(stamp, key)

    def time_remove_random(self, timers: int) -> None:
        remove = self.heap.remove
        for stamp, key in self.gone:
            remove(stamp, key)

    def time_poll_all(self, timers: int) -> None:
        poll = self.heap.poll
        while poll():
            pass

    def time_move_all(self, timers: int) -> None:
        add, remove = self.heap.add, self.heap.remove
        for stamp, key in self.rows:
            remove(stamp, key)
            add(stamp + SPAN, key)

    def track_bytes_per_timer(self, timers: int) -> float:
        return self.heap.memory_bytes / timers

    track_bytes_per_timer.unit = "bytes"  # type: ignore[attr-defined]


class TimerHeapThreads:
    """Two heaps, one after the other and at the same time: batches leave the GIL alone."""

    params: ClassVar = [100_000, 1_000_000]
    param_names: ClassVar = ["timers"]
    number = 1
    repeat = (3, 10, 10.0)
    warmup_time = 0

    def setup(self, timers: int) -> None:
        self.stamps, self.keys, _ = _columns(timers)
        self.heaps = TimerHeap(), TimerHeap()
        self.pool = ThreadPoolExecutor(2)
        list(self.pool.map(len, self.heaps))

    def teardown(self, timers: int) -> None:
        self.pool.shutdown()

    def _work(self, heap: TimerHeap) -> None:
        heap.add_many(self.stamps, self.keys)
        heap.poll_until(EVER)

    def time_serial(self, timers: int) -> None:
        for heap in self.heaps:
            self._work(heap)

    def time_parallel(self, timers: int) -> None:
        list(self.pool.map(self._work, self.heaps))
