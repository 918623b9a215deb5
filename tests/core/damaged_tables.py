"""Tables with a state of each kind, on the heap or mapped, and what flips bits in their files."""

import contextlib
import os
import random
import tempfile
from collections.abc import Callable, Iterator

import numpy as np

from flinkish._core.state import log as state_log
from flinkish._core.state.key_rows import gather_keys
from flinkish._core.state.keyed_state import ListCell, MapCell, ValueCell, sweep
from flinkish._core.state.named_timers import NamedTimers, poll_timer
from flinkish._core.state.table import FILES, StateTable
from flinkish._core.windows.panes.engine import (
    AccumulatorLayout,
    PaneWindows,
    SessionWindows,
    WindowEngine,
    WordColumns,
)
from tests.core.logs import dumped
from tests.core.specimens import KEYS, VALUES

SPACES = [None, "space", (1, 2), 3]
STATE = bytes(range(16))
# Values are also read by pickle, which may raise anything for bytes that make no sense.
SENSELESS = Exception


class States:
    """A table with a state of each kind, and timers within namespaces."""

    cells = 5

    def __init__(self, table: StateTable) -> None:
        self.table = table
        for name in ("value", "ttl value", "its time", "list", "map"):
            table.add_cell(name)
        self.value = ValueCell(table, 0, "value")
        self.aged = ValueCell(table, 1, "ttl value", ttl=100)
        self.list = ListCell(table, 3, "list", ttl=100)
        self.map = MapCell(table, 4, "map", ttl=100)
        self.timers = NamedTimers(table, 0)
        table.processing_time = 0

    def change(self, chance: random.Random) -> None:
        """Touch a state of each kind of some key."""
        self.table.set_current_key(chance.choice(KEYS), 0, chance.choice(SPACES))
        self.value.update(chance.choice(VALUES))
        self.aged.update(chance.randrange(1 << 40))
        self.list.add(chance.choice(VALUES))
        self.map.put(chance.choice(KEYS), chance.choice(VALUES))
        if chance.randrange(3) == 0:
            self.list.clear()
        if chance.randrange(3) == 0:
            self.map.remove(chance.choice(KEYS))
        for event in (True, False):
            self.timers.add(event, chance.randrange(50), chance.choice(SPACES))
            self.timers.remove(event, chance.randrange(50), chance.choice(SPACES))

    def uses(self) -> Iterator[Callable[[], object]]:
        """Read all, write some, remove the rest: calls that may fail one by one."""
        for row in range(200):
            yield lambda row=row: self.table.key_of(row)
        for key in KEYS:
            for space in SPACES:
                yield lambda key=key, space=space: self.table.set_current_key(key, 0, space)
                for read in (self.value.value, self.aged.value, self.list.get, self.map.items):
                    yield lambda read=read: list(read() or ())
                yield lambda: self.map.put("k", "v" * 30)
                yield lambda: self.list.add("v" * 30)
        for event in (True, False):
            yield lambda event=event: [
                self.timers.use(event, timestamp, row)
                for timestamp, row in self.timers.timers(event)
            ]
            yield lambda event=event: self.timers.count_in(event, "space")
            yield lambda event=event: self.timers.add(event, 7, "space")

    def more_uses(self, chance: random.Random) -> Iterator[Callable[[], object]]:
        """What only some rounds do: whole columns, removals, timers that fire."""
        rows = np.zeros(64, np.uint32)
        yield lambda: self.table.intern_ints(np.arange(-8, 56), None, rows)
        yield lambda: gather_keys(self.table, rows)
        for key in chance.sample(KEYS, min(4, len(KEYS))):
            yield lambda key=key: self.table.set_current_key(key, 0, chance.choice(SPACES))
            for name in chance.sample(KEYS, min(4, len(KEYS))):
                yield lambda name=name: self.map.remove(name)
            yield chance.choice((self.value.clear, self.list.clear, self.map.clear))
            yield lambda: self.value.update("v" * chance.randrange(1, 400))
        yield lambda: poll_timer(self.table, True, chance.randrange(50))
        yield lambda: poll_timer(self.table, False, chance.randrange(50))
        self.table.processing_time = chance.choice((0, 200))
        yield lambda: sweep(self.table, [(1, False, 100), (3, True, 100), (4, True, 100)])


LAYOUT = AccumulatorLayout([("count", 0, False, False), ("int", 0, False, False)])
COUNT = AccumulatorLayout([("count", 0, False, False)])


