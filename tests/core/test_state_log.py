"""The log of a table: what is in it, what it refuses, and what a sweep adds to it."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from flinkish._core.operators.keyed_process import KeyedProcess, KeyedTimerService
from flinkish._core.state import log as state_log
from flinkish._core.state.keyed_state import ListCell, MapCell, ValueCell, sweep
from flinkish._core.state.log import DamagedLog
from flinkish._core.state.table import StateTable
from flinkish._core.testing.state import limit_segments
from tests.core.logs import dump
from tests.core.specimens import KEYS, VALUES

GROUP = 5
CELLS = ("value", "ttl value", "its time", "list", "map")
ALL = list(range(len(CELLS)))


class Operator:
    """A table with a state of each kind and timers."""

    def __init__(self, table: StateTable | None = None) -> None:
        self.table = table or StateTable(GROUP, tracking=True)
        for name in CELLS:
            self.table.add_cell(name)
        self.value = ValueCell(self.table, 0, "value")
        self.ttl = ValueCell(self.table, 1, "ttl value", ttl=100)
        self.list = ListCell(self.table, 3, "list", ttl=100)
        self.map = MapCell(self.table, 4, "map", ttl=100)
        self.timers = KeyedTimerService(self.table)
        self.process = KeyedProcess(self.table, self.timers, print, None, tuple, 0, 1)
        self.table.processing_time = 0

    def select(self, key: Any) -> None:
        self.table.set_current_key(key, GROUP)

    def change(self, key: Any, step: int) -> None:
        self.select(key)
        self.value.update(VALUES[step % len(VALUES)])
        self.ttl.update(step)
        self.list.add(VALUES[(step * 7) % len(VALUES)])
        self.map.put(KEYS[step % len(KEYS)], step)
        if step % 3 == 0:
            self.list.clear()
            self.map.remove(KEYS[(step * 5) % len(KEYS)])
        self.timers.register_event_time_timer(step)
        self.timers.register_processing_time_timer(-step)
        self.timers.delete_event_time_timer(step - 2)

    def commit(self) -> bytes:
        return state_log.commit(self.table)

    def dump(self) -> bytes:
        return dump(self.table, GROUP)


@pytest.fixture
def operator() -> Operator:
    return Operator()


@pytest.fixture(scope="module")
def pieces() -> list[bytes]:
    """A log with everything that a log can have, row by row and entry by entry."""
    operator = Operator()
    log = []
    for step in range(4):
        for key in range(step, 6):
            operator.change(KEYS[key * 3], step + key)
        if step == 2:
            operator.select(KEYS[9])
            for state in (operator.value, operator.ttl, operator.list, operator.map):
                state.clear()
            operator.process.advance_watermark(4)
        log.append(operator.commit())
    return [*log, operator.dump()]


def replayed(pieces: list[Any]) -> Operator:
    operator = Operator()
    state_log.replay(operator.table, pieces, ALL, GROUP)
    operator.table._check()
    return operator


# --- the form


def test_nothing_changed_is_nothing_to_write(operator: Operator) -> None:
    assert operator.commit() == b""
    operator.change("a", 1)
    assert operator.commit() != b""
    assert operator.commit() == b""
    operator.select("a")
    operator.value.value()
    operator.timers.delete_event_time_timer(99)
    assert operator.commit() == b""


def test_keys_that_came_and_went_leave_no_trace(operator: Operator) -> None:
    operator.change("stays", 1)
    operator.commit()
    rows = np.empty(1000, np.uint32)
    operator.table.intern_ints(np.arange(1000), None, rows)
    assert operator.table.number_of_keys == 1001
    assert operator.commit() == b""
    assert operator.table.number_of_keys == 1


def test_a_log_costs_what_changed(operator: Operator) -> None:
    for key in range(5000):
        operator.change(key, 7)
    whole = len(operator.commit())
    for key in range(0, 5000, 500):
        operator.select(key)
        operator.value.update(1)
    assert len(operator.commit()) < whole / 250


def test_the_first_bytes_say_what_follows(operator: Operator) -> None:
    operator.select(7)
    operator.value.update(-2)
    changes, whole = operator.commit(), operator.dump()
    key = [3, 8, 7, 0, 0, 0, 0, 0, 0, 0]
    # kind; one row, id 0; new; its key; five cells: one int in the first; nothing else
    rest = [1, 0, 1, *key, 5, 1, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    assert list(changes) == [0, *rest]
    assert list(whole) == [1, *rest]


def test_empty_pieces_and_views_are_welcome(pieces: list[bytes]) -> None:
    views = [b"", *(memoryview(bytearray(piece)) for piece in pieces[:-1]), b""]
    assert replayed(views).dump() == pieces[-1]
    assert replayed([]).table.number_of_keys == 0


def test_a_dump_can_start_a_log(pieces: list[bytes]) -> None:
    operator = replayed(pieces[:2])
    whole = operator.dump()
    assert replayed([whole]).dump() == whole
    assert replayed([whole, *pieces[2:4]]).dump() == pieces[-1]


def test_cells_may_lie_elsewhere(pieces: list[bytes]) -> None:
    table = StateTable(GROUP)
    for name in range(9):
        table.add_cell(name)
    state_log.replay(table, [pieces[-1]], [8, 0, 1, 5, 6], GROUP)
    table._check()
    original = replayed([pieces[-1]])
    original.select(KEYS[15])
    table.set_current_key(KEYS[15], GROUP)
    assert repr(ValueCell(table, 8, "value").value()) == repr(original.value.value())
    assert ListCell(table, 5, "list").get() == original.list.get()
    assert repr(list(MapCell(table, 6, "map").items())) == repr(list(original.map.items()))
    assert ValueCell(table, 3, "other").value() is None


def test_groups_are_dumped_one_by_one() -> None:
    operator = Operator(StateTable(GROUP - 1, GROUP + 1, tracking=True))
    table = operator.table
    for key in range(30):
        table.set_current_key(key, GROUP - 1 + key % 3)
        operator.list.add(key)
        operator.timers.register_event_time_timer(key)
    with pytest.raises(RuntimeError, match="commit"):
        operator.dump()
    operator.commit()
    again = StateTable(GROUP - 1, GROUP + 1)
    for name in CELLS:
        again.add_cell(name)
    for group in (GROUP + 1, GROUP - 1, GROUP):
        state_log.load(again, dump(table, group), ALL, group)
        again._check()
    assert again.number_of_keys == 30
    assert again.number_of_event_timers == 30
    for group in (GROUP - 1, GROUP, GROUP + 1):
        one = StateTable(group)
        for name in CELLS:
            one.add_cell(name)
        state_log.replay(one, [dump(again, group)], ALL, group)
        one._check()
        assert one.number_of_keys == one.number_of_event_timers == 10
    with pytest.raises(DamagedLog):
        state_log.load(again, dump(table, GROUP), ALL, GROUP)


def test_a_replayed_clear_is_not_logged_again(operator: Operator) -> None:
    """A cell that a log emptied must not be emptied by the next commit as well."""
    operator.select("a")
    operator.list.add(1)
    log = [operator.commit()]
    operator.select("a")
    operator.list.update([2])
    log.append(operator.commit())
    operator = replayed(log)
    operator.select("a")
    operator.list.add(3)
    log.append(operator.commit())
    operator = replayed(log)
    operator.select("a")
    assert operator.list.get() == [2, 3]


def test_an_id_that_is_used_again_in_one_interval(operator: Operator) -> None:
    for key in "ab":
        operator.select(key)
        operator.list.update([f"{key}{number}" for number in range(3)])
        operator.map.put(1, key)
    log = [operator.commit()]
    operator.select("a")
    operator.list.clear()
    operator.map.remove(1)
    operator.select("b")
    for number in range(5):
        operator.list.add(number)
    operator.map.put(2, "b2")
    operator.map.remove(1)
    operator.select("a")
    operator.map.put(1, "a again")
    log.append(operator.commit())
    again = replayed(log)
    assert again.dump() == operator.dump()
    again.select("b")
    assert again.list.get() == ["b0", "b1", "b2", 0, 1, 2, 3, 4]
    assert list(again.map.items()) == [(2, "b2")]


# --- bytes of another origin


def damaged(piece: bytes) -> Iterator[bytes]:
    for at in range(len(piece)):
        for bit in (0x01, 0x10, 0x80):
            yield piece[:at] + bytes([piece[at] ^ bit]) + piece[at + 1 :]
        yield piece[:at] + b"\xff" + piece[at + 1 :]
        yield piece[:at] + piece[at + 1 :]
        yield piece[:at] + b"\x00" + piece[at:]


@pytest.fixture
def little_memory() -> Iterator[None]:
    """A wrong id must not cost the machine's memory here."""
    limit_segments(1 << 20)
    yield
    limit_segments(None)


