"""The log of a key group in Spark's state, and the table that is laid over it."""

import contextlib
import os
import random
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flinkish._core.state.table import StateTable
from flinkish.common import Row, Types
from flinkish.common.errors import CorruptStateError, IncompatibleStateError, StateMigrationError
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.datastream.functions import KeyedProcessFunction
from flinkish.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from flinkish.spark.keyed import group_state
from flinkish.spark.keyed.checkpoint_settings import check_settings
from flinkish.spark.keyed.group_state import GroupState
from flinkish.spark.keyed.plan import OperatorPlan
from flinkish.spark.tables import TableFiles
from flinkish.state.backend import KeyedStateBackend, StateDeclaration
from tests.models.keyed_process import KeyedProcessModel
from tests.spark.fake_spark import FakeMap, FakeSpark, TaskDied, plan
from tests.spark.functions import EveryState

COUNT = ValueStateDescriptor("count", Types.LONG())
TEXT = ValueStateDescriptor("text", Types.STRING())
TAGS = MapStateDescriptor("tags", Types.STRING(), Types.LONG())
OUT = pa.schema([("key", pa.string()), *((name, pa.string()) for name in "abcd")])


class Store:
    """One key group in Spark's state, and programs that use it one after another."""

    def __init__(self, root: Path, key_group: int = 2, **settings: Any) -> None:
        self.root, self.key_group, self.settings = root, key_group, settings
        self.spark: dict[str, Any] = {"log": {}}  # as FakeSpark has it for each key group

    def program(self, *states: StateDescriptor, **changes: Any) -> "Program":
        return Program(self, states, changes)

    @property
    def head(self) -> group_state.Head:
        return group_state.Head.decode(self.spark["log"][group_state.HEAD][0], self.key_group)

    @property
    def pieces(self) -> dict[tuple[int], tuple[bytes, bool]]:
        return {at: piece for at, piece in self.spark["log"].items() if at != group_state.HEAD}

    @property
    def tables(self) -> list[str]:
        return [path.name for path in self.root.glob(f"*/*/*/{self.key_group}/*")]


class Program:
    def __init__(
        self, store: Store, states: tuple[StateDescriptor, ...], changes: dict[str, Any]
    ) -> None:
        fields = store.settings | changes
        fields.setdefault("max_parallelism", 8)
        self.plan: OperatorPlan = plan(None, OUT, store.root, **fields)
        self.store = store
        self.backend = KeyedStateBackend(StateTable())
        self.states = [self.backend.state(state) for state in states]
        files = TableFiles("query", "operator", str(store.root))
        self.group = GroupState(self.plan, self.backend, FakeMap(store.spark), files)

    def open(self) -> None:
        self.group.open(self.store.key_group)

    def at(self, key: str) -> list[Any]:
        """The states of a key."""
        self.backend.table.set_current_key(key, self.store.key_group)
        return self.states

    def set(self, **values: Any) -> None:
        """One call of the group: give the first state of each key a value."""
        self.open()
        for key, value in values.items():
            self.at(key)[0].update(value)
        self.group.commit(None, 5)

    def get(self, *keys: str) -> list[Any]:
        self.open()
        found = [[state.value() for state in self.at(key)] for key in keys]
        self.group.commit(None, 5)
        return found

    @property
    def misses(self) -> int:
        return self.group.counters["table_misses"]


