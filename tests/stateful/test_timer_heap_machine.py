"""The timer heap against its model, step by step, with its own check after every step."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from flinkish._core.testing.timers import set_next_sequence
from flinkish._core.timers.heap import TimerHeap
from tests.models.timer_heap import ModelTimerHeap, Timer

LOWEST, HIGHEST = -(2**63), 2**63 - 1
FIRST, LAST = 3, 6

# Few values, so that timers meet; and the edges of every type.
timestamps = st.integers(-4, 12) | st.sampled_from([LOWEST, LOWEST + 1, HIGHEST - 1, HIGHEST])
keys = st.integers(0, 5) | st.sampled_from([2**31, 2**32 - 1])
namespaces = st.integers(0, 1) | st.just(2**32 - 1)
groups = st.integers(FIRST, LAST)
rows = st.tuples(timestamps, keys, namespaces, groups)
# Enough to make segments grow, sets rebuild and sorts take their radix path.
batches = st.lists(rows, max_size=80)


def columns(batch: list[tuple[int, int, int, int]]) -> list[np.ndarray]:
    table = list(zip(*batch, strict=True)) or [(), (), (), ()]
    return [np.array(table[0], np.int64), *(np.array(c, np.uint32) for c in table[1:])]


def timers(arrays: tuple[np.ndarray, ...]) -> list[Timer]:
    assert [array.dtype for array in arrays] == [np.int64, np.uint32, np.uint32]
    return list(zip(*(array.tolist() for array in arrays), strict=True))


class TimerHeapMachine(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.heap = TimerHeap(FIRST, LAST)
        self.model = ModelTimerHeap(FIRST, LAST)

    @rule(row=rows)
    def add(self, row: tuple[int, int, int, int]) -> None:
        assert self.heap.add(*row) == self.model.add(*row)
        assert self.heap.contains(*row)

    @rule(row=rows)
    def remove(self, row: tuple[int, int, int, int]) -> None:
        assert self.heap.remove(*row) == self.model.remove(*row)
        assert not self.heap.contains(*row)

    @rule(batch=batches)
    def add_many(self, batch: list[tuple[int, int, int, int]]) -> None:
        assert self.heap.add_many(*columns(batch)) == self.model.add_many(batch)

    @rule(batch=batches)
    def remove_many(self, batch: list[tuple[int, int, int, int]]) -> None:
        assert self.heap.remove_many(*columns(batch)) == self.model.remove_many(batch)

    @rule()
    def poll(self) -> None:
        assert self.heap.poll() == self.model.poll()

    @rule(until=timestamps, limit=st.none() | st.integers(0, 20))
    def poll_until(self, until: int, limit: int | None) -> None:
        assert timers(self.heap.poll_until(until, limit)) == self.model.poll_until(until, limit)

    @rule(group=groups)
    def take_key_group(self, group: int) -> None:
        assert timers(self.heap.take_key_group(group)) == self.model.take_key_group(group)

    @rule(row=rows)
    def contains(self, row: tuple[int, int, int, int]) -> None:
        assert self.heap.contains(*row) == self.model.contains(*row)

    @rule()
    def clear(self) -> None:
        self.heap.clear()
        self.model.clear()

    @rule(left=st.integers(0, 3))
    def sequences_run_out(self, left: int) -> None:
        """The next timers but a few get the last sequence there is."""
        if len(self.model):
            set_next_sequence(self.heap, 2**32 - 1 - left)

    @invariant()
    def holds_together(self) -> None:
        if hasattr(self, "heap"):
            self.heap._check()
            assert len(self.heap) == len(self.model)
            assert self.heap.peek() == self.model.peek()
            for group in self.model.key_groups:
                assert timers(self.heap.timers_of(group)) == self.model.timers_of(group)


TimerHeapMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=40)
TestTimerHeap = TimerHeapMachine.TestCase
