"""Rows of keys within namespaces: states of the key and of the row, and their end."""

import pytest

from flinkish._core.state.key_rows import forget_empty_rows, forget_scoped_rows
from flinkish._core.state.keyed_state import ListCell, ValueCell
from flinkish._core.state.named_timers import NamedTimers, poll_timer
from flinkish._core.state.table import StateTable


@pytest.fixture
def table() -> StateTable:
    made = StateTable(0)
    made.add_cell("value")
    made.add_cell("list")
    return made


@pytest.mark.parametrize("key", [7, "k", "a key that does not fit a word", ("a", 1), b"x" * 400])
@pytest.mark.parametrize("namespace", [1, "n", (1, 2), ("n" * 300, 5)])
def test_a_state_of_the_row_and_one_of_its_key(
    table: StateTable, key: object, namespace: object
) -> None:
    own, keys = ValueCell(table, 0, "state"), ValueCell(table, 0, "state", of_key=True)
    table.set_current_key(key, 0, namespace)
    own.update("of the window")
    assert keys.value() is None
    keys.update("of the key")
    assert (own.value(), keys.value()) == ("of the window", "of the key")
    table.set_current_key(key)
    assert (own.value(), keys.value()) == ("of the key", "of the key")
    assert table.current_key() == key
    table.set_current_key(key, 0, "another")
    assert (own.value(), keys.value()) == (None, "of the key")
    table._check()


def test_rows_within_namespaces_are_forgotten_with_all_they_hold(table: StateTable) -> None:
    value, items = ValueCell(table, 0, "value"), ListCell(table, 1, "list")
    for key in range(3):
        table.set_current_key(key)
        value.update(key)
        for space in range(4):
            table.set_current_key(key, 0, space)
            value.update("x" * 50)
            items.add_all([1, 2, 3])
    assert table.number_of_keys == 15
    assert forget_scoped_rows(table) == 12
    table._check()
    assert table.number_of_keys == 3
    assert table.current_key() is None
    assert forget_scoped_rows(table) == 0
    assert forget_empty_rows(table) == 0


def test_rows_with_timers_are_not_forgotten(table: StateTable) -> None:
    timers = NamedTimers(table, 0)
    table.set_current_key("k")
    timers.add(True, 5, "space")
    with pytest.raises(RuntimeError, match="has timers"):
        forget_scoped_rows(table)
    assert poll_timer(table, True, 5) == (0, 5, "k", "space")
    assert forget_scoped_rows(table) == 1


def test_rows_of_a_logged_table_are_its_commits_to_forget() -> None:
    with pytest.raises(RuntimeError, match="by its commit"):
        forget_scoped_rows(StateTable(0, tracking=True))
