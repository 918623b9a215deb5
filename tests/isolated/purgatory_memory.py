"""Completed operations do not pin memory, however they were completed."""

import gc
import resource
from pathlib import Path

from flinkish.purgatory import DelayedOperation, DelayedOperationPurgatory, ManualTimer, TimerTask

MIB = 2**20


def resident() -> int:
    """Bytes of this process that are in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


class Heavy(DelayedOperation):
    """An operation whose payload would be missed: 20,000 of them are 200 MB."""

    alive = 0

    def __init__(self) -> None:
        super().__init__(60_000)
        self.payload = bytearray(10_000)
        Heavy.alive += 1

    def __del__(self) -> None:
        Heavy.alive -= 1

    def try_complete(self) -> bool:
        return self.force_complete() if len(self.payload) == 1 else False


class Task(TimerTask):
    """A task that is only moved."""


timer = ManualTimer()
home = DelayedOperationPurgatory("memory", timer=timer, reaper_enabled=False)
stays = Heavy()
home.try_complete_else_watch(stays, ["shared"])


def burst(count: int) -> None:
    """Watch many; complete them by key, by force, by time, and by dropping cancelled ones."""
    for number in range(count):
        operation = Heavy()
        home.try_complete_else_watch(operation, ["shared", ("own", number), number])
        way = number % 4
        if way == 0:
            operation.payload = bytearray(1)
            assert home.check_and_complete(number) == 1
        elif way == 1:
            operation.force_complete()
        elif way == 2:
            home.cancel_for_key(("own", number))
            home.cancel_for_key(number)
            operation.force_complete()
    home.advance_clock(60_000)
    if stays.is_completed():
        raise AssertionError("only its time may complete it")


stays.cancel()
burst(1_000)
before = resident()
for _ in range(20):
    burst(1_000)
gc.collect()
assert Heavy.alive == 1, f"{Heavy.alive - 1} completed operations are alive"
assert home.watched() == 1
grown = resident() - before
assert grown < 20 * MIB, f"20,000 completed operations left {grown} bytes behind"

# A task that is moved a million times is in the wheel once.
task = Task(1_000)
for _ in range(1_000_000):
    timer.add(task)
assert timer.size() == 1
assert task.cancel()
grown = resident() - before
assert grown < 20 * MIB, f"moving a task left {grown} bytes behind"

# A purgatory that is dropped with all it holds, in a circle with its operations.
del task
for _ in range(20):
    other = DelayedOperationPurgatory("gone", timer=ManualTimer(), reaper_enabled=False)
    for number in range(200):
        operation = Heavy()
        operation.home = other  # type: ignore[attr-defined]
        other.try_complete_else_watch(operation, [number, "all"])
del other, operation
gc.collect()
assert Heavy.alive == 1, f"{Heavy.alive - 1} operations of dropped purgatories are alive"
