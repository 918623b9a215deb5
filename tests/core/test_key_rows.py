"""Looking keys up before their key group is known, and forgetting empty ones."""

import numpy as np
import pytest

from flinkish._core.state.key_rows import find_rows, forget_empty_rows, use_key
from flinkish._core.state.keyed_state import MapCell, ValueCell
from flinkish._core.state.table import StateTable

KEYS = [0, -5, 1 << 80, "", "text", "text that does not fit a word", b"bytes", (1, ("a", 2)), 1.5]


@pytest.fixture
def table() -> StateTable:
    return StateTable(0, 9)


def test_a_key_is_known_once_it_has_a_row(table: StateTable) -> None:
    for at, key in enumerate(KEYS):
        assert not use_key(table, key)
        assert table.current_key() is None
        table.set_current_key(key, at)
    for key in KEYS:
        assert use_key(table, key)
        assert table.current_key() == key


def test_find_rows_says_which_keys_are_new(table: StateTable) -> None:
    table.set_current_key("a", 1)
    table.set_current_key("b", 2)
    rows = np.empty(5, np.uint32)
    assert find_rows(table, ["b", "x", "a", "x", "b"], rows) == [1, 3]
    assert table.key_of(int(rows[0])) == "b"
    assert rows[0] == rows[4]
    assert table.key_of(int(rows[2])) == "a"
    with pytest.raises(ValueError, match="as many rows"):
        find_rows(table, ["a"], rows)
    with pytest.raises(TypeError, match="None"):
        find_rows(table, [None] * 5, rows)


def test_rows_that_hold_nothing_are_forgotten(table: StateTable) -> None:
    value = ValueCell(table, table.add_cell("v"), "v")
    pairs = MapCell(table, table.add_cell("m"), "m")
    for key in range(100):
        table.set_current_key(key, key % 10)
        value.update("a value that needs a place in the slab")
        pairs.put(key, "another that is longer than a word")
    for key in range(0, 100, 2):
        table.set_current_key(key, key % 10)
        value.clear()
        pairs.clear()
    assert forget_empty_rows(table) == 50
    assert table.current_key() is None
    table._check()
    assert table.number_of_keys == 50
    assert forget_empty_rows(table) == 0
    assert not use_key(table, 2)
    assert use_key(table, 3)
    assert value.value() == "a value that needs a place in the slab"


def test_a_table_with_a_log_forgets_by_its_commit() -> None:
    table = StateTable(0, 0, tracking=True)
    with pytest.raises(RuntimeError, match="commit"):
        forget_empty_rows(table)


def test_a_closed_table(table: StateTable) -> None:
    table.close()
    for call in (
        lambda: use_key(table, 1),
        lambda: find_rows(table, [1], np.empty(1, np.uint32)),
        lambda: forget_empty_rows(table),
    ):
        with pytest.raises(RuntimeError):
            call()
