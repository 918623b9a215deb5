"""A mapped table in whose files bits have flipped is an error, or can be used, and never a crash.

``ci/fuzz_state.py`` plays the same for as long as one likes, and under sanitizers.
"""

import contextlib
import os
import random
from collections import Counter
from collections.abc import Iterator

import pytest

from flinkish._core.memory.segment import DamagedTable
from flinkish._core.state import log as state_log
from flinkish._core.state.table import FILES, StateTable
from flinkish._core.testing.state import limit_segments
from tests.core.damaged_tables import STATE, States, empty_files, mapped, play
from tests.core.logs import dump

ROUNDS = 400


@pytest.fixture(autouse=True)
def _bounded() -> Iterator[None]:
    """A damaged size may ask for any number of bytes."""
    limit_segments(1 << 24)
    yield
    limit_segments(None)


def test_flipped_bits_are_an_error_or_a_table_of_use() -> None:
    ends = Counter(play(random.Random(f"table {number}")) for number in range(ROUNDS))
    assert ends.keys() >= {"noticed", "refused", "used"}


class Files:
    """A sealed table with a value, list and map of a key, whose bytes may be changed."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.files = empty_files(stack)
        table = StateTable()
        states = States(table)
        mapped(table, self.files, create=True, sealed=False)
        table.set_current_key("key", 0)
        states.value.update("v" * 40)
        states.list.add("first")
        states.list.add("second")
        states.map.put("name", 1)
        states.timers.add(True, 5)
        state_log.commit(table)
        table.seal(STATE)
        table.close()

    def fill(self, name: str, start: int = 0) -> None:
        """Make all that a file has from `start` on ones."""
        file = self.files[FILES.index(name)]
        data = bytearray(os.pread(file, 1 << 20, 0))
        data[start:] = bytes(0xFF if byte else 0 for byte in data[start:])
        os.pwrite(file, data, 0)

    def opened(self) -> States:
        """The states of the table, mapped again."""
        states = States(StateTable())
        mapped(states.table, self.files, create=False, sealed=True)
        return states


@pytest.fixture
def files() -> Iterator[Files]:
    with contextlib.ExitStack() as stack:
        yield Files(stack)


def test_an_unharmed_table_is_found_as_it_was(files: Files) -> None:
    states = files.opened()
    states.table.set_current_key("key", 0)
    assert states.value.value() == "v" * 40
    assert states.list.get() == ["first", "second"]
    states.table._check()


@pytest.mark.parametrize("name", ["rows", "entries"])
def test_damage_is_told_and_nothing_is_logged_from_then_on(files: Files, name: str) -> None:
    files.fill(name)
    states = files.opened()
    with contextlib.suppress(DamagedTable, ValueError):
        states.table.set_current_key("key", 0)
        states.list.get()
        states.map.put("name", 2)
        states.list.add("third")
    with contextlib.suppress(DamagedTable):
        state_log.commit(states.table)
    with pytest.raises(DamagedTable, match="throw its files away"):
        dump(states.table, 0)
    for refused in (
        lambda: state_log.commit(states.table),
        lambda: dump(states.table, 0),
        lambda: states.table.number_of_entries(0),
        lambda: states.table.set_current_key("other", 0),
    ):
        with pytest.raises(DamagedTable):
            refused()
    states.table.close()


@pytest.mark.parametrize("name", ["header", "slab", "event_nodes", "event_set"])
def test_a_sealed_table_with_a_damaged_header_is_refused(files: Files, name: str) -> None:
    files.fill(name)
    with pytest.raises(ValueError, match="table files"):
        files.opened()


@pytest.mark.parametrize("name", ["index", "map_index"])
def test_a_bit_that_flips_in_an_index_is_noticed(files: Files, name: str) -> None:
    """A key that is not found would get a second row, and the log one that no replay takes."""
    file = files.files[FILES.index(name)]
    data = os.pread(file, 1 << 20, 0)
    slots = data.rstrip(b"\0")
    assert slots, "something is in it"
    for bit in range(8 * min(len(slots) + 16, len(data))):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        os.pwrite(file, flipped, 0)
        with pytest.raises(ValueError, match="an index of the table files is damaged"):
            files.opened()
    os.pwrite(file, data, 0)
    files.opened().table._check()


def test_a_table_can_be_mapped_again_after_a_damaged_one(files: Files) -> None:
    files.fill("entries")
    states = files.opened()
    with contextlib.suppress(DamagedTable, ValueError):
        states.table.set_current_key("key", 0)
        states.list.get()
    with pytest.raises(DamagedTable):
        dump(states.table, 0)
    states.table.close()
    with contextlib.ExitStack() as stack:
        mapped(states.table, empty_files(stack), create=True, sealed=False)
        states.table.set_current_key("key", 0)
        states.list.add("new")
        assert states.list.get() == ["new"]
        states.table.close()
