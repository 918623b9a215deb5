"""Time to live (Flink's TTL): handles that meet what expired, and the sweep."""

from typing import Any

import pytest

from flinkish._core.state import log as state_log
from flinkish._core.state.keyed_state import ListCell, MapCell, ReducingCell, ValueCell, sweep
from flinkish._core.state.table import StateTable
from tests.core.logs import dump


@pytest.fixture
def table() -> StateTable:
    table = StateTable(0)
    for number in range(6):
        table.add_cell(number)
    table.processing_time = 1000
    table.set_current_key("key")
    return table


def test_a_value_expires_its_time_after_the_last_write(table: StateTable) -> None:
    state = ValueCell(table, 0, "state", ttl=100)
    state.update("first")
    table.processing_time = 1099
    assert state.value() == "first"
    state.update("second")
    table.processing_time = 1198
    assert state.value() == "second"
    table.processing_time = 1199  # expires at 1099 + 100, that instant included
    assert state.value() is None
    table.processing_time = 1099
    assert state.value() is None, "the read that met it has removed it"
    assert table.number_of_entries(0) == table.number_of_entries(1) == 0


def test_a_read_renews_if_it_was_asked_to(table: StateTable) -> None:
    settings: Any = {"ttl": 100, "renew_on_read": True}
    value = ValueCell(table, 0, "value", **settings)
    elements = ListCell(table, 2, "list", **settings)
    pairs = MapCell(table, 3, "map", **settings)
    for state in (value.update, elements.add):
        state("lives")
    pairs.put("read", 1)
    pairs.put("not read", 2)
    for now in (1090, 1180, 1270):
        table.processing_time = now
        assert value.value() == "lives"
        assert elements.get() == ["lives"]
        assert pairs.get("read") == 1
    assert list(pairs) == ["read"]
    table.processing_time = 1370
    assert (value.value(), elements.get(), pairs.is_empty()) == (None, [], True)


def test_an_expired_value_is_shown_once_if_it_was_asked_for(table: StateTable) -> None:
    settings: Any = {"ttl": 100, "show_expired": True}
    value = ValueCell(table, 0, "value", **settings)
    elements = ListCell(table, 2, "list", **settings)
    pairs = MapCell(table, 3, "map", **settings)
    value.update(1)
    elements.add_all([1, 2])
    pairs.put_all({"a": 1, "b": 2, "c": 3})
    table.processing_time = 5000
    assert (value.value(), value.value()) == (1, None)
    assert (elements.get(), elements.get()) == ([1, 2], [])
    assert (pairs.get("a"), pairs.get("a")) == (1, None)
    assert ("b" in pairs, "b" in pairs) == (True, False)
    assert (list(pairs.values()), list(pairs.values())) == ([3], [])
    table._check()


def test_elements_and_entries_expire_one_by_one(table: StateTable) -> None:
    elements = ListCell(table, 0, "list", ttl=10)
    pairs = MapCell(table, 1, "map", ttl=10)
    for now in range(1000, 1020):
        table.processing_time = now
        elements.add(now)
        pairs.put(now % 15, now)
    assert elements.get() == list(range(1010, 1020))
    assert sorted(pairs.values()) == list(range(1010, 1020))
    table._check()


def test_lists_and_maps_keep_to_their_cell(table: StateTable) -> None:
    """With a time to live a single value takes two cells; lists and maps do not."""
    elements, neighbour = ListCell(table, 0, "list", ttl=10), ValueCell(table, 1, "neighbour")
    neighbour.update("here")
    elements.add(1)
    elements.clear()
    elements.update([2])
    assert neighbour.value() == "here"
    MapCell(table, 0, "map", ttl=10).clear()
    assert neighbour.value() == "here"


def test_reducing_starts_anew_after_expiry(table: StateTable) -> None:
    state = ReducingCell(table, 0, "sum", lambda a, b: a + b, ttl=10)
    state.add(1)
    state.add(2)
    table.processing_time = 2000
    state.add(5)
    assert state.get() == 5


@pytest.mark.parametrize("now", [-(2**63), -(2**63) + 5, 0, 2**63 - 1])
@pytest.mark.parametrize("ttl", [1, 10, 2**63 - 1])
def test_times_at_the_edge_neither_overflow_nor_expire_early(
    table: StateTable, now: int, ttl: int
) -> None:
    table.processing_time = now
    state, elements = ValueCell(table, 0, "state", ttl=ttl), ListCell(table, 2, "list", ttl=ttl)
    state.update(1)
    elements.add(1)
    assert state.value() == 1
    assert elements.get() == [1]


