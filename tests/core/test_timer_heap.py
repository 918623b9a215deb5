"""The timer heap from Python: Flink's rules, columns, and what it refuses.

Whether every mix of calls gives the right timers is the business of
`tests/stateful/test_timer_heap_machine.py`.
"""

import array
import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from flinkish._core.testing.timers import set_next_sequence
from flinkish._core.timers.heap import TimerHeap

LOWEST, HIGHEST = -(2**63), 2**63 - 1


def times(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def ids(*values: int) -> np.ndarray:
    return np.array(values, np.uint32)


def listed(arrays: tuple[np.ndarray, ...]) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in arrays), strict=True))


def drained(heap: TimerHeap) -> list[tuple[int, int, int]]:
    return list(iter(heap.poll, None))


# --- identity and order ------------------------------------------------------------------------


def test_a_second_timer_of_the_same_identity_is_not_added() -> None:
    """B.1, B.23."""
    heap = TimerHeap(0, 1)
    assert heap.add(10, 1, 2, 0)
    assert not heap.add(10, 1, 2, 0)
    assert heap.add(11, 1, 2, 0)
    assert heap.add(10, 3, 2, 0)
    assert heap.add(10, 1, 4, 0)
    assert heap.add(10, 1, 2, 1)
    assert len(heap) == 5
    heap._check()


def test_the_earliest_comes_first_and_equals_as_they_were_added() -> None:
    """B.2, with an order for equal timestamps."""
    heap = TimerHeap()
    for timestamp, key in [(5, 9), (3, 8), (5, 1), (3, 2), (5, 5), (-1, 0)]:
        heap.add(timestamp, key)
    assert heap.peek() == (-1, 0, 0)
    assert drained(heap) == [(-1, 0, 0), (3, 8, 0), (3, 2, 0), (5, 9, 0), (5, 1, 0), (5, 5, 0)]
    assert heap.peek() is None
    assert heap.poll() is None


def test_a_duplicate_keeps_its_place_and_a_readded_timer_goes_to_the_end() -> None:
    heap = TimerHeap()
    for key in (1, 2, 3):
        heap.add(7, key)
    heap.add(7, 1)
    heap.remove(7, 2)
    heap.add(7, 2)
    assert [key for _, key, _ in drained(heap)] == [1, 3, 2]


def test_equal_timestamps_of_several_key_groups_share_one_order() -> None:
    heap = TimerHeap(4, 7)
    for key, group in enumerate([6, 4, 7, 4, 5, 6]):
        heap.add(1, key, 0, group)
    assert [key for _, key, _ in drained(heap)] == [0, 1, 2, 3, 4, 5]


def test_timestamps_and_ids_reach_the_ends_of_their_types() -> None:
    """B.6: the first watermark is the lowest long, and a timer there is due at it."""
    heap = TimerHeap()
    heap.add(HIGHEST, 2**32 - 1, 2**32 - 1)
    heap.add(LOWEST, 0)
    assert heap.contains(HIGHEST, 2**32 - 1, 2**32 - 1)
    assert listed(heap.poll_until(LOWEST)) == [(LOWEST, 0, 0)]
    assert listed(heap.poll_until(HIGHEST - 1)) == []
    assert listed(heap.poll_until(HIGHEST)) == [(HIGHEST, 2**32 - 1, 2**32 - 1)]


def test_removal_takes_exactly_this_timer() -> None:
    """B.11; no leakage across keys and namespaces: B.10."""
    heap = TimerHeap(0, 1)
    heap.add(10, 1, 1, 0)
    assert not heap.remove(11, 1, 1, 0)
    assert not heap.remove(10, 2, 1, 0)
    assert not heap.remove(10, 1, 2, 0)
    assert not heap.remove(10, 1, 1, 1)
    assert heap.remove(10, 1, 1, 0)
    assert not heap.remove(10, 1, 1, 0)
    assert len(heap) == 0


def test_due_is_up_to_and_including_the_watermark() -> None:
    """B.6, B.8."""
    heap = TimerHeap()
    heap.add_many(times(30, 10, 20, 21), ids(0, 1, 2, 3))
    assert listed(heap.poll_until(20)) == [(10, 1, 0), (20, 2, 0)]
    assert heap.add(15, 4), "a timer in the past is taken and is due at once"
    assert listed(heap.poll_until(20)) == [(15, 4, 0)]
    assert listed(heap.poll_until(20)) == []
    assert len(heap) == 2


