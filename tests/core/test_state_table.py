"""The table itself: keys by the column, key groups, and what a closed one says."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from flinkish._core.operators.keyed_process import KeyedTimerService
from flinkish._core.state.keyed_state import ValueCell
from flinkish._core.state.named_timers import next_timer
from flinkish._core.state.table import FILES, StateTable


@pytest.fixture
def table() -> StateTable:
    table = StateTable(0)
    for number in range(6):
        table.add_cell(number)
    table.processing_time = 1000
    table.set_current_key("key")
    return table


def columns(texts: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *map(len, texts)]).astype(np.int32)
    return offsets, np.frombuffer(b"".join(texts), np.uint8)


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 5000])
def test_columns_get_the_rows_that_their_keys_get_one_by_one(table: StateTable, count: int) -> None:
    numbers = np.random.default_rng(1).integers(0, 1 + count // 2, count)
    texts = [f"{number} {'long ' * (number % 4)}" for number in numbers.tolist()]
    by_number, by_text = np.empty(count, np.uint32), np.empty(count, np.uint32)
    table.intern_ints(numbers, None, by_number)
    table.intern_strings(*columns([text.encode() for text in texts]), None, by_text)
    again = np.empty(count, np.uint32)
    table.intern_objects([*texts], None, again)
    assert (again == by_text).all()
    assert [table.key_of(row) for row in by_number.tolist()] == numbers.tolist()
    assert [table.key_of(row) for row in by_text.tolist()] == texts
    assert table.number_of_keys == 1 + len(set(texts)) + len(set(numbers.tolist()))
    table._check()


def test_key_groups_come_with_the_keys() -> None:
    table = StateTable(3, 5)
    groups = np.array([3, 5, 4], np.int32)
    rows = np.empty(3, np.uint32)
    table.intern_ints(np.arange(3), groups, rows)
    table.intern_objects(["a", b"b", (1,)], groups, rows)
    table.intern_strings(*columns([b"x", b"", b"z"]), groups, rows)
    table._check()
    with pytest.raises(ValueError, match="need their key groups"):
        table.intern_ints(np.arange(3), None, rows)
    groups[1] = 6
    for call in (
        lambda: table.intern_ints(np.arange(10, 13), groups, rows),
        lambda: table.intern_strings(*columns([b"1", b"2", b"3"]), groups, rows),
    ):
        held = table.number_of_keys
        with pytest.raises(ValueError, match=r"key group 6 is not in 3\.\.5"):
            call()
        assert table.number_of_keys == held
    with pytest.raises(ValueError, match=r"key group 6 is not in 3\.\.5"):
        table.intern_objects([10, 11, 12], groups, rows)
    groups[1] = -1
    with pytest.raises((ValueError, OverflowError)):
        table.intern_ints(np.arange(10, 13), groups, rows)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t, r: t.intern_ints(np.arange(4), None, r), "4 keys need as many rows, not 3"),
        (lambda t, r: t.intern_ints(np.arange(3.0), None, r), "dtype mismatch"),
        (lambda t, r: t.intern_ints(np.arange(3, dtype=np.int32), None, r), "dtype mismatch"),
        (lambda t, r: t.intern_ints(np.arange(6)[::2], None, r), "not C.contiguous"),
        (lambda t, r: t.intern_ints(np.arange(3), None, r.astype(np.int32)), "dtype mismatch"),
        (lambda t, r: t.intern_ints(np.arange(3), np.zeros(2, np.int32), r), "2 key groups"),
        (lambda t, r: t.intern_ints(np.arange(3), None, r, 2), "cannot have the tag 2"),
        (lambda t, r: t.intern_objects([1], None, r), "1 keys need as many rows"),
        (lambda t, r: t.intern_strings(*columns([b"a"]), None, r), "need 4 offsets"),
        (
            lambda t, r: t.intern_strings(
                np.array([0, 2, 1, 3], np.int32), np.zeros(3, np.uint8), None, r
            ),
            r"key 1 is said to be at 2\.\.1",
        ),
        (
            lambda t, r: t.intern_strings(
                np.array([0, 1, 2, 9], np.int32), np.zeros(3, np.uint8), None, r
            ),
            r"key 2 is said to be at 2\.\.9 in 3 bytes",
        ),
        (
            lambda t, r: t.intern_strings(
                np.array([-1, 0, 1, 2], np.int32), np.zeros(3, np.uint8), None, r
            ),
            r"key 0 is said to be at -1",
        ),
        (lambda t, r: t.intern_packed(*columns([b"\x06a", b"", b"\x06"]), None, r), "key 1 does"),
        (lambda t, r: t.intern_packed(*columns([b"\x03a"] * 3), None, r), "key 0 does not begin"),
        (lambda t, r: t.intern_packed(*columns([b"\x00"] * 3), None, r), "key 0 does not begin"),
        (lambda t, r: t.key_of(2**31), "there is no row"),
        (lambda t, r: t.forget(2**31), "there is no row"),
        (lambda t, r: t.number_of_entries(6), "there is no cell 6"),
        (lambda t, r: t.set_current_key("key", 1), r"key group 1 is not in 0\.\.0"),
    ],
)
def test_columns_that_do_not_fit_are_refused(table: StateTable, call: Any, message: str) -> None:
    rows = np.empty(3, np.uint32)
    with pytest.raises(ValueError, match=message):
        call(table, rows)
    assert table.number_of_keys == 1
    table._check()


@pytest.mark.parametrize("groups", [(-1, 0), (1, 0), (0, 2**15), (2**15, 2**15)])
def test_key_groups_are_those_of_flink(groups: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="are no range within"):
        StateTable(*groups)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.set_current_key(1),
        lambda t: t.key_of(0),
        lambda t: t.check_key_group(0),
        lambda t: t.intern_ints(np.arange(3), None, np.empty(3, np.uint32)),
        lambda t: t.intern_objects([1], None, np.empty(1, np.uint32)),
        lambda t: t.intern_strings(
            np.array([0, 1], np.int32), np.zeros(1, np.uint8), None, np.empty(1, np.uint32)
        ),
        lambda t: t.forget(0),
        lambda t: t.number_of_entries(0),
        lambda t: t.number_of_keys,
        lambda t: t.number_of_event_timers,
        lambda t: t.number_of_processing_timers,
        lambda t: t.memory_bytes,
        lambda t: t.track(True),
        lambda t: t._check(),
    ],
)
@pytest.mark.parametrize("opened", [False, True])
def test_a_closed_table_refuses_everything(call: Callable[[StateTable], Any], opened: bool) -> None:
    table = StateTable(0) if opened else StateTable()
    table.close()
    table.add_cell("cells may be added at any time")
    assert table.current_key() is None
    with pytest.raises(RuntimeError, match="this table is closed"):
        call(table)


def test_a_table_has_so_many_cells_and_no_more() -> None:
    table = StateTable(0)
    for _ in range(65535):
        table.cells.append(None)
    with pytest.raises(ValueError, match="at most 65535 cells"):
        table.add_cell("one too many")


def test_two_tables_exchange_what_they_hold(table: StateTable) -> None:
    """Handles stay with their table, and with the cells of their table."""
    other = StateTable()
    state = ValueCell(table, 5, "last")
    state.update("of the first")
    KeyedTimerService(table).register_event_time_timer(7)
    table.exchange(other)
    assert table.current_key() is None
    with pytest.raises(RuntimeError, match="this table is closed"):
        table.set_current_key("key")
    table.map([-1] * len(FILES), 3, create=True)
    table.set_current_key("key", 3)
    assert state.value() is None
    state.update("of the second")
    assert next_timer(table, True) is None
    table.exchange(other)
    table.set_current_key("key")
    assert (state.value(), next_timer(table, True)) == ("of the first", 7)
    table.exchange(other)
    table.set_current_key("key", 3)
    assert (state.value(), next_timer(table, True)) == ("of the second", None)
    assert table.processing_time == 1000
    for one in (table, other):
        one._check()
        one.close()
