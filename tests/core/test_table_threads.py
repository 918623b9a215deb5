"""A second thread that comes while one works on a table without the GIL is refused."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from itertools import count

import numpy as np
import pytest

from flinkish._core.operators.keyed_process import KeyedTimerService
from flinkish._core.state import key_rows, keyed_state
from flinkish._core.state import log as state_log
from flinkish._core.state.table import StateTable
from flinkish._core.windows.panes.engine import (
    AccumulatorLayout,
    PaneCombiner,
    PaneWindows,
    WordColumns,
)
from tests.core.logs import dump, dumped
from tests.waiting import PATIENCE

KEYS = 200_000
LAYOUT = AccumulatorLayout([("count", 0, False, False), ("int", 0, False, False)])
ONES = np.ones(KEYS, np.uint64)
WORDS = WordColumns(KEYS, [(ONES, None, 0)])


def is_refused(work: Callable[[], object], call: Callable[[], object]) -> None:
    """Whichever thread comes second is told so, if `work` is done over and over on another.

    That is this one, which calls `call`, unless `call` itself works without the GIL.
    """
    told: set[str] = set()
    over = threading.Event()
    failed: list[BaseException] = []

    def run() -> None:
        try:
            while not over.is_set():
                work()
        except RuntimeError as error:
            told.add(str(error))
        except BaseException as error:
            failed.append(error)

    worker = threading.Thread(target=run)
    worker.start()
    alarm = threading.Timer(PATIENCE, over.set)
    alarm.start()
    while worker.is_alive() and not told:
        try:
            call()
        except RuntimeError as error:
            told.add(str(error))
    over.set()
    alarm.cancel()
    worker.join()
    alarm.join()
    if failed:
        raise failed[0]
    assert told, "nobody came second"
    for text in told:
        assert f"thread {threading.get_ident()}" in text, text
        assert f"thread {worker.ident}" in text, text


def busy_table() -> tuple[StateTable, Callable[[], None]]:
    """A table with a cell, and work for it that is done without the GIL: keys by the column."""
    table = StateTable(0)
    table.add_cell("value")
    firsts = count(0, KEYS)
    rows = np.empty(KEYS, np.uint32)

    def work() -> None:
        first = next(firsts) % (50 * KEYS)
        table.intern_ints(np.arange(first, first + KEYS), None, rows)

    return table, work


@pytest.mark.parametrize(
    "name",
    [
        *("number_of_entries", "set_current_key", "clear_current_key", "current_key", "key_of"),
        *("add_cell", "memory_bytes", "map", "commit", "dump", "dumped", "gather", "forget"),
        *("find", "state", "timers", "track"),
    ],
)
def test_keys_are_interned_while_another_thread(name: str) -> None:
    table, work = busy_table()
    work()
    value = keyed_state.ValueCell(table, 0, "value")
    timers = KeyedTimerService(table)
    out = np.empty(1, np.uint32)

    def with_key(call: Callable[[], object]) -> None:
        table.set_current_key(1)
        call()

    calls: dict[str, Callable[[], object]] = {
        "number_of_entries": lambda: table.number_of_entries(0),
        "set_current_key": lambda: table.set_current_key(1),
        "clear_current_key": table.clear_current_key,
        "current_key": table.current_key,
        "key_of": lambda: table.key_of(0),
        "add_cell": lambda: len(table.cells) < 50 and table.add_cell("more"),
        "memory_bytes": lambda: table.memory_bytes,
        "map": lambda: map_again(table),
        "commit": lambda: state_log.commit(table),
        "dump": lambda: dump(table, 0),
        "dumped": lambda: dumped(table, 0, 10),
        "gather": lambda: key_rows.gather_keys(table, np.zeros(1, np.uint32)),
        "forget": lambda: key_rows.forget_scoped_rows(table),
        "find": lambda: key_rows.find_rows(table, [1], out),
        "state": lambda: with_key(value.value),
        "timers": lambda: with_key(lambda: timers.register_event_time_timer(1)),
        "track": lambda: table.track(False),
    }
    is_refused(work, calls[name])
    table._check()


def map_again(table: StateTable) -> None:
    with contextlib.suppress(ValueError):  # it is open
        table.map([-1] * 12, 0, create=True)


def test_a_table_is_not_closed_while_another_thread_works_on_it() -> None:
    tables = [StateTable(0)]
    rows = np.empty(KEYS, np.uint32)
    keys = np.arange(KEYS)  # not in `work`: NumPy gives the GIL away while it fills an array

    def work() -> None:
        tables[0] = StateTable(0)
        with contextlib.suppress(RuntimeError):  # it may be closed before the work begins
            tables[0].intern_ints(keys, None, rows)

    is_refused(work, lambda: tables[0].close())


def test_fired_windows_are_not_taken_while_another_thread_adds_to_them() -> None:
    table = StateTable(0)
    table.add_cell("windows")
    engine = PaneWindows(table, 0, LAYOUT, size=10, unit=10)
    rows = np.zeros(KEYS, np.uint32)
    table.intern_ints(np.arange(1), None, rows[:1])
    starts = count(0, KEYS)

    def work() -> None:
        first = next(starts)
        engine.process(rows, np.arange(first, first + KEYS), WORDS)
        engine.advance_watermark(first + KEYS)

    is_refused(work, engine.take)


def test_panes_are_combined_on_one_thread_at_a_time() -> None:
    combiner = PaneCombiner(LAYOUT, size=10, unit=10)
    keys = np.arange(KEYS, dtype=np.uint32)
    times = np.arange(KEYS)

    def combine() -> None:
        with contextlib.suppress(RuntimeError):
            combiner.combine(keys, times, WORDS)

    def second() -> None:
        combiner.combine(keys[:1], times[:1], WordColumns(1, [(ONES[:1], None, 0)]))

    is_refused(combine, second)
    assert len(combiner.combine(keys, times, WORDS)[0]) == KEYS


def test_the_current_key_is_as_before_after_a_section_without_the_gil() -> None:
    table, work = busy_table()
    table.set_current_key("mine")
    work()
    assert table.current_key() == "mine"
    key_rows.gather_keys(table, np.zeros(3, np.uint32))
    assert table.current_key() == "mine"


@pytest.mark.parametrize("bad", ["key group", "row"])
def test_an_error_leaves_the_table_to_all(bad: str) -> None:
    table = StateTable(3)
    table.set_current_key("mine", 3)
    calls: dict[str, Callable[[], object]] = {
        "row": lambda: key_rows.gather_keys(table, np.full(3, 77, np.uint32)),
        "key group": lambda: table.intern_ints(
            np.arange(2), np.full(2, 9, np.int32), np.empty(2, np.uint32)
        ),
    }
    with pytest.raises(ValueError, match=bad):
        calls[bad]()
    assert table.current_key() == "mine"


def test_a_log_whose_pieces_use_the_table_that_they_are_read_into_is_refused() -> None:
    table = StateTable(0, tracking=True)
    table.add_cell("value")
    table.set_current_key(1)
    keyed_state.ValueCell(table, 0, "value").update(1)
    piece = state_log.commit(table)
    restored = StateTable(0, tracking=True)

    def pieces() -> Iterator[bytes]:
        restored.close()
        yield piece

    restored.add_cell("value")
    with pytest.raises(RuntimeError, match="came back to it"):
        state_log.replay(restored, pieces(), [0], 0)
