"""Timers as flat memory: the log of changes, its replay, bulk loading, and mapped files."""

import os
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish._core.testing.timers import TimersDoor

HEADER = struct.Struct("<Q5I")  # magic, count, used, free, sequence, groups
SET_HEADER = struct.Struct("<2I")  # capacity, count
FILES = ("nodes", "slots", "set")

Interval = list[tuple[str, int, int]]

# Few timers, so that slots are freed and taken again within one interval.
steps = st.tuples(
    st.sampled_from(["add", "add", "remove", "poll"]), st.integers(0, 4), st.integers(0, 3)
)
intervals = st.lists(st.lists(steps, max_size=25), max_size=6)


def run(timers: TimersDoor, interval: Interval) -> None:
    for step, timestamp, key in interval:
        if step == "poll":
            timers.poll()
        else:
            getattr(timers, step)(timestamp, key)


def replay(timers: TimersDoor, changes: tuple[list[int], list[tuple[int, ...]]]) -> None:
    removed, added = changes
    for slot in removed:
        assert timers.remove_slot(slot)
    for timer in added:
        assert timers.insert_at(*timer)


def contents(timers: TimersDoor) -> dict[int, tuple[int, int, int, int]]:
    """What is in each slot."""
    return {slot: timers.get(slot) for slot in range(200) if timers.get(slot) is not None}


def drained(timers: TimersDoor) -> list[tuple[int, int, int, int]]:
    return list(iter(timers.poll, None))


# --- the log -----------------------------------------------------------------------------------


@given(intervals)
def test_a_replay_gives_every_timer_its_slot_and_its_turn(plan: list[Interval]) -> None:
    timers, copy = TimersDoor(), TimersDoor()
    timers.track(True)
    for interval in plan:
        before = contents(timers)
        run(timers, interval)
        removed, added = timers.changes()
        assert len(set(removed)) == len(removed), "a slot is left once"
        assert set(removed) <= set(before)
        assert len({slot for slot, *_ in added}) == len(added), "a slot is taken once"
        replay(copy, (removed, added))
        timers.clear_changes()
        assert timers.changes() == ([], [])
        timers.check()
        assert contents(copy) == contents(timers)
    copy.rebuild_free()
    copy.check()
    assert copy.by_registration() == timers.by_registration()
    assert drained(copy) == drained(timers)


@given(intervals, st.lists(steps, max_size=10))
def test_a_loaded_snapshot_is_the_same_timers(plan: list[Interval], more: Interval) -> None:
    timers, copy = TimersDoor(), TimersDoor()
    for interval in plan:
        run(timers, interval)
    slots = timers.by_registration()
    rows = [timers.get(slot) for slot in slots]
    copy.load(
        np.array(slots, np.uint32),
        np.array([row[0] for row in rows if row], np.int64),
        np.array([row[1] for row in rows if row], np.uint32),
        np.zeros(len(rows), np.uint32),
    )
    copy.check()
    assert contents(copy) == contents(timers)
    for both in (timers, copy):
        run(both, more)
        both.check()
    assert drained(copy) == drained(timers)


def test_a_timer_that_came_and_went_leaves_no_trace() -> None:
    timers = TimersDoor()
    timers.add(1, 1)
    timers.track(True)
    timers.add(2, 2)
    timers.remove(2, 2)
    assert timers.changes() == ([], [])
    timers.remove(1, 1)
    timers.add(1, 1)
    assert timers.changes() == ([0], [(0, 1, 1, 0, 0)]), "first the removals, then the additions"


def test_a_slot_that_is_taken_twice_is_logged_for_the_timer_that_stays() -> None:
    timers = TimersDoor()
    timers.track(True)
    timers.add(5, 1)
    timers.add(5, 2)
    timers.remove(5, 1)
    timers.add(5, 3)
    assert timers.changes() == ([], [(1, 5, 2, 0, 0), (0, 5, 3, 0, 0)]), "in order of registration"


