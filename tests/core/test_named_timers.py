"""Timers of named services within namespaces, on the floor."""

import pytest

from flinkish._core.state.key_rows import forget_empty_rows
from flinkish._core.state.named_timers import NamedTimers, next_timer, poll_timer
from flinkish._core.state.table import StateTable

KEYS = [3, -1, 1 << 70, "", "a", "a longer key than eight bytes", b"\0", (1, "x"), 2.5, True]
SPACES = [None, 0, "w", (1, 2), ("a namespace that is longer than the word", 3)]


@pytest.fixture
def table() -> StateTable:
    return StateTable(0, 3)


@pytest.mark.parametrize("event", [True, False])
def test_keys_and_namespaces_of_all_kinds_come_back(table: StateTable, event: bool) -> None:
    timers = NamedTimers(table, 4)
    expected = []
    for at, key in enumerate(KEYS):
        table.set_current_key(key, at % 4)
        for space in SPACES:
            assert timers.add(event, at, space)
            assert not timers.add(event, at, space)
            expected.append((4, at, key, space))
    table._check()
    assert next_timer(table, event) == 0
    polled = [poll_timer(table, event, 99) for _ in expected]
    assert polled == expected
    assert poll_timer(table, event, 99) is None
    assert next_timer(table, event) is None
    table._check()


def test_the_row_of_a_namespace_serves_state_and_timers(table: StateTable) -> None:
    """A key set with its namespace has the timers that were added to that namespace."""
    timers = NamedTimers(table, 0)
    table.set_current_key("k", 1, "window")
    rows = table.number_of_keys
    timers.add(True, 5, "window")
    assert table.number_of_keys == rows
    timers.add(True, 6, "another window")
    timers.add(True, 7)
    assert table.number_of_keys == rows + 2
    table.set_current_key("k", 1)
    assert table.number_of_keys == rows + 2
    assert timers.remove(True, 6, "another window")
    assert not timers.remove(True, 6, "another window")
    assert not timers.remove(True, 6, "no window")
    assert table.number_of_keys == rows + 2, "looking for a timer makes no row"
    table._check()


def test_on_earlier_is_of_processing_time_alone(table: StateTable) -> None:
    heads: list[int] = []
    one, two = NamedTimers(table, 1, heads.append), NamedTimers(table, 2, heads.append)
    table.set_current_key(1)
    for timers, at in ((one, 20), (one, 30), (two, 10), (one, 10), (two, 10), (one, 5)):
        timers.add(False, at)
        timers.add(True, at - 100)
    assert heads == [20, 10, 5]


def test_use_says_what_is_still_there(table: StateTable) -> None:
    timers = NamedTimers(table, 0)
    table.set_current_key("k", 1)
    timers.add(True, 5, "w")
    timers.add(True, 6, "v")
    first, second = sorted(timers.timers(True))
    timers.remove(True, 5, "w")
    assert timers.use(True, *first) is None
    assert timers.use(False, *second) is None
    assert timers.use(True, *second) == ("k", "v")
    assert timers.use(True, 6, 12345) is None
    timers.remove(True, 6, "v")
    forget_empty_rows(table)
    assert timers.use(True, *second) is None


def test_numbers_beyond_64_bits_are_refused(table: StateTable) -> None:
    timers = NamedTimers(table, 0)
    table.set_current_key(1)
    with pytest.raises(OverflowError):
        timers.add(True, 1 << 63)
    with pytest.raises(OverflowError):
        NamedTimers(table, 1 << 32)


def test_without_a_key_or_a_table(table: StateTable) -> None:
    table.illegal_state = LookupError
    timers = NamedTimers(table, 0)
    for call in (timers.add, timers.remove):
        with pytest.raises(LookupError, match="current key"):
            call(True, 5)
    table.close()
    for closed in (
        lambda: timers.timers(True),
        lambda: timers.count(True),
        lambda: timers.count_in(True, None),
        lambda: timers.use(True, 1, 0),
        lambda: next_timer(table, True),
        lambda: poll_timer(table, True, 1),
    ):
        with pytest.raises(LookupError):
            closed()
