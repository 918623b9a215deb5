"""Real threads on one timer heap: no timer is lost and none comes out twice."""

import numpy as np
import pytest

from flinkish._core.timers.heap import TimerHeap
from tests.racing import together

pytestmark = pytest.mark.stress

WRITERS = 4
ROUNDS = 40
ROWS = 2_000
SPAN = 1_000
GROUPS = 3


def timers(batches: list[tuple[np.ndarray, ...]]) -> np.ndarray:
    """Batches of (timestamps, keys) as one number a timer."""
    return np.concatenate(
        [stamps * 2**32 + keys for stamps, keys, *_ in batches] or [np.empty(0, np.int64)]
    )


def test_batches_from_many_threads(rng: np.random.Generator) -> None:
    heap = TimerHeap(0, GROUPS - 1)
    seeds = rng.integers(0, 2**32, WRITERS).tolist()
    done: list[int] = []
    removed: list[tuple[np.ndarray, ...]] = []
    polled: list[tuple[np.ndarray, ...]] = []

    def write(writer: int) -> np.ndarray:
        """Add timers of keys of its own, and remove some of them again."""
        chance = np.random.default_rng(seeds[writer])
        added = []
        try:
            for turn in range(ROUNDS):
                keys = np.arange(ROWS, dtype=np.uint32) + np.uint32((writer * ROUNDS + turn) * ROWS)
                stamps = chance.integers(0, SPAN, ROWS)
                groups = keys % np.uint32(GROUPS)
                assert heap.add_many(stamps, keys, None, groups) == ROWS
                added.append((stamps, keys))
                # One by one, so that it is known which were still there.
                gone = [
                    row
                    for row in chance.integers(0, ROWS, 50).tolist()
                    if heap.remove(int(stamps[row]), int(keys[row]), 0, int(groups[row]))
                ]
                removed.append((stamps[gone], keys[gone]))
        finally:
            done.append(writer)
        return timers(added)

    def poll() -> np.ndarray:
        """Take out what is due, in pieces, while others write."""
        chance = np.random.default_rng(1)
        while len(done) < WRITERS:
            limit = int(chance.integers(1, 500))
            batch = heap.poll_until(int(chance.integers(0, SPAN)), limit)
            assert (np.diff(batch[0]) >= 0).all()
            assert len(batch[0]) <= limit
            polled.append(batch)
        return np.empty(0, np.int64)

    def look() -> np.ndarray:
        """Read, while others write."""
        while len(done) < WRITERS:
            assert 0 <= len(heap) <= WRITERS * ROUNDS * ROWS
            assert heap.memory_bytes > 0
            head = heap.peek()
            assert head is None or 0 <= head[0] < SPAN
            stamps, keys, _ = heap.timers_of(1)
            assert (np.diff(stamps) >= 0).all()
            assert (keys % GROUPS == 1).all()
        heap._check()
        return np.empty(0, np.int64)

    writers = [lambda writer=writer: write(writer) for writer in range(WRITERS)]
    added = np.concatenate(together(*writers, poll, poll, look))
    heap._check()
    polled += [heap.take_key_group(group) for group in range(GROUPS)]
    assert len(heap) == 0
    gone = np.concatenate([timers(removed), timers(polled)])
    np.testing.assert_array_equal(np.sort(gone), np.sort(added))


def test_the_same_batch_from_many_threads_is_added_and_removed_once(
    rng: np.random.Generator,
) -> None:
    heap = TimerHeap()
    stamps = rng.integers(0, 100, 20_000)
    keys = np.arange(20_000, dtype=np.uint32)
    for _ in range(10):
        counts = together(*[lambda: np.array(heap.add_many(stamps, keys))] * WRITERS)
        assert sorted(map(int, counts)) == [0] * (WRITERS - 1) + [20_000]
        counts = together(*[lambda: np.array(heap.remove_many(stamps, keys))] * WRITERS)
        assert sorted(map(int, counts)) == [0] * (WRITERS - 1) + [20_000]
    heap._check()


def test_clearing_while_others_write() -> None:
    heap = TimerHeap()
    keys = np.arange(500, dtype=np.uint32)

    def write() -> np.ndarray:
        for turn in range(200):
            heap.add_many(keys + np.int64(turn), keys)
            heap.remove_many(keys + np.int64(turn), keys)
        return keys

    def clear() -> np.ndarray:
        for _ in range(200):
            heap.clear()
            heap._check()
        return keys

    together(write, write, clear)
    heap.clear()
    assert len(heap) == 0


def test_columns_that_change_while_they_are_read(rng: np.random.Generator) -> None:
    """Nobody should, but it must not break the heap: the timers are some of those that were."""
    heap = TimerHeap(0, 3)
    stamps, keys = rng.integers(0, 50, 50_000), np.zeros(50_000, np.uint32)
    groups = np.zeros(50_000, np.uint32)
    done: list[bool] = []

    def change() -> np.ndarray:
        turn = 0
        while not done:
            keys[:] = np.uint32(turn % 7)
            groups[:] = np.uint32(turn % 4)
            turn += 1
        return keys

    def use() -> np.ndarray:
        try:
            for _ in range(30):
                heap.add_many(stamps, keys, None, groups)
                heap.remove_many(stamps, keys, None, groups)
                heap._check()
        finally:
            done.append(True)
        return keys

    together(change, use)
    assert len(heap) <= 50 * 7 * 4
