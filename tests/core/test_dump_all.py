"""All key groups of a table in one pass."""

import pytest

from flinkish._core.operators.keyed_process import KeyedTimerService
from flinkish._core.state import log as state_log
from flinkish._core.state.keyed_state import ListCell, ValueCell
from flinkish._core.state.table import StateTable
from tests.core.logs import dump


def test_it_is_what_dump_gives_group_by_group() -> None:
    table = StateTable(10, 19)
    value = ValueCell(table, table.add_cell("value"), "value")
    items = ListCell(table, table.add_cell("items"), "items")
    timers = KeyedTimerService(table)
    for key in range(300):
        group = 10 + key * 7 % 9  # the last key group has no keys
        table.set_current_key(key, group)
        value.update(key)
        items.add(f"a text that needs a place, {key}")
        timers.register_event_time_timer(-key // 3)
        timers.register_processing_time_timer(5)
    dumped = state_log.dump_all(table)
    assert list(dumped) == list(range(10, 19))
    assert dumped == {group: dump(table, group) for group in range(10, 19)}
    again = StateTable(10, 19)
    again.add_cell("value")
    again.add_cell("items")
    for group, whole in reversed(dumped.items()):
        state_log.load(again, whole, [0, 1], group)
    again._check()
    assert again.number_of_keys == 300
    assert again.number_of_event_timers == again.number_of_processing_timers == 300


def test_of_nothing() -> None:
    table = StateTable(0, 3)
    assert state_log.dump_all(table) == {}
    table.close()
    with pytest.raises(RuntimeError, match="closed"):
        state_log.dump_all(table)


def test_changes_are_committed_first() -> None:
    table = StateTable(0, 3, tracking=True)
    table.set_current_key(1, 2)
    KeyedTimerService(table).register_event_time_timer(1)
    with pytest.raises(RuntimeError, match="commit"):
        state_log.dump_all(table)
    state_log.commit(table)
    assert list(state_log.dump_all(table)) == [2]
