"""Handles of keyed state: what PyFlink's states do, what they refuse, and expiry (Flink's TTL)."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from flinkish._core.state.keyed_state import (
    AggregatingCell,
    ListCell,
    MapCell,
    ReducingCell,
    StateHandle,
    ValueCell,
)
from flinkish._core.state.table import StateTable
from tests.core.specimens import KEYS, VALUES


@pytest.fixture
def table() -> StateTable:
    table = StateTable(0)
    for number in range(6):
        table.add_cell(number)
    table.processing_time = 1000
    table.set_current_key("key")
    return table


def other_key(table: StateTable) -> None:
    table.set_current_key("another key")


# --- values


@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_of_its_key(table: StateTable, value: Any) -> None:
    state = ValueCell(table, 0, "state")
    assert state.value() is None
    state.update(value)
    other_key(table)
    assert state.value() is None
    table.set_current_key("key")
    assert repr(state.value()) == repr(value)
    state.update(None)
    assert state.value() is None
    table._check()


def test_values_change_size_in_any_order(table: StateTable) -> None:
    state = ValueCell(table, 0, "state")
    for before in VALUES:
        for after in VALUES:
            state.update(before)
            state.update(after)
            assert repr(state.value()) == repr(after)
    table._check()


def test_a_namespace_has_values_of_its_own(table: StateTable) -> None:
    state = ValueCell(table, 0, "state")
    for namespace in [None, "window", 7, (1, 2)]:
        table.set_current_key("key", 0, namespace)
        assert table.current_key() == "key"
        assert state.value() is None
        state.update(repr(namespace))
    table.set_current_key("key", 0, (1, 2))
    assert state.value() == "(1, 2)"
    table.set_current_key("key")
    assert state.value() == "None"


@pytest.mark.parametrize(
    ("coding", "good", "stored"),
    [
        ("int64", 2**63 - 1, 2**63 - 1),
        ("int64", np.int64(-5), -5),
        ("int32", -(2**31), -(2**31)),
        ("int16", 2**15 - 1, 2**15 - 1),
        ("int8", -128, -128),
        ("float64", 3, 3.0),
        ("float64", np.float32(0.5), 0.5),
        ("boolean", True, True),
        ("string", np.str_("text"), "text"),
        ("binary", bytearray(b"bytes"), b"bytes"),
        ("any", {"a": [1]}, {"a": [1]}),
    ],
)
def test_what_fits_a_type_is_stored_as_that_type(
    table: StateTable, coding: str, good: Any, stored: Any
) -> None:
    state = ValueCell(table, 0, "state", coding)
    state.update(good)
    assert state.value() == stored
    assert type(state.value()) is type(stored)


@pytest.mark.parametrize(
    ("coding", "bad", "message"),
    [
        ("int64", 2**63, "'count' was given 9223372036854775808, which does not fit int64"),
        ("int32", 2**31, "does not fit int32"),
        ("int16", -(2**15) - 1, "does not fit int16"),
        ("int8", 128, "does not fit int8"),
        ("int64", 1.0, "holds int64 values and was given 1.0 of type float"),
        ("int64", True, "of type bool"),
        ("int64", "1", "change the value or the descriptor's type"),
        ("float64", "1", "holds float64 values"),
        ("float64", True, "of type bool"),
        ("boolean", 1, "holds boolean values"),
        ("string", b"s", "holds string values"),
        ("binary", "s", "holds binary values"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_names(
    table: StateTable, coding: str, bad: Any, message: str
) -> None:
    values = ValueCell(table, 0, "count", coding)
    values.update({"int": 1, "flo": 1.5, "boo": True, "str": "s", "bin": b"b"}[coding[:3]])
    kept = values.value()
    for store in (
        values.update,
        ListCell(table, 1, "count", coding).add,
        lambda value: MapCell(table, 2, "count", coding).put(1, value),
        ReducingCell(table, 3, "count", lambda a, b: a, coding).add,
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            store(bad)
    assert values.value() == kept
    assert ListCell(table, 1, "list").get() == []
    table._check()


def test_errors_are_those_of_the_table(table: StateTable) -> None:
    class Wrong(Exception):
        pass

    table.illegal_type = table.illegal_argument = table.illegal_state = Wrong
    state = ValueCell(table, 0, "state", "int8")
    for bad in ("text", 1000):
        with pytest.raises(Wrong):
            state.update(bad)
    table.clear_current_key()
    with pytest.raises(Wrong):
        state.value()


def test_what_cannot_be_pickled_is_refused_and_changes_nothing(table: StateTable) -> None:
    values, elements, pairs = (
        ValueCell(table, 0, "v"),
        ListCell(table, 1, "l"),
        MapCell(table, 2, "m"),
    )
    values.update(1)
    for store in (values.update, elements.add, lambda value: pairs.put("k", value)):
        with pytest.raises((TypeError, AttributeError)):
            store(threading.Lock())
    assert (values.value(), elements.get(), list(pairs.keys())) == (1, [], [])


# --- reducing and aggregating


def test_reducing(table: StateTable) -> None:
    state = ReducingCell(table, 0, "max", max)
    assert state.get() is None
    for value in (3, 9, 4):
        state.add(value)
    assert state.get() == 9
    state.clear()
    assert state.get() is None
    nothing = ReducingCell(table, 1, "nothing", lambda a, b: None)
    nothing.add(1)
    nothing.add(2)
    assert nothing.get() is None
    assert table.number_of_entries(1) == 0


class Mean:
    """As PyFlink's AggregateFunction."""

    def create_accumulator(self) -> list[float]:
        return [0.0, 0]

    def add(self, value: float, accumulator: list[float]) -> list[float]:
        accumulator[0] += value
        accumulator[1] += 1
        return accumulator

    def get_result(self, accumulator: list[float]) -> float:
        return accumulator[0] / accumulator[1]