@pytest.mark.parametrize("step", [1, 7, 250, 1000, None])
def test_a_limit_takes_the_earliest(step: int | None, rng: np.random.Generator) -> None:
    heap = TimerHeap()
    stamps = rng.integers(0, 400, 2000)
    heap.add_many(stamps, np.arange(2000, dtype=np.uint32))
    expected = sorted(zip(stamps.tolist(), range(2000), strict=True))
    due = [pair for pair in expected if pair[0] <= 300]
    found: list[tuple[int, ...]] = []
    while taken := listed(heap.poll_until(300, step)):
        assert step is None or len(taken) == min(step, len(due) - len(found))
        found += [timer[:2] for timer in taken]
        heap._check()
    assert found == due
    assert heap.poll_until(HIGHEST, 0)[0].size == 0
    assert [timer[:2] for timer in drained(heap)] == expected[len(due) :]


@pytest.mark.parametrize(
    "stamps",
    [
        pytest.param(lambda n, rng: rng.integers(LOWEST, HIGHEST, n), id="all of int64"),
        pytest.param(lambda n, rng: rng.integers(0, 2**40, n), id="decades"),
        pytest.param(lambda n, rng: rng.integers(0, 9, n), id="few"),
        pytest.param(lambda n, rng: np.zeros(n, np.int64), id="one"),
        pytest.param(lambda n, rng: np.arange(n), id="ascending"),
        pytest.param(lambda n, rng: np.arange(n)[::-1].copy(), id="descending"),
        pytest.param(lambda n, rng: np.int64(1) << rng.integers(0, 63, n), id="skewed"),
    ],
)
def test_many_come_out_sorted(
    stamps: Callable[[int, np.random.Generator], np.ndarray], rng: np.random.Generator
) -> None:
    """Whatever the timestamps look like to the radix sort."""
    rows = 20_000
    column = stamps(rows, rng)
    heap = TimerHeap()
    assert heap.add_many(column, np.arange(rows, dtype=np.uint32)) == rows
    heap._check()
    half = heap.poll_until(int(np.median(column)))
    heap._check()
    rest = heap.poll_until(HIGHEST)
    order = np.argsort(column, kind="stable")
    np.testing.assert_array_equal(np.concatenate([half[1], rest[1]]), order)
    np.testing.assert_array_equal(np.concatenate([half[0], rest[0]]), column[order])


def test_order_survives_the_end_of_the_sequences() -> None:
    """Sequences have 32 bits; when they are used up the timers are numbered anew."""
    heap = TimerHeap()
    for key in range(100):
        heap.add(key % 3, key)
    heap.remove(0, 0)
    set_next_sequence(heap, 2**32 - 5)
    for key in range(100, 110):
        heap.add(key % 3, key)
        heap._check()
    assert [key for _, key, _ in drained(heap)] == sorted(range(1, 110), key=lambda key: key % 3)


# --- columns -----------------------------------------------------------------------------------


def test_columns_add_and_remove_like_the_same_calls_one_by_one() -> None:
    heap = TimerHeap(2, 3)
    columns = times(5, 5, 6, 5), ids(1, 1, 1, 1), ids(0, 0, 0, 7), ids(2, 3, 2, 2)
    assert heap.add_many(*columns) == 4
    assert heap.add_many(*columns) == 0
    assert listed(heap.timers_of(2)) == [(5, 1, 0), (5, 1, 7), (6, 1, 0)]
    assert heap.remove_many(*columns) == 4
    assert heap.remove_many(*columns) == 0


def test_one_int_or_none_stands_for_a_whole_column() -> None:
    heap = TimerHeap(0, 5)
    assert heap.add_many(times(1, 1), ids(8, 8)) == 1, "None is 0; the second is a duplicate"
    assert heap.add_many(times(1), ids(8), 4, 5) == 1
    assert heap.add_many(times(1), ids(8), np.uint32(4), np.int64(4)) == 1
    assert heap.contains(1, 8, 0, 0)
    assert heap.contains(1, 8, 4, 5)
    assert heap.contains(1, 8, 4, 4)


def test_empty_columns_are_fine() -> None:
    heap = TimerHeap()
    assert heap.add_many(times(), ids()) == 0
    assert heap.remove_many(times(), ids(), ids(), ids()) == 0
    for arrays in (heap.poll_until(HIGHEST), heap.timers_of(0), heap.take_key_group(0)):
        assert [column.size for column in arrays] == [0, 0, 0]
        assert [column.dtype for column in arrays] == [np.int64, np.uint32, np.uint32]


def test_any_buffer_of_the_right_type_will_do() -> None:
    heap = TimerHeap()
    assert heap.add_many(array.array("q", [3, 4]), memoryview(ids(1, 2))) == 2
    frozen = times(5)
    frozen.flags.writeable = False
    assert heap.add_many(frozen, ids(1)) == 1


