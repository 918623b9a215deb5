"""A key of any class is stored, hashed and put out as what the builtin type under it holds."""

import datetime
import decimal
import enum
import uuid
from collections import namedtuple
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from flinkish._core.columns.columns import columns_from_rows
from flinkish._core.keys.key_groups import java_hash
from flinkish._core.state.keyed_state import MapCell, ValueCell
from flinkish._core.state.table import StateTable
from flinkish._core.testing.state import decode, encode
from flinkish._core.values.row import Row

NAIVE = datetime.datetime(2024, 2, 29, 12, 30, 15, 678901)
EAST = datetime.timezone(datetime.timedelta(hours=5, minutes=45))


class Colour(str, enum.Enum):
    RED = "red"


class Itself(str):
    """As the escaped strings of template engines are."""

    def __str__(self) -> str:
        return self


class Liar:
    """Says something else than it holds, in every way that there is."""

    def lie(self, *_: object) -> Any:
        raise AssertionError("nobody may ask")

    __str__ = __int__ = __index__ = __float__ = __bytes__ = __iter__ = __len__ = lie
    __getitem__ = encode = to_bytes = bit_length = as_tuple = normalize = lie
    utcoffset = toordinal = __sub__ = lie


class LyingStr(Liar, str):
    __slots__ = ()


class LyingInt(Liar, int):
    __slots__ = ()


class LyingFloat(Liar, float):
    __slots__ = ()


class LyingBytes(Liar, bytes):
    __slots__ = ()


class LyingTuple(Liar, tuple[Any, ...]):
    __slots__ = ()


class LyingDatetime(Liar, datetime.datetime):
    pass


class LyingDate(Liar, datetime.date):
    pass


class LyingDecimal(Liar, decimal.Decimal):
    pass


class Level(enum.IntEnum):
    HIGH = 3


Point = namedtuple("Point", "x y")

SAME = [
    (Colour.RED, "red"),
    (Itself("text"), "text"),
    (LyingStr("ähnlich \U0001f600"), "ähnlich \U0001f600"),
    (np.str_("text"), "text"),
    (Level.HIGH, 3),
    (LyingInt(-7), -7),
    (LyingInt(2**62), 2**62),
    (LyingFloat(0.5), 0.5),
    (LyingBytes(b"abc"), b"abc"),
    (np.bytes_(b"abc"), b"abc"),
    (bytearray(b"abc"), b"abc"),
    (memoryview(b"abc"), b"abc"),
    (LyingTuple((1, Colour.RED)), (1, "red")),
    (Point(LyingInt(1), "a"), (1, "a")),
    (Row(1, Colour.RED), (1, "red")),
    (range(3), (0, 1, 2)),
    (LyingDatetime(2024, 2, 29, 12, 30, 15, 678901), NAIVE),
    (LyingDatetime(2024, 2, 29, 12, 30, 15, 678901, EAST), NAIVE.replace(tzinfo=EAST)),
    (LyingDate(2024, 2, 29), datetime.date(2024, 2, 29)),
    (LyingDecimal("-12.5"), decimal.Decimal("-12.5")),
    (np.int8(-3), -3),
    (np.uint32(2**32 - 1), 2**32 - 1),
    (np.float16(0.5), 0.5),
    (np.float32(0.1), float(np.float32(0.1))),
    (np.float64(0.1), 0.1),
    (np.bool_(True), True),
]
IDS = [f"{type(key).__name__}-{number}" for number, (key, _) in enumerate(SAME)]


@pytest.mark.parametrize(("key", "plain"), SAME, ids=IDS)
def test_key_group_and_state_take_a_key_for_what_it_holds(key: Any, plain: Any) -> None:
    assert java_hash(key) == java_hash(plain)
    assert encode(key, as_key=True) == encode(plain, as_key=True)
    assert java_hash((1, (key,))) == java_hash((1, (plain,)))
    assert encode((1, (key,)), as_key=True) == encode((1, (plain,)), as_key=True)
    table = StateTable(0, 0)
    state = MapCell(table, table.add_cell("map"), "map")
    table.set_current_key(key)
    state.put(key, 1)
    table.set_current_key(plain)
    assert state.get(plain) == 1
    assert state.contains(key)
    assert type(table.current_key()) is type(plain)