def try_log(log: list[bytes]) -> bool:
    """Whether a log is taken; if so, the table that it gives can be used."""
    operator = Operator()
    try:
        state_log.replay(operator.table, log, ALL, GROUP)
    except (DamagedLog, MemoryError):
        # Closed: nothing can be done with it that would crash.
        with pytest.raises(RuntimeError, match="closed"):
            operator.table.set_current_key(1, GROUP)
        return False
    whole = operator.dump()
    state_log.replay(Operator().table, [whole], ALL, GROUP)
    operator.process.advance_watermark(10**6)
    for key in range(12):
        operator.change(KEYS[key], key)
    operator.table.close()
    return True


@pytest.mark.usefixtures("little_memory")
def test_cut_pieces_are_refused(pieces: list[bytes]) -> None:
    for at, piece in enumerate(pieces):
        before = pieces[:at] if at < len(pieces) - 1 else []
        for size in range(1, len(piece)):
            assert not try_log([*before, piece[:size]])
        assert not try_log([*before, piece + b"\0"])
        assert try_log([*before, piece])


@pytest.mark.usefixtures("little_memory")
def test_damaged_pieces_are_refused_or_make_sense(pieces: list[bytes]) -> None:
    """A frame's checksum finds damage (`codec`); here no damage may do harm."""
    taken = refused = 0
    for at, piece in enumerate(pieces):
        before = pieces[:at] if at < len(pieces) - 1 else []
        for wrong in damaged(piece):
            if try_log([*before, wrong]):
                taken += 1
            else:
                refused += 1
    assert refused > taken > 0


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize(
    "order", [[1], [0, 2], [0, 0], [0, 1, 1], [0, 2, 1], [4, 4], [4, 0], [0, 4]]
)
def test_pieces_out_of_order_are_refused(pieces: list[bytes], order: list[int]) -> None:
    assert not try_log([pieces[at] for at in order])