def test_aggregating(table: StateTable) -> None:
    state = AggregatingCell(table, 0, "mean", Mean())
    assert state.get() is None
    for value in (1, 2, 6):
        state.add(value)
    assert state.get() == 3.0
    other_key(table)
    assert state.get() is None


def test_an_error_of_the_function_changes_nothing(table: StateTable) -> None:
    state = ReducingCell(table, 0, "ratio", lambda a, b: a / b)
    state.add(1)
    with pytest.raises(ZeroDivisionError):
        state.add(0)
    assert state.get() == 1


# --- lists


def test_lists(table: StateTable) -> None:
    state = ListCell(table, 0, "list")
    assert state.get() == list(state) == []
    state.add(1)
    state.add_all(["two", 3.0])
    assert list(state) == [1, "two", 3.0]
    state.update(element for element in state.get()[1:])
    assert state.get() == ["two", 3.0]
    state.update([])
    assert state.get() == []
    assert table.number_of_entries(0) == 0
    with pytest.raises(ValueError, match="'list' cannot hold None"):
        state.add(None)
    state.add(1)
    with pytest.raises(ValueError, match="'list' cannot hold None"):
        state.update([2, None])
    table._check()


# --- maps


def test_maps(table: StateTable) -> None:
    state = MapCell(table, 0, "map")
    assert state.is_empty()
    state.put("a", 1)
    state["b"] = 2
    state.put_all({"c": 3, "a": None})
    assert list(state.items()) == [("a", None), ("b", 2), ("c", 3)]
    assert (list(state), list(state.keys()), list(state.values())) == (
        ["a", "b", "c"],
        ["a", "b", "c"],
        [None, 2, 3],
    )
    assert "a" in state
    assert state.contains("b")
    assert "d" not in state
    assert state["a"] is None
    assert state["d"] is None
    del state["b"]
    state.remove("d")
    assert list(state) == ["a", "c"]
    assert not state.is_empty()
    state.clear()
    assert state.is_empty()
    assert table.number_of_entries(0) == 0


