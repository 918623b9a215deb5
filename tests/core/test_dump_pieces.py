"""The whole state of a key group as a log in pieces."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish._core.operators.keyed_process import KeyedTimerService
from flinkish._core.state import log as state_log
from flinkish._core.state.keyed_state import ListCell, ValueCell
from flinkish._core.state.log import DamagedLog
from flinkish._core.state.named_timers import NamedTimers, poll_timer
from flinkish._core.state.table import StateTable
from tests.core.damaged_tables import States
from tests.core.logs import dump, dumped

EVERYTHING = 10**12


def changed(seed: int, changes: int) -> States:
    chance = random.Random(seed)
    states = States(StateTable(0, tracking=True))
    for _ in range(changes):
        states.change(chance)
    state_log.commit(states.table)
    return states


def replayed(pieces: list[bytes]) -> States:
    states = States(StateTable(0, tracking=True))
    state_log.replay(states.table, pieces, list(range(states.cells)), 0)
    states.table._check()
    return states


@given(
    seed=st.integers(0, 2**32),
    changes=st.integers(0, 40),
    most=st.integers(0, 3000),
    more=st.data(),
)
def test_the_pieces_are_the_state_and_the_log_goes_on(
    seed: int, changes: int, most: int, more: Any
) -> None:
    states = changed(seed, changes)
    pieces = dumped(states.table, 0, most)
    whole = dump(states.table, 0)
    assert dump(replayed(pieces).table, 0) == whole
    chance = random.Random(seed + 1)
    for _ in range(more.draw(st.integers(0, 3))):
        states.change(chance)
        pieces.append(state_log.commit(states.table))
    assert dump(replayed(pieces).table, 0) == dump(states.table, 0)


def test_a_piece_has_about_as_many_bytes_as_asked() -> None:
    table = StateTable(3, 4)
    text = ValueCell(table, table.add_cell("text"), "text")
    items = ListCell(table, table.add_cell("items"), "items")
    timers = KeyedTimerService(table)
    for key in range(1000):
        table.set_current_key(key, 3 + key % 2)
        text.update("x" * 500)
        items.add("y" * 300)
        items.add(key)
        timers.register_event_time_timer(key)
    *rows, ends = dumped(table, 3, 10_000)
    assert len(rows) == 500 // 12 + 1
    assert all(9_500 < len(piece) < 11_500 for piece in rows[:-1])
    assert len(ends) < 10_000, "the timers"
    assert dumped(table, 3, EVERYTHING) == [dump(table, 3)]
    assert len(dumped(table, 4, 0)) == 501, "a row is never cut"


def test_what_has_no_timers_ends_with_its_last_row() -> None:
    table = StateTable(0)
    value = ValueCell(table, table.add_cell("value"), "value")
    assert dumped(table, 0, 0) == [dump(table, 0)], "nothing is a piece, too"
    for key in "abc":
        table.set_current_key(key, 0)
        value.update(1)
    assert len(dumped(table, 0, 0)) == 3
    assert len(dumped(table, 0, 1)) == 3


def test_timers_of_one_time_fire_in_the_order_in_which_they_were_registered() -> None:
    table = StateTable(0)
    timers = NamedTimers(table, 0)
    order = random.Random(1).sample(range(50), 50)
    for key in range(50):
        table.set_current_key(key, 0)
        timers.add(False, 99)
    for key in order:
        table.set_current_key(key, 0)
        timers.add(True, 5)
    pieces = dumped(table, 0, 0)
    assert len(pieces) == 51
    again = StateTable(0)
    state_log.replay(again, pieces, [], 0)
    assert NamedTimers(again, 0).timers(False) == timers.timers(False)
    fired = [poll_timer(again, True, 9) for _ in range(50)]
    assert [timer[2] for timer in fired if timer] == order
    assert poll_timer(again, True, 9) is None


def test_the_table_is_in_use_until_the_last_piece() -> None:
    states = changed(1, 30)
    table = states.table
    refused = []

    def take(piece: bytes) -> None:
        for call in (
            lambda: table.set_current_key(1, 0),
            lambda: dump(table, 0),
            lambda: state_log.commit(table),
            table.close,
        ):
            with pytest.raises(RuntimeError, match="leave it alone"):
                call()
            refused.append(piece)

    state_log.dump_pieces(table, 0, 0, take)
    assert len(refused) > 8
    table._check()
    states.change(random.Random(2))
    assert state_log.commit(table)


def test_an_error_of_the_taker_ends_it_and_leaves_the_table_to_all() -> None:
    states = changed(1, 30)
    taken = []

    def take(piece: bytes) -> None:
        taken.append(piece)
        if len(taken) == 3:
            raise OSError("the pipe broke")

    with pytest.raises(OSError, match="the pipe broke"):
        state_log.dump_pieces(states.table, 0, 0, take)
    assert taken == dumped(states.table, 0, 0)[:3]


def test_changes_are_committed_first() -> None:
    states = changed(1, 3)
    states.change(random.Random(2))
    with pytest.raises(RuntimeError, match="commit"):
        dumped(states.table, 0, 0)
    with pytest.raises(ValueError, match=r"key group 1 is not in 0\.\.0"):
        dumped(states.table, 1, 0)


def test_timers_whose_keys_were_not_in_an_earlier_piece_are_refused() -> None:
    pieces = dumped(changed(1, 30).table, 0, 0)
    for missing in range(len(pieces) - 1):
        rest = pieces[:missing] + pieces[missing + 1 :]
        try:
            replayed(rest)
        except DamagedLog:
            continue
        assert replayed([*rest[:-1], pieces[missing]]), "a key without timers"
    with pytest.raises(DamagedLog):
        replayed(pieces[-1:])
    with pytest.raises(DamagedLog):
        replayed([pieces[0], *pieces])
