"""The purgatory: watch an operation under its keys, complete it through one of them.

Figures are seconds for OPERATIONS operations: divide to get the cost of one.  Kafka on the JVM,
from ``reference/kafka-semantics.md`` P.7 and N: 1,564 ns an operation with 3 keys and 100,000 in
flight, where checks walk stale lists; its SystemTimer 86–87 ns for an add and a cancel.
"""

from __future__ import annotations

import gc
import random
import threading
import time
from collections import deque
from typing import ClassVar

import numpy as np

from flinkish.purgatory import DelayedOperation, DelayedOperationPurgatory, SystemTimer, TimerTask

SEED = 20_240_311
OPERATIONS = 20_000
DELAY_MS = 600_000


class Waiting(DelayedOperation):
    """The least that a user's subclass is."""

    __slots__ = ("ready",)

    def __init__(self, delay: int) -> None:
        super().__init__(delay)
        self.ready = False

    def try_complete(self) -> bool:
        return self.force_complete() if self.ready else False

    def on_complete(self) -> None:
        pass


class Purgatory:
    """Against `live` other operations with keys of their own."""

    params: ClassVar = [[1, 3], [0, 100_000]]
    param_names: ClassVar = ["keys", "live"]
    number = 1
    repeat = (3, 10, 10.0)
    warmup_time = 0

    def setup(self, keys: int, live: int) -> None:
        self.home = DelayedOperationPurgatory("bench")
        for first in range(0, live * keys, keys):
            self.home.try_complete_else_watch(Waiting(DELAY_MS), tuple(range(first, first + keys)))
        start = live * keys
        numbers = np.random.default_rng(SEED).permutation(OPERATIONS) * keys + start
        self.keys = [tuple(range(first, first + keys)) for first in numbers.tolist()]
        self.operations = [Waiting(DELAY_MS) for _ in range(OPERATIONS)]

    def teardown(self, keys: int, live: int) -> None:
        self.home.shutdown()

    def time_watch_and_complete_by_key(self, keys: int, live: int) -> None:
        home = self.home
        for operation, names in zip(self.operations, self.keys, strict=True):
            home.try_complete_else_watch(operation, names)
            operation.ready = True
            home.check_and_complete(names[0])

    def time_watch_and_force(self, keys: int, live: int) -> None:
        home = self.home
        for operation, names in zip(self.operations, self.keys, strict=True):
            home.try_complete_else_watch(operation, names)
            operation.force_complete()


class SteadyPurgatory:
    """A server under way: each request makes an operation, and one of those in flight completes.

    The operation that completes is the oldest, or any, as answers come in another order; its memory
    has left the processor's caches, which in `Purgatory` it has not.  With `collector` Python's
    garbage collector runs as it does by default: it walks all operations in flight.
    """

    params: ClassVar = [[1, 3], ["oldest", "any"], [False, True]]
    param_names: ClassVar = ["keys", "completes", "collector"]
    number = 1
    repeat = (3, 10, 20.0)
    warmup_time = 0
    in_flight = 100_000

    def setup(self, keys: int, completes: str, collector: bool) -> None:
        self.home = DelayedOperationPurgatory("bench")
        held = []
        for first in range(0, self.in_flight * keys, keys):
            operation, names = Waiting(DELAY_MS), tuple(range(first, first + keys))
            self.home.try_complete_else_watch(operation, names)
            held.append((operation, names))
        if completes == "any":
            random.Random(SEED).shuffle(held)
        self.held = deque(held)
        start = self.in_flight * keys
        firsts = range(start, start + OPERATIONS * keys, keys)
        self.keys = [tuple(range(first, first + keys)) for first in firsts]
        if not collector:
            gc.disable()

    def teardown(self, keys: int, completes: str, collector: bool) -> None:
        gc.enable()
        self.home.shutdown()

    def time_request_and_answer(self, keys: int, completes: str, collector: bool) -> None:
        home, held = self.home, self.held
        for names in self.keys:
            operation = Waiting(DELAY_MS)
            home.try_complete_else_watch(operation, names)
            held.append((operation, names))
            operation, names = held.popleft()
            operation.ready = True
            home.check_and_complete(names[0])


class Task(TimerTask):
    """A task that never runs here."""

    __slots__ = ()


class TimerTasks:
    """Adding and cancelling tasks, by the system's clock."""

    params: ClassVar = [10_000, 100_000]
    param_names: ClassVar = ["live"]
    number = 1
    repeat = (3, 10, 10.0)
    warmup_time = 0

    def setup(self, live: int) -> None:
        delays = np.random.default_rng(SEED).integers(60_000, 600_000, live + OPERATIONS).tolist()
        self.timer = SystemTimer("bench")
        for delay in delays[:live]:
            self.timer.add(Task(delay))
        self.tasks = [Task(delay) for delay in delays[live:]]

    def teardown(self, live: int) -> None:
        self.timer.close()

    def time_add(self, live: int) -> None:
        add = self.timer.add
        for task in self.tasks:
            add(task)

    def time_add_and_cancel(self, live: int) -> None:
        add = self.timer.add
        for task in self.tasks:
            add(task)
            task.cancel()


class Late(TimerTask):
    """Notes how late it is."""

    __slots__ = ("due", "late")

    def __init__(self, delay: int, late: list[int]) -> None:
        super().__init__(delay)
        self.due = time.monotonic_ns() + delay * 1_000_000
        self.late = late

    def run(self) -> None:
        self.late.append(time.monotonic_ns() - self.due)


def lateness(per_second: int, seconds: float, executor: object = None) -> list[int]:
    """Nanoseconds by which tasks were late, sorted; `per_second` of them become due a second."""
    late: list[int] = []
    total = int(per_second * seconds)
    with SystemTimer("late") as timer:
        # All are added before the first is due, as a server's requests would be by other threads.
        begin = time.monotonic_ns()
        lead = 2_000 + total // 500
        for number in range(total):
            due = lead + number * 1_000 // per_second
            timer.add(Late(due - (time.monotonic_ns() - begin) // 1_000_000, late))
        done = threading.Event()
        while len(late) < total:
            done.wait(0.05)
    return sorted(late)


class TimerLateness:
    """How late tasks run while 100,000 of them a second become due.  Aim: 5 ms at p99."""

    timeout = 120

    def track_p50_ms(self) -> float:
        late = lateness(100_000, 2.0)
        return late[len(late) // 2] / 1e6

    def track_p99_ms(self) -> float:
        late = lateness(100_000, 2.0)
        return late[len(late) * 99 // 100] / 1e6

    track_p50_ms.unit = track_p99_ms.unit = "ms"  # type: ignore[attr-defined]