def test_results_own_their_memory() -> None:
    heap = TimerHeap()
    heap.add_many(times(2, 1), ids(20, 10))
    stamps, keys, namespaces = heap.poll_until(9)
    heap.add_many(times(7, 7, 7), ids(1, 2, 3))
    del heap, stamps
    gc.collect()
    keys += 1
    assert (keys.tolist(), namespaces.tolist()) == ([11, 21], [0, 0])


def test_key_groups_are_read_and_taken_apart(rng: np.random.Generator) -> None:
    """B.17: what one key group holds leaves as a whole, for the operator that gets it."""
    heap = TimerHeap(10, 13)
    groups = rng.integers(10, 14, 3000).astype(np.uint32)
    stamps = rng.integers(0, 50, 3000)
    keys = np.arange(3000, dtype=np.uint32)
    heap.add_many(stamps, keys, None, groups)
    ordered = sorted(zip(stamps.tolist(), keys.tolist(), strict=True))
    mine = [(stamp, key) for stamp, key in ordered if groups[key] == 12]
    assert [timer[:2] for timer in listed(heap.timers_of(12))] == mine
    assert len(heap) == 3000
    assert [timer[:2] for timer in listed(heap.take_key_group(12))] == mine
    heap._check()
    assert len(heap) == 3000 - len(mine)
    assert listed(heap.timers_of(12)) == []
    for group in (10, 11, 13):
        heap.take_key_group(group)
        heap._check()
    assert len(heap) == 0


# --- memory ------------------------------------------------------------------------------------


def test_a_timer_takes_48_bytes_at_a_million() -> None:
    heap = TimerHeap()
    keys = np.arange(1_000_000, dtype=np.uint32)
    heap.add_many(keys.astype(np.int64), keys)
    assert heap.memory_bytes <= 48 * 1_000_000
    heap.clear()
    assert len(heap) == 0
    assert heap.memory_bytes < 100
    assert heap.add(1, 1)
    heap._check()


def test_an_empty_heap_of_all_key_groups_is_small() -> None:
    assert TimerHeap(0, 32767).memory_bytes <= 32 * 32768


def test_slots_are_used_again() -> None:
    heap = TimerHeap()
    keys = np.arange(1000, dtype=np.uint32)
    for start in range(0, 50_000, 1000):
        heap.add_many(keys + np.int64(start), keys)
        heap.poll_until(start + 500)
        heap.remove_many(keys + np.int64(start), keys)
    heap._check()
    assert heap.memory_bytes < 200_000