def test_changes_survive_the_end_of_the_sequences() -> None:
    timers = TimersDoor()
    timers.add(0, 0)
    timers.track(True)
    timers.set_next_sequence(2**32 - 3)
    timers.add(9, 1)
    timers.remove(9, 1)
    timers.add(9, 2)
    for key in range(3, 9):
        timers.add(9, key)
    timers.check()
    assert [key for _, _, key, _, _ in timers.changes()[1]] == list(range(2, 9))
    timers.clear_changes()
    timers.remove(9, 5)
    assert len(timers.changes()[0]) == 1
    assert [key for _, key, _, _ in drained(timers)] == [0, 2, 3, 4, 6, 7, 8]


def test_what_happened_untracked_is_no_change() -> None:
    timers = TimersDoor()
    timers.track(True)
    timers.add(1, 1)
    timers.track(False)
    timers.add(2, 2)
    timers.track(True)
    assert timers.changes() == ([], [])
    timers.remove(1, 1)
    assert timers.changes() == ([0], [])
    timers.clear()
    assert timers.changes() == ([], [])


# --- replay ------------------------------------------------------------------------------------


def test_replay_refuses_what_cannot_be() -> None:
    timers = TimersDoor(2)
    assert timers.insert_at(7, 1, 1, 0, 1)
    assert not timers.insert_at(8, 1, 1, 0, 1), "such a timer exists"
    for slot, group in [(7, 0), (2**31 - 1, 0), (2**32 - 1, 0), (3, 2)]:
        with pytest.raises(OSError, match="Invalid argument"):
            timers.insert_at(slot, 2, 2, 0, group)
    for slot in (6, 8, 2**32 - 1):
        assert not timers.remove_slot(slot)
    timers.rebuild_free()
    timers.check()
    assert contents(timers) == {7: (1, 1, 0, 1)}


def test_gaps_are_used_lowest_first_after_a_replay() -> None:
    timers = TimersDoor()
    for slot in (6, 1, 4):
        timers.insert_at(slot, 1, slot)
    assert timers.remove_slot(6)
    timers.add(1, 100)
    assert timers.get(7) == (1, 100, 0, 0), "before the chain is rebuilt only new slots are taken"
    timers.remove(1, 100)
    timers.rebuild_free()
    timers.check()
    for key in range(10, 14):
        timers.add(1, key)
    timers.check()
    assert timers.by_registration() == [1, 4, 0, 2, 3, 5]
    assert [timer[1] for _, timer in sorted(contents(timers).items())] == [10, 1, 11, 12, 4, 13]


def test_rebuilding_an_empty_heap() -> None:
    timers = TimersDoor()
    timers.rebuild_free()
    timers.add(1, 1)
    timers.remove_slot(0)
    timers.rebuild_free()
    timers.check()
    assert timers.add(1, 1)
    assert timers.get(0) == (1, 1, 0, 0)


def test_loading_many(rng: np.random.Generator) -> None:
    rows = 30_000
    slots = rng.permutation(2 * rows)[:rows].astype(np.uint32)
    stamps = rng.integers(0, 500, rows)
    keys = np.arange(rows, dtype=np.uint32)
    timers = TimersDoor(3)
    timers.load(slots, stamps, keys, keys, 2)
    timers.check()
    assert timers.by_registration() == slots.tolist()
    assert timers.get(int(slots[5])) == (stamps[5], 5, 5, 2)
    order = np.argsort(stamps, kind="stable").tolist()
    assert [key for _, key, _, _ in drained(timers)] == order
    timers.check()


def test_loading_without_slots_counts_them() -> None:
    timers = TimersDoor()
    column = np.arange(3, dtype=np.uint32)
    timers.load(None, column.astype(np.int64), column, column)
    assert contents(timers) == {slot: (slot, slot, slot, 0) for slot in range(3)}
    with pytest.raises(OSError, match="Invalid argument"):
        timers.load(None, column.astype(np.int64), column, column)