def test_a_call_appends_what_it_changed(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.program(COUNT).set(a=1, b=2)
    assert (store.head.first, store.head.next) == (0, 1)
    first = store.head.nonce
    again = store.program(COUNT)
    again.set(b=3)
    assert again.misses == 0
    assert (store.head.first, store.head.next) == (0, 2)
    assert store.head.nonce != first
    assert store.tables == [store.head.nonce]
    assert store.program(COUNT).get("a", "b", "c") == [[1], [3], [None]]


def test_a_call_that_changes_nothing_writes_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    nobody = store.program(COUNT)
    nobody.open()
    nobody.group.commit(None, 5)
    assert store.spark == {"log": {}}
    assert store.tables == []
    store.program(COUNT).set(a=1)
    before = dict(store.spark, log=dict(store.spark["log"]))
    reader = store.program(COUNT)
    assert reader.get("a") == [[1]]
    assert store.spark == before
    assert reader.group.counters["checkpoint_bytes"] == 0
    assert store.program(COUNT).get("a") == [[1]], "the table kept its name"


def test_the_log_is_enough(tmp_path: Path) -> None:
    store = Store(tmp_path / "here")
    store.program(COUNT).set(a=1)
    store.program(COUNT).set(a=2, b=2)
    store.program(COUNT).set(b=None)
    store.root = tmp_path / "elsewhere"
    other = store.program(COUNT)
    assert other.get("a", "b") == [[2], [None]]
    assert other.misses == 1


@pytest.mark.parametrize("by", ["bytes", "pieces"])
def test_compaction_when_the_log_outgrows_the_state(tmp_path: Path, by: str) -> None:
    limits = {"compact_bytes": 1, "compact_factor": 2.0} if by == "bytes" else {"compact_pieces": 3}
    store = Store(tmp_path / "a", **limits)
    compacted = 0
    for turn in range(40):
        program = store.program(COUNT)
        program.set(**{f"k{turn % 5}": turn})
        compacted += program.group.counters["compactions"]
        assert sorted(store.pieces) == [
            (number,) for number in range(store.head.first, store.head.next)
        ]
        assert store.head.next - store.head.first <= 12
    assert 3 <= compacted <= 20
    for root in ("a", "b"):
        store.root = tmp_path / root
        assert store.program(COUNT).get("k0", "k4") == [[35], [39]]


def test_key_groups_compact_in_different_batches(tmp_path: Path) -> None:
    batches = {}
    for key_group in range(0, 8, 2):
        store = Store(tmp_path / str(key_group), key_group, compact_pieces=8)
        for batch in range(30):
            program = store.program(COUNT)
            program.set(a=batch)
            if program.group.counters["compactions"]:
                batches[key_group] = batch
                break
    assert len(set(batches.values())) == 4, batches


def test_a_whole_state_of_many_pieces_is_not_written_again_in_each_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_state, "PIECE_BYTES", 400)
    chance = random.Random(3)
    texts = {f"k{n}": "".join(chance.choices("abcdefgh", k=150)) for n in range(30)}
    store = Store(tmp_path / "a", compact_pieces=3)
    store.program(TEXT).set(**texts)
    head = store.head
    assert head.whole_pieces == head.next - head.first == 15
    assert not any(more for _, more in store.pieces.values()), "each piece is a frame of its own"
    for turn in range(3):
        program = store.program(TEXT)
        program.set(k7=f"turn {turn}")
        assert program.group.counters["compactions"] == 0
        assert (store.head.first, store.head.whole_pieces) == (head.first, head.whole_pieces)
    # A change as large as pieces is no reason either: full pieces are not many for their bytes.
    store = Store(tmp_path / "b", compact_pieces=3)
    store.program(TEXT).set(**texts)
    program = store.program(TEXT)
    program.set(k1="".join(chance.choices("abcdefgh", k=5000)))
    assert store.head.next - store.head.first - store.head.whole_pieces > 4
    program = store.program(TEXT)
    program.set(k2="short")
    assert program.group.counters["compactions"] == 0
    store.root = tmp_path / "c"
    found = store.program(TEXT).get("k0", "k2", "k29")
    assert found == [[texts["k0"]], ["short"], [texts["k29"]]]


def test_large_frames_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_state, "PIECE_BYTES", 100)
    chance = random.Random(3)
    texts = {f"k{n}": "".join(chance.choices("abcdefgh", k=150)) for n in range(20)}
    store = Store(tmp_path / "a")
    store.program(TEXT).set(**texts)
    store.program(TEXT).set(k3="short", k4=None)
    log = store.pieces
    assert len(log) > 10
    assert all(len(piece) <= 100 for piece, _ in log.values())
    assert [more for _, (_, more) in sorted(log.items())].count(False) == 20 + 1
    store.root = tmp_path / "b"
    wanted = [[text] for text in texts.values()]
    wanted[3:5] = [["short"], [None]]
    assert store.program(TEXT).get(*texts) == wanted


