"""The timing wheel against its model, step by step, with its own check after every step."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from flinkish._core.wheel.timing_wheel import TimingWheel
from tests.models.timing_wheel import HIGHEST, LOWEST, ModelTimingWheel

# Few values, so that timers meet; wraps of several levels; and jumps to anywhere.
delays = st.integers(-2, 12) | st.integers(0, 2_000) | st.integers(0, 60).map(lambda n: 2**n)
edges = st.sampled_from([LOWEST, LOWEST + 1, HIGHEST - 1, HIGHEST, 2**64])
jumps = st.integers(0, 3) | st.integers(0, 3_000) | st.integers(0, 40).map(lambda n: 2**n)
limits = st.none() | st.integers(0, 6)
objects = st.none() | st.text(max_size=1) | st.just(2**63) | st.integers(LOWEST, HIGHEST)


class TimingWheelMachine(RuleBasedStateMachine):
    @initialize(
        tick=st.sampled_from([1, 1, 2, 10, 1_000, 2**62, HIGHEST]),
        size=st.sampled_from([2, 3, 4, 20, 64, 100, 5_000]),
        start=st.sampled_from([0, 17, -9, LOWEST, HIGHEST - 50]),
    )
    def start(self, tick: int, size: int, start: int) -> None:
        self.wheel = TimingWheel(tick, size, start)
        self.model = ModelTimingWheel(tick, size, start)
        self.tick = tick
        self.handles: list[tuple[int, int]] = []  # the wheel's and the model's

    def after(self, delay: int) -> int:
        return self.model.now + delay * min(self.tick, 3)

    @rule(delay=delays, payload=objects)
    def add(self, delay: int, payload: object) -> None:
        at = self.after(delay)
        self.handles.append((self.wheel.add(at, payload), self.model.add(at, payload)))

    @rule(at=edges, payload=objects)
    def add_at_the_edge(self, at: int, payload: object) -> None:
        self.handles.append((self.wheel.add(at, payload), self.model.add(at, payload)))

    @rule(rows=st.lists(st.tuples(delays, st.integers(0, 9)), max_size=70))
    def add_many(self, rows: list[tuple[int, int]]) -> None:
        times = [min(max(self.after(delay), LOWEST), HIGHEST) for delay, _ in rows]
        payloads = [payload for _, payload in rows]
        handles = self.wheel.add_many(np.array(times, np.int64), np.array(payloads, np.int64))
        self.handles += zip(handles.tolist(), self.model.add_many(times, payloads), strict=True)

    @precondition(lambda self: self.handles)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        """Handles are never forgotten, so many are stale."""
        handle, number = data.draw(st.sampled_from(self.handles))
        assert self.wheel.cancel(handle) == self.model.cancel(number)
        assert not self.wheel.cancel(handle)

    @precondition(lambda self: self.handles)
    @rule(data=st.data())
    def cancel_many(self, data: st.DataObject) -> None:
        rows = data.draw(st.lists(st.sampled_from(self.handles), max_size=40))
        handles = np.array([handle for handle, _ in rows], np.int64)
        assert self.wheel.cancel_many(handles) == self.model.cancel_many(n for _, n in rows)

    @rule(jump=jumps, limit=limits)
    def advance(self, jump: int, limit: int | None) -> None:
        now = min(self.after(jump), HIGHEST)
        assert self.wheel.advance(now, limit) == self.model.advance(now, limit)

    @rule(now=st.sampled_from([LOWEST, 0, HIGHEST]), limit=limits)
    def advance_to_the_edge(self, now: int, limit: int | None) -> None:
        assert self.wheel.advance(now, limit) == self.model.advance(now, limit)

    @rule()
    def advance_to_the_next(self) -> None:
        """Who wakes at every `next_bucket` gets there without missing anything."""
        target = self.wheel.next_expiration
        while (bucket := self.wheel.next_bucket) is not None and bucket != target:
            assert self.wheel.advance(bucket) == self.model.advance(bucket) == []
            self.wheel._check()
        if target is not None:
            assert self.wheel.advance(target) == self.model.advance(target) != []

    @rule(jump=jumps, limit=limits)
    def advance_numbers(self, jump: int, limit: int | None) -> None:
        now = min(self.after(jump), HIGHEST)
        if all(type(p) is int and LOWEST <= p <= HIGHEST for _, p in self.model.timers.values()):
            assert self.wheel.advance_many(now, limit).tolist() == self.model.advance(now, limit)

    @rule(jump=jumps, delay=delays)
    def callbacks_come_back(self, jump: int, delay: int) -> None:
        """What comes out adds, cancels and advances in its turn."""
        now = min(self.after(jump), HIGHEST)
        expected = self.model.advance(now)
        out = self.wheel.advance(now)
        assert out == expected
        for payload in out[:5]:
            self.add(delay, payload)
            self.wheel._check()
            assert self.wheel.advance(now, 1) == self.model.advance(now, 1)

    @invariant()
    def holds_together(self) -> None:
        if hasattr(self, "wheel"):
            self.wheel._check()
            assert len(self.wheel) == len(self.model)
            assert self.wheel.now == self.model.now
            assert self.wheel.next_expiration == self.model.next_expiration
            bucket = self.wheel.next_bucket
            assert (bucket is None) == (not self.model.timers)
            assert bucket is None or bucket <= (self.model.next_expiration or 0)


TimingWheelMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=40)
TestTimingWheel = TimingWheelMachine.TestCase