def test_map_keys_of_every_kind_are_told_apart(table: StateTable) -> None:
    state = MapCell(table, 0, "map")
    for number, key in enumerate(KEYS):
        state.put(key, number)
    for number, key in enumerate(KEYS):
        assert state.get(key) == number
    assert repr(list(state.keys())) == repr(KEYS)
    for key in KEYS[::2]:
        state.remove(key)
    assert list(state.values()) == list(range(1, len(KEYS), 2))
    with pytest.raises(TypeError, match="a key must not be None"):
        state.put(None, 1)
    with pytest.raises(TypeError, match="no canonical form"):
        state.get([1])
    table._check()


def test_a_map_may_change_while_it_is_walked(table: StateTable) -> None:
    state = MapCell(table, 0, "map")
    state.put_all(dict.fromkeys(range(50), 0))
    for key, _ in state.items():
        state.remove(key)
        state.put(-1 - key, 1)
    assert sorted(state) == list(range(-50, 0))
    table._check()


def test_a_large_map_among_others(table: StateTable) -> None:
    state = MapCell(table, 0, "map")
    for key in range(20):
        table.set_current_key(key)
        for item in range(500):
            state.put(f"item {item}", item * key)
    for key in range(20):
        table.set_current_key(key)
        assert sum(state.values()) == sum(range(500)) * key
        for item in range(0, 500, 2):
            state.remove(f"item {item}")
        assert state.get("item 7") == 7 * key
        assert state.get("item 8") is None
    table._check()


# --- where a handle may be used


def handles(table: StateTable) -> list[Callable[[], Any]]:
    value, elements, pairs = (
        ValueCell(table, 0, "v"),
        ListCell(table, 1, "l"),
        MapCell(table, 2, "m"),
    )
    reducing = ReducingCell(table, 3, "r", max)
    return [
        *(value.value, value.clear, lambda: value.update(1), lambda: value.update(None)),
        *(elements.get, elements.clear, lambda: elements.add(1), lambda: elements.update([1])),
        *(pairs.clear, lambda: pairs.get(1), lambda: pairs.put(1, 1), lambda: pairs.remove(1)),
        *(pairs.keys, pairs.values, pairs.items, pairs.is_empty, lambda: 1 in pairs),
        *(reducing.get, lambda: reducing.add(1)),
    ]


def test_without_a_current_key_there_is_no_state(table: StateTable) -> None:
    table.clear_current_key()
    for call in handles(table):
        with pytest.raises(RuntimeError, match="without a current key"):
            call()


def test_a_closed_table_has_no_state(table: StateTable) -> None:
    calls = handles(table)
    table.close()
    table.close()
    for call in calls:
        with pytest.raises(RuntimeError, match="without a current key"):
            call()


@pytest.mark.parametrize(
    ("kind", "cell", "settings", "message"),
    [
        (ValueCell, 6, {}, "cannot be in cell 6 of 6"),
        (ValueCell, 5, {"ttl": 1}, "cannot be in cell 5 of 6 with a time to live of 1 ms"),
        (ListCell, 2**32 - 1, {"ttl": 1}, "cannot be in cell 4294967295"),
        (MapCell, 0, {"ttl": -1}, "with a time to live of -1 ms"),
        (StateHandle, 0, {"coding": "int7"}, "one of any, int64, .* not 'int7'"),
    ],
)
def test_a_handle_is_of_a_cell(
    table: StateTable, kind: Any, cell: int, settings: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        kind(table, cell, "state", **settings)


def test_a_cell_is_of_one_kind(table: StateTable) -> None:
    """Confused handles get an error, not each other's memory."""
    value, elements = ValueCell(table, 0, "value"), ListCell(table, 1, "list")
    value.update("a text of some length")
    elements.add_all(range(20))
    for wrong in (ListCell(table, 0, "wrong").add, MapCell(table, 0, "wrong").put):
        with pytest.raises(ValueError, match="chain"):
            wrong(*[1, 2][: 1 + (wrong.__name__ == "put")])
    with pytest.raises(ValueError, match="chain"):
        ValueCell(table, 1, "wrong").update("another text of some length")
    with pytest.raises(ValueError, match="tag 14"):
        ValueCell(table, 1, "wrong").value()
    assert ListCell(table, 0, "wrong").get() == []
    assert value.value() == "a text of some length"
    assert elements.get() == list(range(20))
    table._check()