@pytest.mark.parametrize("keep_table", [True, False])
def test_programs_may_ask_for_their_states_in_another_order(
    tmp_path: Path, keep_table: bool
) -> None:
    store = Store(tmp_path / "a")
    first = store.program(COUNT, TEXT)
    first.open()
    first.at("x")[0].update(7)
    first.at("x")[1].update("seven")
    first.group.commit(None, 5)
    if not keep_table:
        store.root = tmp_path / "b"
    assert store.program(TEXT, COUNT).get("x") == [["seven", 7]]
    turned = store.program(TEXT, COUNT)
    assert turned.get("x") == [["seven", 7]]
    assert turned.misses == 0, "the first call has written the log anew"


def test_a_state_that_is_new_and_one_that_is_gone(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.program(COUNT).set(x=7)
    grown = store.program(COUNT, TEXT)
    grown.open()
    assert [state.value() for state in grown.at("x")] == [7, None]
    grown.at("x")[1].update("seven")
    grown.group.commit(None, 5)
    assert grown.misses == 0
    assert store.program(TEXT).get("x") == [["seven"]]
    store.program(TEXT).set(x="eight")
    assert store.program(COUNT, TEXT).get("x") == [[7, "eight"]], "what is not asked for is kept"


@pytest.mark.parametrize(
    "other",
    [
        ValueStateDescriptor("count", Types.STRING()),
        ListStateDescriptor("count", Types.LONG()),
        MapStateDescriptor("count", Types.STRING(), Types.LONG()),
    ],
)
def test_another_state_of_the_same_name_is_refused(tmp_path: Path, other: StateDescriptor) -> None:
    store = Store(tmp_path)
    store.program(COUNT).set(x=7)
    before = store.head
    program = store.program(other)
    with pytest.raises(StateMigrationError, match="'count'") as caught:
        program.open()
    program.group.abandon()
    assert caught.value.setting == "count"
    assert caught.value.was == StateDeclaration.of(COUNT).to_dict()
    assert caught.value.now == StateDeclaration.of(other).to_dict()
    assert f"was declared as {StateDeclaration.of(COUNT)} in the checkpoint" in str(caught.value)
    assert store.head == before
    assert store.program(COUNT).get("x") == [[7]]


def test_another_max_parallelism_is_refused(tmp_path: Path) -> None:
    log = FakeMap({})
    check_settings(plan(None, OUT, tmp_path, max_parallelism=8), log)
    check_settings(plan(None, OUT, tmp_path, max_parallelism=8), log)
    for now in (1, 7, 9, 16, 1000):
        needed = f"max_parallelism=8, this program has {now};"
        with pytest.raises(IncompatibleStateError, match=needed) as caught:
            check_settings(plan(None, OUT, tmp_path, max_parallelism=now), log)
        error = caught.value
        assert (error.setting, error.was, error.now) == ("max_parallelism", 8, now)
    sealed, more = log.getValue(group_state.HEAD)
    log.updateValue(group_state.HEAD, (sealed[:-1], more))
    with pytest.raises(CorruptStateError, match="'operator' cannot be read"):
        check_settings(plan(None, OUT, tmp_path, max_parallelism=8), log)


def test_damaged_bytes_are_refused(tmp_path: Path) -> None:
    store = Store(tmp_path / "a")
    store.program(COUNT).set(x=7, y=8)
    piece, more = store.spark["log"][0,]
    chance = random.Random(5)
    for turn in range(60):
        broken = bytearray(piece)
        broken[turn % len(piece)] ^= 1 << chance.randrange(8)
        store.spark["log"][0,] = (bytes(broken), more)
        store.root = tmp_path / f"b{turn}"
        program = store.program(COUNT)
        with pytest.raises(CorruptStateError, match="operator") as caught:
            program.open()
        program.group.abandon()
        assert caught.value.key_group == 2
        assert caught.value.version == 1
        assert re.search("checksum", str(caught.value))
        assert store.tables == [], "nothing is left of it"
    store.spark["log"][0,] = (piece[:-1], more)
    with pytest.raises(CorruptStateError):
        store.program(COUNT).open()
    del store.spark["log"][0,]
    with pytest.raises(CorruptStateError, match="piece 0 of the log is missing"):
        store.program(COUNT).open()


def test_the_state_of_another_key_group_is_refused(tmp_path: Path) -> None:
    store, other = Store(tmp_path / "a", 2), Store(tmp_path / "b", 3)
    store.program(COUNT).set(x=7)
    other.spark = store.spark
    with pytest.raises(CorruptStateError, match="key group"):
        other.program(COUNT).open()


def test_a_damaged_head_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.program(COUNT).set(x=7)
    head, more = store.spark["log"][group_state.HEAD]
    for place in range(len(head)):
        broken = bytearray(head)
        broken[place] ^= 1 << place % 8
        store.spark["log"][group_state.HEAD] = (bytes(broken), more)
        with pytest.raises(CorruptStateError, match="cannot be read"):
            store.program(COUNT).open()


def test_a_torn_table_is_built_anew(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.program(COUNT).set(x=7)
    for file in tmp_path.glob("*/*/*/2/*/*"):
        os.truncate(file, 64)
    program = store.program(COUNT)
    assert program.get("x") == [[7]]
    assert program.misses == 1
    for file in list(tmp_path.glob("*/*/*/2/*/*"))[:1]:
        file.unlink()
    program = store.program(COUNT)
    assert program.get("x") == [[7]]
    assert program.misses == 1


class KeptInOrder(KeyedProcessFunction):
    """Remembers nothing but the order in which its timers fire."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + value.n)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), str(timestamp), None, None, None


@pytest.mark.parametrize(
    ("seed", "changes"),
    [
        (1, {}),
        (2, {"compact_bytes": 1, "compact_factor": 0.1, "compact_pieces": 2}),
        (3, {"compact_bytes": 1, "compact_factor": 1.0, "max_parallelism": 1}),
        (4, {"compact_bytes": 1, "compact_factor": 1.0, "max_parallelism": 1}),
    ],
)
@pytest.mark.parametrize("function", [EveryState, KeptInOrder])
def test_batches_that_fail_and_tables_that_vanish_change_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    changes: dict[str, Any],
    function: type[KeyedProcessFunction],
) -> None:
    if seed == 4:
        monkeypatch.setattr(group_state, "PIECE_BYTES", 90)
    chance = random.Random(seed)
    model = KeyedProcessModel(function(), lambda row: row.key)
    spark, old = FakeSpark(), tmp_path / "0"
    misses = 0
    for number in range(25):
        rows = [
            (
                f"k{chance.randrange(9)}",
                chance.randrange(2000),
                number * 1000 + chance.randrange(3000),
            )
            for _ in range(chance.randrange(12))
        ]
        watermark = max(0, number * 1000 - 500)
        operator = plan(function(), OUT, old, **changes)
        for _ in range(chance.randrange(3)):
            # Spark rolls both back, the whole task and one that died between key groups.
            die = chance.choice([None, 0, 1, 2])
            with contextlib.suppress(TaskDied):
                spark.batch(operator, rows, watermark, commit=False, stop_before=die)
        if chance.random() < 0.2:
            old = tmp_path / str(number)
            operator = plan(function(), OUT, old, **changes)
        found = spark.batch(operator, rows, watermark)
        misses += spark.counters["table_misses"] if found else 0
        elements = [(Row(key=key, n=n), at) for key, n, at in rows]
        mark = watermark - 1 if watermark else MIN_TIMESTAMP
        wanted = [value for _, value, _ in model.batch(elements, mark)]
        for key in {row[0] for row in wanted + found}:
            assert [row for row in found if row[0] == key] == [
                row for row in wanted if row[0] == key
            ], f"batch {number}, key {key}"
    assert misses > 0
