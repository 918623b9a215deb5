"""A log whose bytes are well formed, and yet of no table, is refused; see ci/fuzz_state.py too."""

import pytest

from flinkish._core.state import log as state_log
from flinkish._core.state.keyed_state import MapCell, ValueCell
from flinkish._core.state.log import DamagedLog
from flinkish._core.state.named_timers import NamedTimers
from flinkish._core.state.table import StateTable

SCOPED, STR = 15, 6


def opened() -> StateTable:
    table = StateTable(0, tracking=True)
    table.add_cell("value")
    return table


def piece(tag: int, size: int, data: bytes) -> bytes:
    return bytes([tag]) + size.to_bytes(4, "little") + data


def scoped(name: bytes) -> bytes:
    """The log of a table with one key, "a", within the namespace "b", under another name."""
    table = opened()
    table.set_current_key("a", 0, "b")
    ValueCell(table, 0, "value").update(1)
    log = state_log.commit(table)
    good = piece(STR, 1, b"a") + piece(STR, 1, b"b")
    assert log.count(bytes([len(good)]) + good) == 1
    return log.replace(bytes([len(good)]) + good, bytes([len(name)]) + name)


BOTH = piece(STR, 1, b"a") + piece(STR, 1, b"b")


@pytest.mark.parametrize(
    "name",
    [
        *[b"", BOTH[:3], BOTH[:6], BOTH[:9], BOTH[:11], BOTH + b"\0", BOTH + BOTH[:6]],
        *[piece(STR, 2**32 - 1, b"a") + BOTH[6:], BOTH[:6] + piece(STR, 2, b"b")],
        *[piece(STR, 2**31, b"a") + BOTH[6:], piece(0, 0, b"") + BOTH[6:], BOTH[:6] + bytes(5)],
        *[piece(SCOPED, 12, BOTH) + BOTH[6:], piece(3, 1, b"a") + BOTH[6:]],
    ],
)
def test_a_key_within_a_namespace_is_two_values(name: bytes) -> None:
    table = opened()
    with pytest.raises(DamagedLog):
        state_log.replay(table, [scoped(name)], [0], 0)


def test_the_same_log_unharmed_is_taken() -> None:
    table = opened()
    state_log.replay(table, [scoped(BOTH)], [0], 0)
    table.set_current_key("a", 0, "b")
    assert ValueCell(table, 0, "value").value() == 1
    assert NamedTimers(table, 0).add(True, 5, "c")
    table._check()


def test_a_map_has_each_key_once() -> None:
    table = opened()
    table.set_current_key(1)
    state = MapCell(table, 0, "map")
    state.put("first", 1)
    state.put("other", 2)
    log = state_log.commit(table)
    with pytest.raises(DamagedLog):
        state_log.replay(opened(), [log.replace(b"other", b"first")], [0], 0)