class Windows:
    """A table with panes, of which some lie in the entries themselves, or sessions."""

    cells = 1

    def __init__(self, table: StateTable, kind: int) -> None:
        self.table = table
        table.add_cell("windows")
        self.engine: WindowEngine = (
            SessionWindows(table, 0, LAYOUT, gap=5, lateness=20)
            if kind == 1
            else PaneWindows(table, 0, LAYOUT, size=12, unit=3, lateness=20)
            if kind == 2
            else PaneWindows(table, 0, COUNT, size=12, unit=12, lateness=20)
        )

    def change(self, chance: random.Random) -> None:
        """Take in some elements, and let some fire."""
        count = chance.randrange(1, 40)
        rows = np.zeros(count, np.uint32)
        keys = np.array([chance.randrange(20) for _ in rows])
        times = np.array([chance.randrange(100) for _ in rows])
        self.table.intern_ints(keys, None, rows)
        ones = np.ones(count, np.uint64)
        self.engine.process(rows, times, WordColumns(count, [(ones, None, 0)]))
        if chance.randrange(3) == 0:
            self.engine.advance_watermark(chance.randrange(60))
        self.engine.take()

    def uses(self) -> Iterator[Callable[[], object]]:
        """More elements, then all fire."""
        for seed in range(3):
            yield lambda seed=seed: self.change(random.Random(seed))
        yield lambda: self.engine.advance_watermark(70)
        yield self.engine.take

    def more_uses(self, chance: random.Random) -> Iterator[Callable[[], object]]:
        """Those left fire, and are forgotten."""
        yield lambda: self.change(chance)
        yield lambda: self.engine.advance_watermark(1000)
        yield self.engine.take


def made(kind: int, table: StateTable) -> States | Windows:
    """The states of a kind (0..3) over a table."""
    return States(table) if kind == 0 else Windows(table, kind)


def empty_files(stack: contextlib.ExitStack) -> list[int]:
    """Files for a table, which nobody else sees, until the stack is closed."""
    return [stack.enter_context(tempfile.TemporaryFile()).fileno() for _ in FILES]


def mapped(table: StateTable, files: list[int], *, create: bool, sealed: bool) -> None:
    """Map the table over files, which stay open here."""
    table.map([os.dup(file) for file in files], 0, create=create, state=STATE if sealed else None)


def flip(files: list[int], chance: random.Random) -> None:
    """Flip bits in a file; most of them where there is something."""
    file = chance.choice(files)
    data = bytearray(os.pread(file, 1 << 24, 0))
    for _ in range(chance.choice((1, 1, 1, 1, 2, 8))):
        at = chance.randrange(len(data)) if data else 0
        while data and data[at] == 0 and chance.randrange(100):
            at = (at + 1) % len(data)
        if chance.randrange(16) == 0:
            data[at : at + 8] = b"\xff" * len(data[at : at + 8])
        elif data:
            data[at] ^= 1 << chance.randrange(8)
    os.pwrite(file, data, 0)


def play(chance: random.Random) -> str:
    """Write a table, flip bits in its files, map it, use it, and read what it then logs.

    Returns how far that came.  Whatever comes of it, it is an error or a table that can be used.
    """
    kind = chance.choice((0, 0, 1, 2, 3))
    with contextlib.ExitStack() as stack:
        files = empty_files(stack)
        table = StateTable()
        states = made(kind, table)
        mapped(table, files, create=True, sealed=False)
        for _ in range(chance.randrange(1, 30)):
            states.change(chance)
        state_log.commit(table)
        table.seal(STATE)
        table.close()
        flip(files, chance)
        found = StateTable()
        states = made(kind, found)
        try:
            mapped(found, files, create=False, sealed=chance.randrange(4) != 0)
        except (ValueError, OSError):
            return "refused"
        return used(found, states, chance)


def used(table: StateTable, states: States | Windows, chance: random.Random) -> str:
    """Use a table that may be damaged."""
    calls = [*states.uses(), *states.more_uses(chance)]
    if chance.randrange(2):
        chance.shuffle(calls)
    for call in calls[: chance.choice((5, 100, 10_000))]:
        with contextlib.suppress(SENSELESS):
            call()
    with contextlib.suppress(AssertionError, RuntimeError, MemoryError):
        table._check()
    try:
        state_log.commit(table)
        log = dumped(table, 0, chance.choice((0, 50, 10**9)))
    except (RuntimeError, MemoryError):
        return "noticed"
    finally:
        table.close()
    fresh = StateTable(0, tracking=True)
    states = made(0 if isinstance(states, States) else 2, fresh)
    try:
        state_log.replay(fresh, log, list(range(states.cells)), 0)
    except state_log.DamagedLog:
        return "logged"
    fresh._check()
    return "used"
