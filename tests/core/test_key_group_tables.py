"""Tables of many key groups under one engine, and columns of keys."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish._core.operators.key_group_tables import KeyGroupTables
from flinkish._core.operators.keyed_process import KeyedProcess, KeyedTimerService
from flinkish._core.state.key_reader import KeyReader
from flinkish._core.state.keyed_state import ValueCell
from flinkish._core.state.table import FILES, StateTable
from tests.core.process_harness import EVENT, LOWEST, PROCESSING, Tag

NEVER = 2**63 - 1


def opened(table: StateTable, group: int) -> None:
    table.map([-1] * len(FILES), group, create=True)


class Counting:
    """An engine that counts elements of a key, over the tables of key groups.

    Element (key, n, time): with n it sets a timer n later on event time, or, below 0, on the clock.
    """

    def __init__(self, *, served: bool = True) -> None:
        table = StateTable()
        table.add_cell("n")
        timers = KeyedTimerService(table)
        self.state = ValueCell(table, 0, "n")
        self.tables = KeyGroupTables(table, served=served)
        self.opened: set[int] = set()
        self.engine = KeyedProcess(table, timers, self.element, self.timer, Tag, EVENT, PROCESSING)

    def element(self, value: Any, context: Any) -> Iterator[Any]:
        key, n = value
        assert context.get_current_key() == key
        if n == 99:
            raise RuntimeError("99")
        self.state.update((self.state.value() or 0) + 1)
        timers = context.timer_service()
        if n > 0:
            timers.register_event_time_timer(context.timestamp() + n)
        elif n < 0:
            timers.register_processing_time_timer(timers.current_processing_time() - n)
        yield key, self.state.value()

    def timer(self, timestamp: int, context: Any) -> Iterator[Any]:
        yield context.get_current_key(), timestamp

    def open_groups(self, *groups: int) -> None:
        for group in groups:
            if group not in self.opened:
                self.opened.add(group)
                self.tables.use(group)
                opened(self.tables.table, group)
                self.tables.look()

    def process(self, *elements: tuple[Any, int, int, int]) -> list[Any]:
        """(key, n, time, key group) each; what comes out."""
        keys, numbers, times, groups = zip(*elements, strict=True)
        self.open_groups(*groups)
        found: list[Any] = []
        values, done = list(zip(keys, numbers, strict=True)), 0
        while done < len(values):
            done = self.tables.process(
                self.engine,
                values,
                KeyReader(objects=list(keys)),
                0,
                np.array(times, np.int64),
                np.array(groups, np.int32),
                done,
            )
            found += self.engine.take_output()[0]
        return found

    def fire(self, watermark: int, now: int) -> list[Any]:
        self.tables.table.watermark, self.tables.table.processing_time = watermark, now
        for group in self.tables.due(watermark, now):
            self.tables.use(group)
            self.engine.advance_watermark(watermark)
            self.engine.advance_processing_time(now)
            self.tables.look()
        found: list[Any] = self.engine.take_output()[0]
        return found


ELEMENTS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.integers(0, 9), st.integers(0, 30)),
    min_size=1,
    max_size=12,
)


def group_of(key: str) -> int:
    return ord(key) % 3


@given(st.lists(st.tuples(ELEMENTS, st.integers(0, 40)), max_size=5), st.integers(1, 4))
def test_all_key_groups_behave_as_each_alone(
    turns: list[tuple[list[tuple[str, int, int]], int]], limit: int
) -> None:
    """A turn is elements, then a watermark; timers of different key groups fire in any order."""
    together = Counting()
    alone: dict[int, Counting] = defaultdict(Counting)
    together.engine.output_limit = limit
    for elements, watermark in turns:
        sent = [(key, n, time, group_of(key)) for key, n, time in elements]
        wanted = [one for element in sent for one in alone[element[3]].process(element)]
        assert together.process(*sent) == wanted
        # Once is enough with a limit that no watermark reaches.
        together.engine.output_limit = 1000
        fired = together.fire(watermark, 0)
        together.engine.output_limit = limit
        assert sorted(fired) == sorted(
            found for one in alone.values() for found in one.fire(watermark, 0)
        )
    for group, one in alone.items():
        together.tables.use(group)
        one.tables.use(group)
        assert together.tables.table.number_of_keys == one.tables.table.number_of_keys
        together.tables.table._check()


def test_timers_are_known_of_tables_that_are_put_away() -> None:
    counting = Counting()
    assert (counting.tables.event, counting.tables.processing) == (NEVER, NEVER)
    counting.fire(LOWEST, 100)
    counting.process(("a", 7, 10, 0), ("b", 3, 10, 1), ("c", -5, 10, 2))
    assert (counting.tables.event, counting.tables.processing) == (13, 105)
    assert counting.tables.due(12, 104) == []
    assert counting.fire(13, 104) == [("b", 13)]
    assert (counting.tables.event, counting.tables.processing) == (17, 105)
    assert counting.fire(16, 105) == [("c", 105)]
    assert counting.fire(17, 105) == [("a", 17)]
    assert (counting.tables.event, counting.tables.processing) == (NEVER, NEVER)


def test_timers_on_processing_time_count_only_if_they_are_served() -> None:
    counting = Counting(served=False)
    counting.fire(LOWEST, 100)
    counting.process(("a", -5, 10, 0))
    assert counting.tables.processing == NEVER
    assert counting.tables.due(LOWEST, 1000) == []


def test_a_cell_that_is_added_is_there_in_tables_that_are_put_away() -> None:
    counting = Counting()
    counting.process(("a", 0, 1, 0), ("b", 0, 1, 1))
    table = counting.tables.table
    more = ValueCell(table, table.add_cell("more"), "more")
    for group, key in enumerate("ab"):
        counting.tables.use(group)
        table.set_current_key(key, group)
        assert more.value() is None
        more.update(group)
    for group, key in enumerate("ab"):
        counting.tables.use(group)
        table.set_current_key(key, group)
        assert (counting.state.value(), more.value()) == (1, group)
        table._check()


def test_an_error_leaves_its_key_group_at_hand() -> None:
    counting = Counting()
    counting.process(("a", 0, 1, 0), ("b", 0, 1, 1))
    with pytest.raises(RuntimeError, match="99"):
        counting.process(("a", 0, 1, 0), ("b", 0, 2, 1), ("b", 99, 3, 1), ("a", 0, 4, 0))
    assert counting.tables.at_hand == 1
    assert (counting.engine.last_key, counting.engine.last_timestamp) == ("b", 3)
    assert counting.engine.processed == 5
    assert counting.engine.take_output()[0] == [("a", 2), ("b", 2)]
    assert counting.process(("a", 0, 5, 0)) == [("a", 3)]


def test_it_is_known_whose_each_output_is() -> None:
    counting = Counting()
    counting.process(("a", 0, 1, 0), ("b", 0, 1, 1))
    assert counting.tables.take_ends()
    counting.open_groups(0, 1)
    counting.process(("a", 0, 1, 0), ("d", 0, 1, 0), ("b", 0, 1, 1), ("a", 0, 1, 0))
    ends = counting.tables.take_ends()
    assert [(count, group) for count, group, _ in ends] == [(2, 0), (3, 1), (4, 0)]
    keys = []
    for _, group, row in ends:
        counting.tables.use(group)
        keys.append(counting.tables.table.key_of(row))
    assert keys == ["d", "b", "a"]
    assert counting.tables.take_ends() == []


def test_key_groups_that_are_not_open_are_refused() -> None:
    counting = Counting()
    counting.tables.use(3)
    with pytest.raises(RuntimeError, match="this table is closed"):
        counting.tables.look()
    one = np.zeros(1, np.int32)
    keys = KeyReader(objects=["a"])
    with pytest.raises(RuntimeError, match="this table is closed"):
        counting.tables.process(counting.engine, [("a", 0)], keys, 0, None, one)


@pytest.mark.parametrize(
    ("values", "first", "times", "groups"),
    [(3, 0, 3, 3), (2, 1, 2, 2), (2, -1, 2, 2), (2, 0, 1, 2), (2, 0, 2, 1)],
)
def test_as_many_keys_groups_and_times_as_values_are_needed(
    values: int, first: int, times: int, groups: int
) -> None:
    counting = Counting()
    counting.open_groups(0)
    keys = KeyReader(objects=["a", "b"])
    with pytest.raises(ValueError, match=f"{values} values need as many keys"):
        counting.tables.process(
            counting.engine,
            [("a", 0)] * values,
            keys,
            first,
            np.zeros(times, np.int64),
            np.zeros(groups, np.int32),
        )


# --- columns of keys


def texts(*some: bytes) -> dict[str, Any]:
    offsets = np.cumsum([0, *map(len, some)]).astype(np.int32)
    return {"offsets": offsets, "text": np.frombuffer(b"".join(some), np.uint8)}


@pytest.mark.parametrize(
    ("given", "keys"),
    [
        ({"numbers": np.array([7, -1, 7])}, [7, -1, 7]),
        (texts(b"x", b"", b"long " * 9), ["x", "", "long " * 9]),
        ({"objects": ["x", (1, "y"), b"z"]}, ["x", (1, "y"), b"z"]),
        ({"numbers": np.empty(0, np.int64)}, []),
        (texts(), []),
        ({"objects": []}, []),
    ],
)
def test_a_column_of_keys_is_read_in_any_part(given: dict[str, Any], keys: list[Any]) -> None:
    reader = KeyReader(**given)
    table = StateTable(0)
    assert reader.count == len(keys)
    for start in range(len(keys) + 1):
        for stop in range(start, len(keys) + 1):
            rows = reader.rows(table, start, stop)
            assert [table.key_of(row) for row in rows.tolist()] == keys[start:stop]
    ranged = StateTable(0, 4)
    groups = np.arange(len(keys), dtype=np.int32)
    rows = reader.rows(ranged, groups=groups)
    assert [ranged.key_of(row) for row in rows.tolist()] == keys


@pytest.mark.parametrize(("start", "stop"), [(-1, 1), (0, 3), (2, 1), (3, None)])
def test_a_part_of_other_keys_is_refused(start: int, stop: int | None) -> None:
    with pytest.raises(ValueError, match="there are 2 keys"):
        KeyReader(objects=["a", "b"]).rows(StateTable(0), start, stop)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (KeyReader, "needed are numbers, texts or objects"),
        (lambda: KeyReader(offsets=np.zeros(1, np.int32)), "texts need their bytes"),
        (
            lambda: KeyReader(offsets=np.empty(0, np.int32), text=np.empty(0, np.uint8)),
            "one offset more",
        ),
    ],
)
def test_a_column_of_no_keys_is_refused(make: Callable[[], KeyReader], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_bytes_that_are_no_keys_are_refused() -> None:
    beyond = KeyReader(offsets=np.array([0, 9], np.int32), text=np.zeros(3, np.uint8))
    with pytest.raises(ValueError, match=r"key 0 is said to be at 0\.\.9 in 3 bytes"):
        beyond.rows(StateTable(0))
    with pytest.raises(ValueError, match="tag"):
        KeyReader(packed=True, **texts(b"\xff12345678")).rows(StateTable(0))