# --- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((2**63, 1), OverflowError, ["timestamp is 9223372036854775808", "int64"]),
        ((-(2**63) - 1, 1), OverflowError, ["timestamp is -9223372036854775809"]),
        ((1.5, 1), TypeError, ["timestamp is 1.5", "an int is needed"]),
        ((None, 1), TypeError, ["timestamp is None"]),
        ((1, -1), OverflowError, ["key is -1", "uint32"]),
        ((1, 2**32), OverflowError, ["key is 4294967296", "uint32"]),
        ((1, "a"), TypeError, ["key is 'a'", "an int is needed"]),
        ((1, 1, -1), OverflowError, ["namespace is -1", "uint32"]),
        ((1, 1, 2**64), OverflowError, ["namespace is 18446744073709551616"]),
        ((1, 1, 0, 1), ValueError, ["key group 1", "2..5"]),
        ((1, 1, 0, 6), ValueError, ["key group 6", "2..5"]),
        ((1, 1, 0, -1), ValueError, ["key group -1", "2..5"]),
        ((1, 1, 0, 3.0), TypeError, ["key_group is 3.0"]),
    ],
)
@pytest.mark.parametrize("call", ["add", "remove", "contains"])
def test_bad_arguments_are_named(
    call: str, arguments: tuple[Any, ...], error: type[Exception], words: list[str]
) -> None:
    heap = TimerHeap(2, 5)
    with pytest.raises(error) as caught:
        getattr(heap, call)(*arguments)
    assert [word for word in words if word not in str(caught.value)] == []
    assert len(heap) == 0


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (([1], ids(1)), TypeError, ["timestamps is a list", "numpy.int64"]),
        ((times(1), [1]), TypeError, ["keys is a list", "numpy.uint32"]),
        ((np.array([1.0]), ids(1)), TypeError, ["timestamps", "float64", "int64 is needed"]),
        ((ids(1), ids(1)), TypeError, ["timestamps", "uint32", "int64 is needed"]),
        ((np.array([1], "u8"), ids(1)), TypeError, ["timestamps", "uint64"]),
        ((np.array([1], ">i8"), ids(1)), TypeError, ["timestamps", ">i8"]),
        ((np.array([1], "M8[ms]"), ids(1)), TypeError, ["timestamps", "datetime64"]),
        ((times(1), times(1)), TypeError, ["keys", "int64", "uint32 is needed"]),
        ((times(1), np.array([1], "i4")), TypeError, ["keys", "int32", "uint32 is needed"]),
        ((times(1, 2, 3)[::2], ids(1, 2)), TypeError, ["timestamps", "contiguous"]),
        ((times(1).reshape(1, 1), ids(1)), ValueError, ["timestamps has 2 dimensions"]),
        ((np.array(1), ids(1)), ValueError, ["timestamps has 0 dimensions"]),
        ((times(1, 2), ids(1)), ValueError, ["keys has 1 rows", "timestamps has 2"]),
        ((times(1), ids(1), ids(1, 2)), ValueError, ["namespaces has 2 rows"]),
        ((times(1), ids(1), None, ids()), ValueError, ["key_groups has 0 rows"]),
        ((times(1), ids(1), 2**32), OverflowError, ["namespaces is 4294967296"]),
        ((times(1), ids(1), 1.5), TypeError, ["namespaces is a float"]),
        ((times(1), ids(1), None, 6), ValueError, ["key group 6", "0..5"]),
        ((times(1), ids(1), None, -1), ValueError, ["key group -1", "0..5"]),
        ((times(1, 1), ids(1, 2), None, ids(5, 6)), ValueError, ["key_groups[1] is 6", "0..5"]),
    ],
)
@pytest.mark.parametrize("call", ["add_many", "remove_many"])
def test_bad_columns_are_named_and_nothing_is_done(
    call: str, arguments: tuple[Any, ...], error: type[Exception], words: list[str]
) -> None:
    heap = TimerHeap(0, 5)
    if call == "remove_many":
        heap.add_many(times(1, 1), ids(1, 2), None, 5)
    before = len(heap)
    with pytest.raises(error) as caught:
        getattr(heap, call)(*arguments)
    assert [word for word in words if word not in str(caught.value)] == []
    assert len(heap) == before


def test_a_refused_batch_lets_go_of_its_columns() -> None:
    stamps, keys = array.array("q", [1]), array.array("I", [1])
    heap = TimerHeap()
    for namespaces in (1.5, ids(1, 2), [1], -1):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            heap.add_many(stamps, keys, namespaces)  # type: ignore[arg-type]
    stamps.append(2)
    keys.append(2)
    assert heap.add_many(stamps, keys) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("bounds", [(1, 0), (-1, 0), (0, 32768), (5, 2)])
def test_a_range_of_key_groups_must_be_one(bounds: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=f"key groups {bounds[0]}..{bounds[1]} are no range"):
        TimerHeap(*bounds)


def test_other_bad_arguments() -> None:
    heap = TimerHeap(3, 4)
    with pytest.raises(ValueError, match="limit is -1"):
        heap.poll_until(1, -1)
    with pytest.raises(OverflowError, match="timestamp is 9223372036854775808"):
        heap.poll_until(2**63)
    for call in (heap.timers_of, heap.take_key_group):
        with pytest.raises(ValueError, match=r"key group 5 is not one of 3\.\.4"):
            call(5)
    with pytest.raises(TypeError, match="first_key_group is 'a'"):
        TimerHeap("a")  # type: ignore[arg-type]


def test_it_says_what_it_is() -> None:
    heap = TimerHeap(3, 4)
    heap.add(1, 1, 0, 3)
    assert repr(heap) == "<TimerHeap of 1 timers, key groups 3..4>"
    assert (heap.first_key_group, heap.last_key_group) == (3, 4)
    with pytest.raises(TypeError, match="pickle"):
        heap.__reduce_ex__(4)


@pytest.mark.parametrize("groups", [1, 128])
def test_a_timer_takes_48_bytes_at_most_however_many_there_are(groups: int) -> None:
    heap = TimerHeap(0, groups - 1)
    heap.add(0, 0)  # a heap that is empty reserves what a batch needs: this one has to grow
    rng = np.random.default_rng(7)
    for start in range(0, 400_000, 2000):
        keys = np.arange(start, start + 2000, dtype=np.uint32)
        heap.add_many(rng.integers(1, 2**40, 2000), keys, None, keys % np.uint32(groups))
        if start >= 98_000:
            assert heap.memory_bytes <= 48 * len(heap)
