"""The timer heap at the end of memory, and memory that must come back."""

import contextlib
import resource
import sys
from pathlib import Path

import numpy as np

from flinkish._core.timers.heap import TimerHeap

FOREVER = 2**63 - 1
MIB = 2**20


def resident() -> int:
    """Bytes of this process that are in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def fill(heap: TimerHeap, start: int, timers: int) -> int:
    keys = np.arange(start, start + timers, dtype=np.uint32)
    return heap.add_many(keys.astype(np.int64) % 1000, keys)


def use_and_drop() -> None:
    heap = TimerHeap(0, 99)
    fill(heap, 0, 50_000)
    arrays = [heap.timers_of(0), heap.poll_until(300), heap.poll_until(500, 10)]
    heap.take_key_group(0)
    fill(heap, 50_000, 50_000)
    for bad in ([1], np.ones(3), None):
        with contextlib.suppress(TypeError, ValueError):
            heap.add_many(np.zeros(2, np.int64), bad)  # type: ignore[arg-type]
    heap.clear()
    fill(heap, 0, 50_000)
    del arrays


for _ in range(10):
    use_and_drop()
before = resident()
for _ in range(100):
    use_and_drop()
grown = resident() - before
assert grown < 8 * MIB, f"100 heaps left {grown} bytes behind"

# With 100 MiB left, batches of 10,000 must come to an end, and polling finds no room to sort.
heap = TimerHeap()
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 100 * MIB, resource.RLIM_INFINITY))
rounds = 0
try:
    while rounds < 1000:
        assert fill(heap, rounds * 10_000, 10_000) == 10_000
        rounds += 1
except MemoryError:
    pass
else:
    sys.exit("the heap never came to the end of memory")
held = len(heap)
assert rounds * 10_000 <= held < (rounds + 1) * 10_000
heap._check()
kept = []
try:
    while True:
        kept.append(bytearray(MIB))
except MemoryError:
    pass
try:
    heap.poll_until(FOREVER)
except MemoryError:
    assert len(heap) == held, "a poll that fails takes nothing"
else:
    sys.exit("polling all needs memory for the result")
assert heap.poll() == (0, 0, 0), "one by one it goes on"
del kept
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
heap._check()
stamps, keys, _ = heap.poll_until(FOREVER)
assert len(stamps) == held - 1
np.testing.assert_array_equal(keys, np.lexsort((np.arange(held), np.arange(held) % 1000))[1:])