@pytest.mark.usefixtures("little_memory")
def test_noise_is_refused() -> None:
    noise = np.random.default_rng(7)
    for size in [*range(1, 60), *range(60, 4000, 131)]:
        for start in (b"", b"\0", b"\1"):
            assert not try_log([start + noise.bytes(size)])
            assert not try_log([start + bytes(noise.integers(0, 4, size, np.uint8))])


@pytest.mark.usefixtures("little_memory")
def test_damaged_dumps_are_not_loaded(pieces: list[bytes]) -> None:
    for wrong in damaged(pieces[-1]):
        operator = Operator()
        try:
            state_log.load(operator.table, wrong, ALL, GROUP)
        except (DamagedLog, MemoryError):
            continue
        operator.dump()
    with pytest.raises(DamagedLog):
        state_log.load(Operator().table, pieces[0], ALL, GROUP)


def test_a_log_with_more_states_than_its_table_is_refused(pieces: list[bytes]) -> None:
    table = StateTable(GROUP)
    table.add_cell("only")
    with pytest.raises(DamagedLog, match=f"key group {GROUP}"):
        state_log.replay(table, pieces, [0], GROUP)
    with pytest.raises(DamagedLog):
        state_log.replay(Operator().table, pieces, [0, 1, 2, 3, 77], GROUP)


def test_a_log_is_for_a_key_group_of_the_table(pieces: list[bytes]) -> None:
    with pytest.raises(ValueError, match=r"key group 6 is not in 5\.\.5"):
        state_log.replay(Operator().table, pieces, ALL, 6)
    with pytest.raises(ValueError, match=r"key group 6 is not in 5\.\.5"):
        dump(Operator().table, 6)


def test_a_log_is_not_applied_over_changes(operator: Operator, pieces: list[bytes]) -> None:
    operator.change("a", 1)
    with pytest.raises(RuntimeError, match="commit"):
        state_log.replay(operator.table, pieces, ALL, GROUP)


def test_a_closed_table_has_no_log(pieces: list[bytes]) -> None:
    table = StateTable()
    for call in (
        lambda: state_log.commit(table),
        lambda: dump(table, GROUP),
        lambda: state_log.replay(table, pieces, ALL, GROUP),
        lambda: state_log.load(table, pieces[-1], ALL, GROUP),
        lambda: sweep(table, []),
    ):
        with pytest.raises(RuntimeError, match="closed"):
            call()
