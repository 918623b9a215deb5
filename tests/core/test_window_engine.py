"""The engines of vectorised windows: what they refuse, and what they keep."""

from typing import Any

import numpy as np
import pytest

from flinkish._core.state import log as state_log
from flinkish._core.state.table import StateTable
from flinkish._core.windows.panes.engine import (
    AccumulatorLayout,
    PaneCombiner,
    PaneWindows,
    SessionWindows,
    WindowEngine,
    WordColumns,
)

LAYOUT = AccumulatorLayout([("count", 0, False, False), ("int", 0, False, False)])


def table() -> StateTable:
    made = StateTable(0, tracking=True)
    made.add_cell("windows")
    return made


def rows_of(made: StateTable, *keys: int) -> np.ndarray:
    rows = np.empty(len(keys), np.uint32)
    made.intern_ints(np.array(keys, np.int64), None, rows)
    return rows


def words(*values: int) -> WordColumns:
    return WordColumns(len(values), [(np.array(values, np.int64).view(np.uint64), None, 0)])


def times(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def engines(made: StateTable) -> list[WindowEngine]:
    return [
        PaneWindows(made, 0, LAYOUT, size=10, unit=10),
        PaneWindows(made, 0, LAYOUT, size=60, unit=7, offset=3),
        SessionWindows(made, 0, LAYOUT, gap=5),
    ]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_what_is_refused_changes_nothing(which: int) -> None:
    made = table()
    engine = engines(made)[which]
    rows = rows_of(made, 1, 2)
    refused: list[tuple[Any, str]] = [
        ((rows[:1], times(1, 2), words(1, 2)), "came with 1 rows"),
        ((rows, times(1), words(1, 2)), "came with 1 times"),
        ((rows, times(1, 2), WordColumns(2, [])), "read 1 columns, and 0 came"),
        ((rows + np.uint32(7), times(1, 2), words(1, 2)), "row 8 is of no key"),
        ((rows, times(1, -(2**63)), words(1, 2)), r"row 1 has the time -9223372036854775808"),
        ((rows, times(2**60, 1), words(1, 2)), "row 0 has the time"),
    ]
    for arguments, says in refused:
        with pytest.raises(ValueError, match=says):
            engine.process(*arguments)
        assert (engine.processed, engine.waiting, made.number_of_event_timers) == (0, 0, 0)
    made._check()
    made.close()
    with pytest.raises(RuntimeError, match="closed"):
        engine.process(rows, times(1, 2), words(1, 2))
    with pytest.raises(RuntimeError, match="closed"):
        engine.advance_watermark(1)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_row_that_was_freed(which: int) -> None:
    made = table()
    engine = engines(made)[which]
    rows = rows_of(made, 1)
    state_log.commit(made)  # it holds nothing
    with pytest.raises(ValueError, match="of no key"):
        engine.process(rows, times(1), words(1))
    made._check()


@pytest.mark.parametrize(
    "shape",
    [
        {"size": 0, "unit": 1},
        {"size": 5, "unit": 0},
        {"size": 2**60, "unit": 1},
        {"size": 5, "unit": 5, "offset": 5},
        {"size": 5, "unit": 5, "offset": -1},
        {"size": 5, "unit": 5, "lateness": -1},
        {"size": 7, "unit": 2, "cycle": 7},
        {"size": 4, "unit": 2, "cycle": 8},
    ],
)
def test_shapes_that_are_none(shape: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"ms|out of range"):
        PaneWindows(table(), 0, LAYOUT, **shape)


def test_cells_gaps_and_layouts_that_are_none() -> None:
    with pytest.raises(ValueError, match="no cell 3"):
        PaneWindows(table(), 3, LAYOUT, size=5, unit=5)
    with pytest.raises(ValueError, match="no cell 3"):
        SessionWindows(table(), 3, LAYOUT, gap=5)
    with pytest.raises(ValueError, match="gap of 0 ms"):
        SessionWindows(table(), 0, LAYOUT, gap=0)
    with pytest.raises(ValueError, match="more than 64"):
        AccumulatorLayout([("count", 0, False, False)] * 65)
    with pytest.raises(ValueError, match="no column 64"):
        AccumulatorLayout([("count", 64, False, False)])
    with pytest.raises(ValueError, match="3 words for 2 rows"):
        WordColumns(2, [(np.zeros(3, np.uint64), None, 0)])
    with pytest.raises(ValueError, match="8 bits of validity from bit 7"):
        WordColumns(2, [(np.zeros(2, np.uint64), np.zeros(1, np.uint8), 7)])


def test_records_of_panes_that_do_not_fit() -> None:
    made = table()
    rows = rows_of(made, 1)
    late = PaneWindows(made, 0, LAYOUT, size=5, unit=5, lateness=1)
    record = np.zeros((1, LAYOUT.stride), np.uint8)
    with pytest.raises(ValueError, match="different fates"):
        late.merge(rows, times(0), record)
    engine = PaneWindows(made, 0, LAYOUT, size=5, unit=5)
    with pytest.raises(ValueError, match=f"records of {LAYOUT.stride} bytes"):
        engine.merge(rows, times(0), record[:, 8:].copy())
    with pytest.raises(ValueError, match="row 0 has the time"):
        engine.merge(rows, times(2**60), record)
    combiner = PaneCombiner(LAYOUT, size=5, unit=5)
    with pytest.raises(ValueError, match="as many keys and times"):
        combiner.combine(rows, times(1, 2), words(1, 2))
    with pytest.raises(ValueError, match="row 0 has the time"):
        combiner.combine(rows, times(-(2**63)), words(1))
    firsts, begins, records = combiner.combine(rows[:0], times(), words())
    assert len(firsts) == len(begins) == len(records) == 0


@pytest.mark.parametrize("which", [0, 1, 2])
def test_state_of_another_layout_is_never_read(which: int) -> None:
    made = table()
    one = engines(made)[which]
    one.process(rows_of(made, 1), times(1), words(1))
    wide = AccumulatorLayout([("int", column, False, False) for column in range(9)])
    other: WindowEngine
    if which == 2:
        other = SessionWindows(made, 0, wide, gap=5)
    else:
        size, unit, offset = ((10, 10, 0), (60, 7, 3))[which]
        other = PaneWindows(made, 0, wide, size=size, unit=unit, offset=offset)
    columns = WordColumns(1, [(np.ones(1, np.uint64), None, 0)] * 9)
    with pytest.raises(ValueError, match="not theirs"):
        other.process(rows_of(made, 1), times(1), columns)
    if which == 2:
        with pytest.raises(ValueError, match="not theirs"):
            other.advance_watermark(100)
    else:
        other.advance_watermark(100)
        assert other.waiting == 0


def test_most_windows_of_an_element_cost_one_pane() -> None:
    made = table()
    engine = PaneWindows(made, 0, LAYOUT, size=86_400_000, unit=1_000)
    engine.process(rows_of(made, 1), times(1), words(7))
    assert made.number_of_event_timers == 2, "the first window, and the end of the block"
    engine.advance_watermark(10 * 86_400_000)
    rows, begins, ends, _ = engine.take()
    assert len(rows) == 86_400
    assert (begins[0], ends[0], ends[-1]) == (1_000 - 86_400_000, 1_000, 86_400_000)
    assert made.number_of_event_timers == 0


def windows_of(
    time: int, *, size: int, unit: int, offset: int = 0, cycle: int = 0
) -> list[tuple[int, int]]:
    if cycle:
        begin = (time - offset) // cycle * cycle + offset
        first = begin + (time - begin) // unit * unit + unit
        return [(begin, end) for end in range(first, begin + cycle + 1, unit)]
    first = ((time - size - offset) // unit + 1) * unit + offset
    return [(begin, begin + size) for begin in range(first, time + 1, unit)]


@pytest.mark.parametrize(
    "shape",
    [
        {"size": 200, "unit": 1},
        {"size": 205, "unit": 2, "offset": 1},
        {"size": 30, "unit": 20},
        {"size": 200, "unit": 1, "cycle": 200},
    ],
)
def test_windows_that_are_due_at_once_are_put_together_together(shape: dict[str, int]) -> None:
    """More of them than a run holds, with stretches between that have no elements."""
    made = table()
    engine = PaneWindows(made, 0, LAYOUT, **shape)
    random = np.random.default_rng(5)
    found: dict[tuple[int, int, int], tuple[int, int]] = {}
    wanted: dict[tuple[int, int, int], tuple[int, int]] = {}
    watermark = -1
    for step in [3, 40, 2_000, 150, 90_000]:
        at = watermark + 1 + random.choice([0, 1, 2, 70, 71, 500, 505, 506, 1_500], 12)
        keys, values = random.integers(1, 4, 12), random.integers(-9, 9, 12)
        rows = rows_of(made, *keys.tolist())
        assert len(engine.process(rows, at, words(*values.tolist()))) == 0
        for key, time, value in zip(keys.tolist(), at.tolist(), values.tolist(), strict=True):
            for begin, end in windows_of(time, **shape):
                count, total = wanted.get((key, begin, end), (0, 0))
                wanted[key, begin, end] = (count + 1, total + value)
        watermark += step
        engine.advance_watermark(watermark)
        rows, begins, ends, records = engine.take()
        sums = records.view(np.int64)
        for row, begin, end, record in zip(rows, begins, ends, sums, strict=True):
            window = (made.key_of(row), begin, end)
            assert window not in found
            assert end - 1 <= watermark
            found[window] = (record[1], record[2])
        assert found == {
            window: result for window, result in wanted.items() if window[2] - 1 <= watermark
        }
    assert found == wanted
    assert made.number_of_event_timers == 0


def test_windows_of_very_many_keys() -> None:
    """So many that rows differ in three of the bytes that they are sorted by."""
    made = table()
    engine = PaneWindows(made, 0, LAYOUT, size=4, unit=2)
    random = np.random.default_rng(6)
    rows = np.empty(150_000, np.uint32)
    made.intern_ints(random.permutation(np.arange(150_000) % 70_000), None, rows)
    at = random.integers(0, 10, rows.size)
    columns = WordColumns(rows.size, [(at.view(np.uint64), None, 0)])
    assert len(engine.process(rows, at, columns)) == 0
    engine.advance_watermark(20)
    fired, begins, ends, records = engine.take()
    assert (np.diff(fired.astype(np.int64)) >= 0).all(), "key by key"
    assert (ends - begins == 4).all()
    found = np.zeros((70_000, 6), np.int64)
    found[fired, ends // 2 - 1] = records.view(np.int64)[:, 2]
    wanted = np.zeros_like(found)
    for later in (0, 1):
        np.add.at(wanted, (rows, at // 2 + later), at)
    assert (found == wanted).all()
    assert (engine.waiting, made.number_of_event_timers) == (0, 0)


def test_neighbouring_panes_share_timers() -> None:
    """One of a pane before leads to the windows of those behind it."""
    made = table()
    engine = PaneWindows(made, 0, LAYOUT, size=60, unit=1)
    row = rows_of(made, 1)
    for time in range(8):
        engine.process(row, times(time), words(1))
    assert made.number_of_event_timers == 2, "the first window, and the end of the block"
    engine.process(row, times(10), words(1))
    assert made.number_of_event_timers == 4, "another block, whose first pane has no elements"
    for due in range(70):
        engine.advance_watermark(due)
        _, _, ends, records = engine.take()
        first, last = max(0, due - 59), min(due, 7)
        count = max(0, last - first + 1) + (first <= 10 <= due)
        assert ends.tolist() == [due + 1]
        assert records.view(np.int64)[0, 1] == count
    engine.advance_watermark(100)
    assert (engine.waiting, made.number_of_event_timers) == (0, 0)


@pytest.mark.parametrize("lateness", [2**63 - 1, 2**62])
def test_windows_that_are_never_forgotten(lateness: int) -> None:
    """C.5: a cleanup past the end of time is none."""
    made = table()
    engine = PaneWindows(made, 0, LAYOUT, size=10, unit=10, lateness=lateness)
    rows = rows_of(made, 1)
    engine.process(rows, times(1), words(1))
    engine.advance_watermark(2**62 - 1)
    assert len(engine.process(rows, times(2), words(2))) == 0
    assert engine.waiting == 2