@pytest.mark.parametrize(
    ("slots", "keys"),
    [([0, 1, 0], [0, 1, 2]), ([0, 1, 2], [5, 6, 5]), ([0, 1, 2**31], [0, 1, 2])],
    ids=["slot twice", "timer twice", "slot too high"],
)
def test_a_load_that_fails_leaves_nothing(slots: list[int], keys: list[int]) -> None:
    timers = TimersDoor()
    zeros = np.zeros(3, np.uint32)
    with pytest.raises(OSError, match="Invalid argument"):
        timers.load(
            np.array(slots, np.uint32), zeros.astype(np.int64), np.array(keys, np.uint32), zeros
        )
    timers.check()
    assert len(timers) == 0
    timers.load(None, zeros[:1].astype(np.int64), zeros[:1], zeros[:1])
    timers.check()


# --- files -------------------------------------------------------------------------------------


def mapped(folder: Path) -> TimersDoor:
    return TimersDoor(files=[os.open(folder / name, os.O_RDWR | os.O_CREAT) for name in FILES])


@given(st.lists(steps, max_size=60))
def test_files_carry_everything(tmp_path_factory: pytest.TempPathFactory, plan: Interval) -> None:
    folder = tmp_path_factory.mktemp("timers")
    kept = TimersDoor()
    for start in range(0, len(plan), 20):
        timers = mapped(folder)
        run(timers, plan[start : start + 20])
        timers.close()
        run(kept, plan[start : start + 20])
    timers = mapped(folder)
    timers.check()
    assert contents(timers) == contents(kept)
    assert drained(timers) == drained(kept)


def test_files_grow(tmp_path: Path) -> None:
    timers = mapped(tmp_path)
    for key in range(5000):
        timers.add(-key, key)
    timers.close()
    timers = mapped(tmp_path)
    timers.check()
    assert [key for _, key, _, _ in drained(timers)] == list(range(4999, -1, -1))


def patch(
    name: str, layout: struct.Struct, field: int, value: Callable[[int], int]
) -> Callable[[Path], None]:
    """Change one field of the header of a file."""

    def apply(folder: Path) -> None:
        with (folder / name).open("r+b") as file:
            fields = list(layout.unpack(file.read(layout.size)))
            fields[field] = value(fields[field])
            file.seek(0)
            file.write(layout.pack(*fields))

    return apply


def cut(name: str, size: int) -> Callable[[Path], None]:
    return lambda folder: os.truncate(folder / name, size)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(patch("nodes", HEADER, 0, lambda magic: magic ^ 1), id="magic"),
        pytest.param(patch("nodes", HEADER, 0, lambda magic: magic + (1 << 56)), id="version"),
        pytest.param(patch("nodes", HEADER, 1, lambda count: count + 1), id="count"),
        pytest.param(patch("nodes", HEADER, 1, lambda count: 2**32 - 1), id="huge count"),
        pytest.param(patch("nodes", HEADER, 2, lambda used: 2**32 - 1), id="huge used"),
        pytest.param(patch("nodes", HEADER, 2, lambda used: 0), id="fewer used than live"),
        pytest.param(patch("nodes", HEADER, 3, lambda free: 1000), id="free slot out of range"),
        pytest.param(patch("nodes", HEADER, 5, lambda groups: 2), id="groups"),
        pytest.param(patch("set", SET_HEADER, 0, lambda capacity: 0), id="no capacity"),
        pytest.param(patch("set", SET_HEADER, 0, lambda capacity: 101), id="full set"),
        pytest.param(patch("set", SET_HEADER, 0, lambda capacity: 2**32 - 1), id="huge capacity"),
        pytest.param(patch("set", SET_HEADER, 1, lambda count: count - 1), id="set count"),
        *(pytest.param(cut(name, 0), id=f"no {name}") for name in FILES),
        *(pytest.param(cut(name, 7), id=f"little of {name}") for name in FILES),
        *(pytest.param(cut(name, 512), id=f"part of {name}") for name in FILES),
    ],
)
def test_files_that_do_not_fit_are_refused(damage: Callable[[Path], None], tmp_path: Path) -> None:
    timers = mapped(tmp_path)
    for key in range(100):
        timers.add(key, key)
    timers.close()
    damage(tmp_path)
    with pytest.raises(OSError, match="Invalid argument"):
        mapped(tmp_path)
