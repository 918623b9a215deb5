"""Ten million timers through one wheel leave nothing behind; nor does one short of memory."""

import contextlib
import resource
import sys
from pathlib import Path

import numpy as np

from flinkish._core.wheel.timing_wheel import TimingWheel

MIB = 2**20
BATCH = 100_000


def resident() -> int:
    """Bytes of this process that are in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


wheel = TimingWheel(1, 512, 0)
rng = np.random.default_rng(1)
delays, numbers = rng.integers(1, 600_000, BATCH), np.arange(BATCH)


def batches(rounds: int) -> None:
    for _ in range(rounds):
        handles = wheel.add_many(wheel.now + delays, numbers)
        assert wheel.cancel_many(handles[::2]) == BATCH // 2
        assert len(wheel.advance_many(wheel.now + 300_000)) > 0
        wheel.advance_many(wheel.now + 300_000)
        assert len(wheel) == 0


def objects(rounds: int) -> None:
    for _ in range(rounds):
        now = wheel.now
        handles = [wheel.add(now + delay, (delay,)) for delay in range(1, 5_001)]
        assert all(map(wheel.cancel, handles[::2]))
        for bad in (None, "x", 1.5):
            with contextlib.suppress(TypeError):
                wheel.add(bad, [])  # type: ignore[arg-type]
        with contextlib.suppress(TypeError):
            wheel.advance_many(now + 10)
        assert len(wheel.advance(now + 5_000)) == 2_500


batches(10)
objects(10)
before = resident()
batches(90)
objects(200)
wheel._check()
grown = resident() - before
assert grown < 4 * MIB, f"ten million timers left {grown} bytes behind"
wheel.advance(wheel.now)
assert wheel.memory_bytes < 64 * 1024, f"an empty wheel keeps {wheel.memory_bytes} bytes"

# With 60 MiB left, batches must come to an end, all or nothing.
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 60 * MIB, resource.RLIM_INFINITY))
rounds = 0
try:
    while rounds < 1000:
        wheel.add_many(wheel.now + delays, numbers)
        rounds += 1
except MemoryError:
    pass
else:
    sys.exit("the wheel never came to the end of memory")
assert len(wheel) == rounds * BATCH
wheel._check()
kept = []
try:
    while True:
        kept.append(bytearray(MIB))
except MemoryError:
    pass
held = len(wheel)
try:
    wheel.advance(2**60)
except MemoryError:
    assert len(wheel) == held, "a result that does not fit takes nothing"
else:
    sys.exit("a result of so many needs memory")
wheel._check()
del kept
out = 0
while len(wheel):
    out += len(wheel.advance_many(2**60, 10_000))
assert out == held
