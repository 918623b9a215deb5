"""Tables of keyed state against their model: states, timers, logs, dumps, files.

After every step the table keeps its invariants and holds what the model holds; after every
commit the log, replayed from its start or from any dump, gives the same table again.
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from flinkish._core.operators.keyed_process import KeyedProcess, KeyedTimerService
from flinkish._core.state import log as state_log
from flinkish._core.state.keyed_state import ListCell, MapCell, ReducingCell, ValueCell, sweep
from flinkish._core.state.table import FILES, StateTable
from tests.core.logs import dump, dumped
from tests.core.specimens import KEYS, VALUES
from tests.models.state_table import State, StateTableModel

GROUP = 7
# name, kind, further cells, time to live in ms, renewed by reads, shown when expired
STATES = [
    ("value", "value", 0, 0, False, False),
    ("ttl value", "value", 1, 10, True, False),
    ("list", "list", 0, 0, False, False),
    ("ttl list", "list", 0, 7, False, True),
    ("sum", "sum", 0, 0, False, False),
    ("map", "map", 0, 0, False, False),
    ("ttl map", "map", 0, 5, True, False),
]
KINDS = {"value": ValueCell, "list": ListCell, "map": MapCell}

# Few keys and map keys, so that they meet, and now and then one of every kind.
items = st.integers(0, 2) | st.sampled_from(range(len(KEYS)))
keys = st.tuples(items, st.none() | st.sampled_from(["window", 3]))
values = st.sampled_from(VALUES)
lists = st.sampled_from(["list", "ttl list"])
maps = st.sampled_from(["map", "ttl map"])
timestamps = st.integers(-2, 30)
domains = st.sampled_from([0, 1])


class Side:
    """A table with the handles that a function would have."""

    def __init__(self, table: StateTable, extra: int = 0) -> None:
        self.table = table
        self.handles: dict[str, Any] = {}
        self.first: dict[str, int] = {}
        for name, kind, further, ttl, renew, show in STATES:
            cell = table.add_cell(name)
            for _ in range(further):
                table.add_cell(name)
            self.first[name] = cell
            if kind == "sum":
                self.handles[name] = ReducingCell(table, cell, name, lambda a, b: a + b, "int64")
            else:
                self.handles[name] = KINDS[kind](table, cell, name, "any", ttl, renew, show)
        for number in range(extra):
            self.widen(f"extra {number}")
        self.timers = KeyedTimerService(table)
        self.fired: list[tuple[int, str, int]] = []
        self.process = KeyedProcess(table, self.timers, None, self.on_timer, tuple, 0, 1)

    def widen(self, name: str) -> None:
        self.first[name] = self.table.add_cell(name)
        self.handles[name] = ValueCell(self.table, self.first[name], name)

    def on_timer(self, timestamp: int, context: Any) -> None:
        self.fired.append((timestamp, repr(context.get_current_key()), context.time_domain()))

    def select(self, key: tuple[int, Any]) -> None:
        self.table.set_current_key(KEYS[key[0]], GROUP, key[1])

    def held(self, kind: str, cell: int) -> list[tuple[str, str]]:
        """What the current key has in a cell, as text, expired or not."""
        if kind == "list":
            return [("None", repr(value)) for value in ListCell(self.table, cell, "raw").get()]
        if kind == "map":
            pairs = MapCell(self.table, cell, "raw").items()
            return [(repr(item), repr(value)) for item, value in pairs]
        value = ValueCell(self.table, cell, "raw").value()
        return [] if value is None else [("None", repr(value))]


class StateTableMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.model = StateTableModel()
        for name, kind, _, ttl, renew, show in STATES:
            self.model.states[name] = State(kind, ttl, renew, show)
        self.extra: list[str] = []
        self.pieces: list[bytes] = []
        self.dumps: list[tuple[int, list[bytes]]] = []
        self.side = self.fresh()

    def fresh(self) -> Side:
        side = Side(StateTable(GROUP, tracking=True), len(self.extra))
        side.table.processing_time = self.model.now
        return side

    # --- states

    @rule(key=keys, name=st.sampled_from(["value", "ttl value"]), value=values)
    def update(self, key: Any, name: str, value: Any) -> None:
        self.side.select(key)
        self.side.handles[name].update(value)
        self.model.write(name, key, value)

    @precondition(lambda self: self.extra)
    @rule(key=keys, data=st.data(), value=values)
    def update_extra(self, key: Any, data: Any, value: Any) -> None:
        self.update(key, data.draw(st.sampled_from(self.extra)), value)

    @rule(key=keys, name=st.sampled_from(["value", "ttl value"]))
    def read(self, key: Any, name: str) -> None:
        self.side.select(key)
        seen = self.model.read(name, key)
        assert repr(self.side.handles[name].value()) == repr(seen[0][1] if seen else None)

    @rule(key=keys, number=st.integers(-(2**40), 2**40))
    def add_up(self, key: Any, number: int) -> None:
        self.side.select(key)
        self.side.handles["sum"].add(number)
        held = self.model.read("sum", key)
        self.model.write("sum", key, held[0][1] + number if held else number)

    @rule(key=keys, name=lists, added=st.lists(values, min_size=1, max_size=4))
    def append(self, key: Any, name: str, added: list[Any]) -> None:
        self.side.select(key)
        self.side.handles[name].add_all(added)
        for value in added:
            self.model.write(name, key, value)

    @rule(key=keys, name=lists)
    def read_list(self, key: Any, name: str) -> None:
        self.side.select(key)
        seen = [value for _, value in self.model.read(name, key)]
        assert repr(self.side.handles[name].get()) == repr(seen)

    @rule(key=keys, name=maps, item=items, value=st.none() | values)
    def put(self, key: Any, name: str, item: int, value: Any) -> None:
        self.side.select(key)
        self.side.handles[name].put(KEYS[item], value)
        self.model.write(name, key, value, item)

    @rule(key=keys, name=maps, item=items)
    def get(self, key: Any, name: str, item: int) -> None:
        self.side.select(key)
        seen = self.model.read(name, key, item)
        assert self.side.handles[name].contains(KEYS[item]) == bool(seen)
        value = self.side.handles[name].get(KEYS[item])
        assert repr(value) == repr(seen[0][1] if seen else None)

    @rule(key=keys, name=maps, item=items)
    def remove(self, key: Any, name: str, item: int) -> None:
        self.side.select(key)
        self.side.handles[name].remove(KEYS[item])
        self.model.remove(name, key, item)

    @rule(key=keys, name=maps)
    def read_map(self, key: Any, name: str) -> None:
        self.side.select(key)
        seen = [(KEYS[item], value) for item, value in self.model.read(name, key)]
        assert repr(list(self.side.handles[name].items())) == repr(seen)

    @rule(key=keys, data=st.data())
    def clear(self, key: Any, data: Any) -> None:
        name = data.draw(st.sampled_from(sorted(self.side.handles)))
        self.side.select(key)
        self.side.handles[name].clear()
        self.model.clear(name, key)

    @rule(key=keys)
    def clear_all(self, key: Any) -> None:
        self.side.select(key)
        for name, handle in self.side.handles.items():
            handle.clear()
            self.model.clear(name, key)

    @rule()
    def widen(self) -> None:
        if len(self.extra) < 3:
            name = f"extra {len(self.extra)}"
            self.side.widen(name)
            self.extra.append(name)
            self.model.states[name] = State("value")

    # --- time

    @rule(step=st.integers(0, 6))
    def pass_time(self, step: int) -> None:
        self.model.now += step
        self.side.table.processing_time = self.model.now

    @rule()
    def sweep(self) -> None:
        expiries = [
            (self.side.first[name], kind != "value", ttl)
            for name, kind, _, ttl, _, _ in STATES
            if ttl
        ]
        assert sweep(self.side.table, expiries) == self.model.sweep()

    @rule(key=keys, domain=domains, timestamp=timestamps)
    def register(self, key: Any, domain: int, timestamp: int) -> None:
        self.side.select(key)
        if domain:
            self.side.timers.register_processing_time_timer(timestamp)
        else:
            self.side.timers.register_event_time_timer(timestamp)
        self.model.register(domain, timestamp, key)

    @rule(key=keys, domain=domains, timestamp=timestamps)
    def delete(self, key: Any, domain: int, timestamp: int) -> None:
        self.side.select(key)
        if domain:
            self.side.timers.delete_processing_time_timer(timestamp)
        else:
            self.side.timers.delete_event_time_timer(timestamp)
        self.model.delete(domain, timestamp, key)

    @rule(domain=domains, until=timestamps)
    def fire(self, domain: int, until: int) -> None:
        expected: list[tuple[int, str, int]] = []
        self.model.fire(
            domain, until, lambda at, key: expected.append((at, repr(KEYS[key[0]]), domain))
        )
        self.side.fired.clear()
        if domain:
            self.side.process.advance_processing_time(until)
        else:
            self.side.process.advance_watermark(until)
        assert self.side.fired == expected

    # --- the log

    @rule()
    def commit(self) -> None:
        self.pieces.append(state_log.commit(self.side.table))
        assert self.side.table.number_of_keys == len(set(self.model.keys()))
        whole = dump(self.side.table, GROUP)
        for first, base in [(0, []), *self.dumps[-2:], (len(self.pieces), [whole])]:
            again = self.replayed([*base, *self.pieces[first:]])
            assert dump(again.table, GROUP) == whole
            again.table.close()

    def replayed(self, pieces: list[bytes]) -> Side:
        side = self.fresh()
        state_log.replay(side.table, pieces, list(range(len(side.table.cells))), GROUP)
        side.table._check()
        return side

    @rule(most=st.sampled_from([0, 20, 200, 10**9]))
    def dump(self, most: int) -> None:
        self.commit()
        self.dumps.append((len(self.pieces), dumped(self.side.table, GROUP, most)))

    @rule()
    def go_on_from_the_log(self) -> None:
        """As after the loss of the table: what is done from here on fits the same log."""
        self.commit()
        self.side = self.replayed(self.pieces)

    @rule()
    def load_beside_others(self) -> None:
        """Rescaling: ids are new, the contents are the same; cells may be elsewhere."""
        self.commit()
        whole = dump(self.side.table, GROUP)
        table = StateTable(GROUP - 2, GROUP + 2)
        table.add_cell("of another operator")
        other = Side(table, len(self.extra))
        for number in range(5):
            table.set_current_key(f"other {number}", GROUP - 1)
            other.handles["list"].add(number)
            other.timers.register_event_time_timer(number)
        state_log.load(table, whole, list(range(1, len(table.cells))), GROUP)
        table._check()
        assert table.number_of_keys == len(set(self.model.keys())) + 5
        self.compare(other)
        # A dump of the copy names things otherwise, but a replay of it is stable.
        copy = dump(table, GROUP)
        again = StateTable(GROUP)
        again.add_cell("of another operator")
        side = Side(again, len(self.extra))
        state_log.replay(again, [copy], list(range(len(again.cells))), GROUP)
        assert dump(again, GROUP) == copy
        self.compare(side)

    # --- after every step

    @invariant()
    def invariants_hold(self) -> None:
        self.side.table._check()

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        self.compare(self.side)
        timers = [len(timers) for timers in self.model.timers]
        assert self.side.table.number_of_event_timers == timers[0]
        assert self.side.table.number_of_processing_timers == timers[1]

    def compare(self, side: Side) -> None:
        for name, state in self.model.states.items():
            cell = side.first[name]
            for key, held in state.held.items():
                side.select(key)
                expected = [
                    (repr(KEYS[item] if state.kind == "map" else None), repr(value))
                    for item, value, _ in held
                ]
                assert side.held(state.kind, cell) == expected, (name, key)
        side.table.clear_current_key()


class MappedStateTableMachine(StateTableMachine):
    """The same over files, closed and opened again."""

    @initialize()
    def map(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="state-table-"))
        self.side = Side(StateTable())
        self.side.table.processing_time = self.model.now
        self.side.table.map(self.files(os.O_CREAT | os.O_EXCL), GROUP, create=True)

    def files(self, flags: int = 0) -> list[int]:
        return [os.open(self.home / name, os.O_RDWR | flags, 0o600) for name in FILES]

    @precondition(lambda self: hasattr(self, "home"))
    @rule()
    def reopen(self) -> None:
        self.commit()
        self.side.table.close()
        self.side.table.map(self.files(), GROUP, create=False)

    @rule()
    def go_on_from_the_log(self) -> None:
        self.commit()
        self.side.table.close()
        for name in FILES:
            (self.home / name).unlink()
        self.side.table.map(self.files(os.O_CREAT | os.O_EXCL), GROUP, create=True)
        cells = list(range(len(self.side.table.cells)))
        state_log.replay(self.side.table, self.pieces, cells, GROUP)

    def teardown(self) -> None:
        self.side.table.close()
        if hasattr(self, "home"):
            shutil.rmtree(self.home)


TestStateTable = StateTableMachine.TestCase
TestMappedStateTable = MappedStateTableMachine.TestCase