OUTPUTS = [
    (pa.string(), "string", Colour.RED, "red"),
    (pa.string(), "string", Itself("text"), "text"),
    (pa.string(), "string", LyingStr("text"), "text"),
    (pa.int64(), "int64", LyingInt(5), 5),
    (pa.int32(), "int32", Level.HIGH, 3),
    (pa.float64(), "float64", LyingFloat(0.5), 0.5),
    (pa.float64(), "float64", np.float32(0.5), 0.5),
    (pa.binary(), "binary", LyingBytes(b"abc"), b"abc"),
    (pa.binary(), "binary", bytearray(b"abc"), b"abc"),
]


@pytest.mark.parametrize(("kind", "coding", "value", "plain"), OUTPUTS, ids=range(len(OUTPUTS)))
def test_output_and_typed_state_agree(
    kind: pa.DataType, coding: str, value: Any, plain: Any
) -> None:
    batch = columns_from_rows([(value,)], pa.schema([("value", kind)]))
    assert batch.column(0).to_pylist() == [plain]
    table = StateTable(0, 0)
    state = ValueCell(table, table.add_cell("value"), "value", coding)
    table.set_current_key(1)
    state.update(value)
    assert state.value() == plain
    assert type(state.value()) is type(plain)


def test_an_untyped_value_keeps_its_class() -> None:
    assert decode(*encode(Colour.RED)) is Colour.RED
    kept = decode(*encode(Itself("text")))
    assert type(kept) is Itself
    assert str.__eq__(kept, "text")


@pytest.mark.parametrize("key", [uuid.UUID(int=1), np.longdouble(1), np.array(1), np.complex64(1)])
def test_what_has_no_group_has_no_state_form(key: Any) -> None:
    with pytest.raises(TypeError, match="no Java hash"):
        java_hash(key)
    with pytest.raises(TypeError, match="no canonical form"):
        encode(key, as_key=True)


def test_moments_that_state_cannot_tell_apart_are_no_keys() -> None:
    pandas = pytest.importorskip("pandas")
    moment = pandas.Timestamp("2024-02-29T12:30:15.678901Z")
    assert encode(moment, as_key=True) == encode(moment.to_pydatetime(), as_key=True)
    assert java_hash(moment) == java_hash(moment.to_pydatetime())
    later = moment + pandas.Timedelta(1, "ns")
    with pytest.raises(ValueError, match=r"678901001.* has nanoseconds.*round it"):
        encode(later, as_key=True)
    with pytest.raises(ValueError, match="has nanoseconds"):
        encode((1, later), as_key=True)
    with pytest.raises(TypeError, match="must not be NaT"):
        encode(pandas.NaT, as_key=True)


@pytest.mark.parametrize("kind", [tuple, Point._make, LyingTuple])
def test_tuples_in_tuples_end_before_the_stack_does(kind: Any) -> None:
    key: Any = ()
    for _ in range(200_000):
        key = kind((key, 1))
    with pytest.raises(RecursionError, match="a key of tuples within tuples"):
        java_hash(key)
    with pytest.raises(RecursionError, match="a key of tuples within tuples"):
        encode(key, as_key=True)
    table = StateTable(0, 0)
    state = ValueCell(table, table.add_cell("value"), "value")
    table.set_current_key(1)
    with pytest.raises(RecursionError):
        state.update(key)
    while tuple.__len__(key):  # or freeing it would take the stack
        key = tuple.__getitem__(key, 0)


HALF = "half of a pair: \ud83d"


def test_a_value_may_hold_half_of_a_surrogate_pair() -> None:
    table = StateTable(0, 0)
    states = [
        ValueCell(table, table.add_cell("any"), "any"),
        ValueCell(table, table.add_cell("text"), "text", "string"),
    ]
    table.set_current_key(1)
    for state in states:
        state.update(HALF)
        assert state.value() == HALF


def test_a_key_may_not_and_says_what_to_do() -> None:
    table = StateTable(0, 0)
    state = MapCell(table, table.add_cell("map"), "map")
    table.set_current_key(1)
    for use in (lambda: table.set_current_key(HALF), lambda: state.put(HALF, 1)):
        with pytest.raises(UnicodeEncodeError, match=r"whole characters.*make the key bytes"):
            use()
