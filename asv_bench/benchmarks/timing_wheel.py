"""The timing wheel: whole columns beside the same calls one by one, and asyncio beside its face.

Figures are seconds for all ``timers``: divide to get the cost of one.  Delays are uniform from
1 ms to 10 minutes, in the order of no bucket; handles are cancelled in random order.
"""

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from flinkish._core.wheel.timing_wheel import TimingWheel
from flinkish.time import WheelTimer

SEED = 20_240_311
LONGEST = 600_000  # ms
BUCKETS = 512


def _columns(timers: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Expirations, payloads, and an order to cancel them in."""
    rng = np.random.default_rng(SEED)
    return rng.integers(1, LONGEST + 1, timers), np.arange(timers), rng.permutation(timers)


def _nothing() -> None:
    pass


class TimingWheelBatch:
    """One call for all."""

    params: ClassVar = [10_000, 100_000, 1_000_000]
    param_names: ClassVar = ["timers"]
    number = 1
    repeat = (3, 10, 10.0)
    warmup_time = 0

    def setup(self, timers: int) -> None:
        self.times, self.payloads, order = _columns(timers)
        self.new = TimingWheel(1, BUCKETS, 0)
        self.used = TimingWheel(1, BUCKETS, 0)
        self.used.cancel_many(self.used.add_many(self.times, self.payloads))
        self.wheel = TimingWheel(1, BUCKETS, 0)
        self.gone = self.wheel.add_many(self.times, self.payloads)[order]

    def time_add_to_a_new_wheel(self, timers: int) -> None:
        self.new.add_many(self.times, self.payloads)

    def time_add_to_a_used_wheel(self, timers: int) -> None:
        self.used.add_many(self.times, self.payloads)

    def time_cancel_random(self, timers: int) -> None:
        self.wheel.cancel_many(self.gone)

    def time_expire_all(self, timers: int) -> None:
        self.wheel.advance_many(LONGEST)

    def time_expire_in_100_steps(self, timers: int) -> None:
        for step in range(1, 101):
            self.wheel.advance_many(LONGEST * step // 100)

    def track_bytes_per_timer_besides_the_payload(self, timers: int) -> float:
        return self.wheel.memory_bytes / timers - 8

    track_bytes_per_timer_besides_the_payload.unit = "bytes"  # type: ignore[attr-defined]


class TimingWheelScalar:
    """One call for each timer; ``loop`` is what the Python loop costs by itself."""

    params: ClassVar = [10_000, 100_000, 1_000_000]
    param_names: ClassVar = ["timers"]
    number = 1
    repeat = (3, 10, 10.0)
    warmup_time = 0

    def setup(self, timers: int) -> None:
        times, payloads, order = _columns(timers)
        self.rows = list(zip(times.tolist(), payloads.tolist(), strict=True))
        self.used = TimingWheel(1, BUCKETS, 0)
        self.used.cancel_many(self.used.add_many(times, payloads))
        self.wheel = TimingWheel(1, BUCKETS, 0)
        self.gone = self.wheel.add_many(times, payloads)[order].tolist()
        self.calls = TimingWheel(1, BUCKETS, 0)
        for time, _ in self.rows:
            self.calls.add(time, _nothing)

    def time_loop(self, timers: int) -> None:
        for _time, _payload in self.rows:
            pass

    def time_add(self, timers: int) -> None:
        add = self.used.add
        for time, payload in self.rows:
            add(time, payload)

    def time_cancel_random(self, timers: int) -> None:
        cancel = self.wheel.cancel
        for handle in self.gone:
            cancel(handle)

    def time_add_and_cancel_beside_as_many(self, timers: int) -> None:
        add, cancel = self.wheel.add, self.wheel.cancel
        for time, payload in self.rows:
            cancel(add(time, payload))

    def time_add_and_cancel_a_callback(self, timers: int) -> None:
        add, cancel = self.wheel.add, self.wheel.cancel
        for time, _ in self.rows:
            cancel(add(time, _nothing))

    def time_expire_into_a_list(self, timers: int) -> None:
        self.wheel.advance(LONGEST)

    def time_expire_and_call_each(self, timers: int) -> None:
        for callback in self.calls.advance(LONGEST):
            callback()

    def track_bytes_per_callback_besides_its_reference(self, timers: int) -> float:
        return self.calls.memory_bytes / timers - 8

    track_bytes_per_callback_besides_its_reference.unit = "bytes"  # type: ignore[attr-defined]


class WheelTimerBesideAsyncio:
    """``call_later`` and ``cancel`` of 100,000 timeouts while as many are pending."""

    params: ClassVar = [["asyncio", "wheel"]]
    param_names: ClassVar = ["timer"]
    number = 1
    repeat = (3, 10, 10.0)
    warmup_time = 0
    timers = 100_000

    def setup(self, timer: str) -> None:
        times, _, _ = _columns(self.timers)
        self.delays = (times / 1000).tolist()
        self.loop = asyncio.new_event_loop()
        self.call_later: Callable[..., Any] = (
            self.loop.call_later if timer == "asyncio" else WheelTimer(self.loop).call_later
        )
        self.pending = [self.call_later(1_000 + delay, _nothing) for delay in self.delays]

    def teardown(self, timer: str) -> None:
        self.loop.close()

    async def _turn(self) -> None:
        """Until the loop has cleaned up behind those that were cancelled."""

    def time_call_later_and_cancel(self, timer: str) -> None:
        call_later = self.call_later
        for delay in self.delays:
            call_later(1_000 + delay, _nothing).cancel()
        self.loop.run_until_complete(self._turn())
