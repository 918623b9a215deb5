"""Real threads on one timing wheel: no timer is lost and none comes out twice."""

from itertools import chain

import numpy as np
import pytest

from flinkish._core.wheel.timing_wheel import TimingWheel
from tests.racing import together

pytestmark = pytest.mark.stress

WRITERS = 4
ROUNDS = 30
ROWS = 1_000


def test_every_timer_comes_out_or_is_cancelled(rng: np.random.Generator) -> None:
    """K.15: cancel and expiry race, and one of them wins."""
    wheel = TimingWheel(1, 16, 0)
    seeds = rng.integers(0, 2**32, WRITERS).tolist()
    done: list[int] = []
    clock = [0]

    def write(writer: int) -> list[int]:
        """Add numbers of its own, in batches and one by one; return those it cancelled."""
        chance = np.random.default_rng(seeds[writer])
        cancelled = []
        try:
            for turn in range(ROUNDS):
                numbers = np.arange(ROWS) + (writer * ROUNDS + turn) * ROWS
                times = clock[0] + chance.integers(0, 200, ROWS)
                handles = wheel.add_many(times[:-50], numbers[:-50]).tolist()
                handles += map(wheel.add, times[-50:].tolist(), numbers[-50:].tolist())
                for row in chance.integers(0, ROWS, 300).tolist():
                    if wheel.cancel(handles[row]):
                        cancelled.append(int(numbers[row]))
        finally:
            done.append(writer)
        return cancelled

    def advance() -> list[int]:
        """The clock goes on while others write."""
        out: list[int] = []
        while len(done) < WRITERS:
            clock[0] += 1
            out += wheel.advance(clock[0], 700)
            out += wheel.advance_many(clock[0]).tolist()
        return out

    def look() -> list[int]:
        while len(done) < WRITERS:
            assert 0 <= len(wheel) <= WRITERS * ROUNDS * ROWS
            bucket = wheel.next_bucket
            assert bucket is None or bucket >= 0
            wheel._check()
        return []

    writers = [lambda writer=writer: write(writer) for writer in range(WRITERS)]
    found = together(*writers, advance, advance, look)
    found.append(wheel.advance(2**62))
    assert len(wheel) == 0
    wheel._check()
    assert sorted(chain(*found)) == list(range(WRITERS * ROUNDS * ROWS))


def test_a_handle_is_cancelled_once() -> None:
    wheel = TimingWheel(1, 16, 0)
    for payloads in (np.arange(5_000), [object() for _ in range(2_000)]):
        for _ in range(5):
            handles = wheel.add_many(np.full(len(payloads), 10**6), payloads)
            counts = together(*[lambda h=handles: [wheel.cancel_many(h)]] * WRITERS)
            assert sum(chain(*counts)) == len(payloads)
    wheel._check()


def test_objects_cross_threads() -> None:
    """Objects and numbers in one wheel, added and cancelled by some and taken by others."""
    wheel = TimingWheel(1, 4, 0)
    done: list[int] = []

    def write(writer: int) -> list[int]:
        kept = []
        for turn in range(3_000):
            number = writer * 3_000 + turn
            handle = wheel.add(turn, (number,) if turn % 3 else number)
            if turn % 2 and wheel.cancel(handle):
                continue
            kept.append(number)
        done.append(writer)
        return kept

    def advance() -> list[int]:
        out = []
        now = 0
        while len(done) < WRITERS or len(wheel):
            now += 1
            for payload in wheel.advance(now, 100):
                out.append(payload if isinstance(payload, int) else payload[0])
        return out

    writers = [lambda writer=writer: write(writer) for writer in range(WRITERS)]
    *kept, first, second = together(*writers, advance, advance)
    assert sorted(first + second) == sorted(chain(*kept))
    wheel._check()


def test_columns_that_change_while_they_are_read(rng: np.random.Generator) -> None:
    """Nobody should, but it must not break the wheel."""
    wheel = TimingWheel(1, 16, 0)
    times, numbers = rng.integers(0, 1_000, 20_000), np.arange(20_000)
    handles = np.zeros(20_000, np.int64)
    done: list[bool] = []

    def change() -> list[int]:
        turn = 0
        while not done:
            times[:] = 7 ** (turn % 22)
            handles[::3] = turn
            turn += 1
        return []

    def use() -> list[int]:
        try:
            for _ in range(20):
                handles[:] = wheel.add_many(times, numbers)
                wheel.cancel_many(handles)
                wheel._check()
        finally:
            done.append(True)
        return []

    together(change, use)
    wheel.advance_many(2**63 - 1)
    assert len(wheel) == 0
