"""What a timing wheel holds: bytes a timer, payloads that are let go, and that come back to it."""

import gc
import weakref

import numpy as np

from flinkish._core.wheel.timing_wheel import TimingWheel


def test_bytes_a_timer(rng: np.random.Generator) -> None:
    for timers in (100_000, 1_000_000):
        wheel = TimingWheel(1, 512, 0)
        wheel.add_many(rng.integers(1, 600_000, timers), np.arange(timers))
        assert wheel.memory_bytes / timers - 8 <= 24


def test_payloads_are_let_go() -> None:
    class Payload:
        def __init__(self, wheel: TimingWheel) -> None:
            self.wheel = wheel

    wheel = TimingWheel(1, 8, 0)
    payloads = [Payload(wheel) for _ in range(4)]
    seen = [weakref.ref(payload) for payload in payloads]
    handles = [wheel.add(5, payload) for payload in payloads]
    del payloads
    wheel.cancel(handles[0])
    assert seen[0]() is None
    wheel.cancel_many(handles[1:2])
    assert seen[1]() is None
    wheel.advance(5)
    assert seen[2]() is seen[3]() is None
    # A payload that holds the wheel which holds it.
    payload = Payload(wheel)
    seen = [weakref.ref(payload), weakref.ref(wheel)]
    wheel.add(9, payload)
    del wheel, payload
    gc.collect()
    assert seen[0]() is seen[1]() is None


def test_a_finalizer_may_use_the_wheel() -> None:
    wheel = TimingWheel(1, 8, 0)

    class Restless:
        def __del__(self) -> None:
            wheel.add(wheel.now + 1, "again")
            wheel.advance(wheel.now)

    wheel.cancel(wheel.add(3, Restless()))
    assert wheel.advance(1) == ["again"]
    wheel.add(3, Restless())
    wheel.advance(3)
    assert wheel.advance(5) == ["again"]
    wheel._check()


def test_what_comes_out_may_use_the_wheel() -> None:
    """Nothing is called under the clock: a callback may add, cancel and advance."""
    wheel = TimingWheel(1, 4, 0)
    log: list[int] = []

    def tick() -> None:
        log.append(wheel.now)
        wheel.cancel(wheel.add(wheel.now + 3, tick))
        if wheel.now < 50:
            wheel.add(wheel.now + 10, tick)
            for callback in wheel.advance(wheel.now + 10):
                callback()

    wheel.add(0, tick)
    for callback in wheel.advance(0):
        callback()
    assert log == [0, 10, 20, 30, 40, 50]