# --- what has outlived its time


class Swept:
    """A table that is logged, with states that expire after 100 ms and one that does not."""

    EXPIRIES = ((0, False, 100), (2, True, 100), (3, True, 100))

    def __init__(self) -> None:
        self.table = StateTable(0, tracking=True)
        for number in range(5):
            self.table.add_cell(number)
        self.value = ValueCell(self.table, 0, "value", ttl=100)
        self.list = ListCell(self.table, 2, "list", ttl=100)
        self.map = MapCell(self.table, 3, "map", ttl=100)
        self.stays = ValueCell(self.table, 4, "stays")

    def sweep(self, now: int) -> int:
        self.table.processing_time = now
        removed = sweep(self.table, list(self.EXPIRIES))
        self.table._check()
        return removed


def test_a_sweep_takes_what_expired_from_keys_that_nobody_touches() -> None:
    swept = Swept()
    for key in range(100):
        swept.table.processing_time = key
        swept.table.set_current_key(key)
        swept.value.update("a value that is longer than a word")
        swept.list.add_all([key, key])
        swept.map.put("a", key)
        swept.map.put("b", key)
        if key % 10 == 0:
            swept.stays.update("for ever")
    log = [state_log.commit(swept.table)]
    assert swept.sweep(99) == 0
    assert state_log.commit(swept.table) == b""
    assert swept.sweep(149) == 50 * 5, "keys 0 to 49 were written at least 100 ms ago"
    assert swept.sweep(149) == 0
    log.append(state_log.commit(swept.table))
    assert swept.table.number_of_keys == 50 + 5
    again = Swept()
    state_log.replay(again.table, log, list(range(5)), 0)
    assert dump(again.table, 0) == dump(swept.table, 0)
    assert again.sweep(10**6) == 50 * 5
    state_log.commit(again.table)
    assert again.table.number_of_keys == 10


def test_a_sweep_takes_part_of_a_chain() -> None:
    swept = Swept()
    for now in range(200):
        swept.table.processing_time = now
        swept.table.set_current_key("key")
        swept.list.add(now)
        swept.map.put(now % 70, now)
    assert swept.sweep(210) == 111
    assert swept.list.get() == list(range(111, 200))
    assert len(list(swept.map)) == 70
    assert swept.sweep(250) == 40 + 21


def test_a_sweep_of_nothing() -> None:
    swept = Swept()
    assert swept.sweep(0) == 0
    assert sweep(swept.table, []) == 0


@pytest.mark.parametrize("expiry", [(99, True, 1), (4, False, 1), (0, False, -1), (-1, True, 1)])
def test_a_sweep_refuses_states_that_are_not_there(expiry: Any) -> None:
    with pytest.raises(ValueError, match="no state with a time to live"):
        sweep(Swept().table, [expiry])


def test_nothing_expires_before_there_is_time() -> None:
    swept = Swept()
    swept.table.set_current_key("key")
    swept.value.update(1)
    assert swept.table.processing_time == -(2**63)
    assert swept.value.value() == 1
    assert swept.sweep(-(2**63) + 99) == 0
    assert swept.sweep(-(2**63) + 100) == 1


def test_adding_to_a_list_leaves_what_has_expired_to_the_next_read(table: StateTable) -> None:
    elements = ListCell(table, 2, "list", ttl=100, show_expired=True)
    elements.add("old")
    table.processing_time = 1100
    elements.add("new")
    assert elements.get() == ["old", "new"]
    assert elements.get() == ["new"]


def test_overwriting_takes_the_place_of_what_has_expired(table: StateTable) -> None:
    value = ValueCell(table, 0, "value", ttl=100, show_expired=True)
    pairs = MapCell(table, 3, "map", ttl=100, show_expired=True)
    value.update("old")
    pairs.put("key", "old")
    pairs.put("other", "old")
    table.processing_time = 1100
    value.update("new")
    pairs.put("key", "new")
    assert value.value() == "new"
    assert dict(pairs.items()) == {"key": "new", "other": "old"}
    assert dict(pairs.items()) == {"key": "new"}
