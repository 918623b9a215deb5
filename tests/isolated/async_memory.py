"""Elements that went through leave no memory behind: queue, wheel, calls, tasks."""

import gc
import sys
from pathlib import Path

import numpy as np  # imported by the floor: not to be counted

from flinkish._core.operators.element_queue import ElementQueue
from flinkish.common.elements import StreamElement
from flinkish.operators import AsyncWaitOperator
from flinkish.testing import OneInputStreamOperatorTestHarness


async def answer(value: int) -> list[bytes]:
    return [bytes(1_000)]


def peak_mib() -> float:
    """Of this program; ``getrusage`` begins with what the process that started it had."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


class Nothing(list[StreamElement]):
    def append(self, element: StreamElement) -> None:
        pass


harness = OneInputStreamOperatorTestHarness(
    AsyncWaitOperator(answer, timeout=3_600_000, capacity=1_000)
)
harness._output.elements = Nothing()
harness.open()


def flow(count: int) -> None:
    for value in range(count):
        harness.process_element(value)
    harness.end_input()
    harness.operator._finishing = False


flow(50_000)
gc.collect()
objects, before = len(gc.get_objects()), peak_mib()
flow(200_000)
gc.collect()
grown = peak_mib() - before
assert grown < 8, f"200,000 elements have left {grown:.1f} MiB"
assert len(gc.get_objects()) - objects < 500, len(gc.get_objects()) - objects
assert harness.operator.statistics().timers == 0
harness.close()

queue = ElementQueue(1 << 20, ordered=False)
payload = np.zeros(1)
count = sys.getrefcount(payload)
for _ in range(3):
    handles = [queue.put(payload) for _ in range(100_000)]
    for handle in handles:
        queue.complete(handle or 0, payload)
    queue.emit_many(60_000)
    while queue.emit() is not None:
        pass
assert sys.getrefcount(payload) == count
del queue
