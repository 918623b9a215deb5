"""What travels and how it comes back."""

from __future__ import annotations

import contextlib
import datetime as dt
import decimal
import enum
import pickle
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple, NewType, TypedDict

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError, SerializationError
from flinkish.rpc import Opaque, RpcEndpoint, RpcFuture, RpcGateway, RpcService, register_codec
from flinkish.rpc.gateway import schema_of
from flinkish.rpc.wire import decode_plain, encode_plain, wire_of
from flinkish.rpc.wire_types import why_not

from .rig import SOON


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Point(NamedTuple):
    x: int
    y: float = 0.5


@dataclass
class Order:
    id: uuid.UUID
    lines: list[Point]
    paid: decimal.Decimal | None = None
    tags: set[str] = field(default_factory=set)
    parent: Order | None = None


class Event(msgspec.Struct):
    at: dt.datetime
    kind: Colour


class Record(TypedDict):
    name: str
    size: int


UserId = NewType("UserId", int)

VALUES: list[tuple[Any, Any]] = [
    (int, -(2**63)),
    (int, 2**64 - 1),
    (float, 0.1),
    (bool, True),
    (str, "zażółć 🐦"),
    (bytes, b"\x00\xff"),
    (bytearray, bytearray(b"ab")),
    (type(None), None),
    (list[int], [1, 2]),
    (dict[str, list[int]], {"a": [1]}),
    (dict[int, str], {1: "a"}),
    (tuple[int, str], (1, "a")),
    (tuple[int, ...], (1, 2, 3)),
    (set[int], {1, 2}),
    (frozenset[str], frozenset({"a"})),
    (Sequence[int], [1]),
    (Mapping[str, int], {"a": 1}),
    (dt.datetime, dt.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=dt.timezone.utc)),
    (dt.datetime, dt.datetime(2026, 1, 2, 3, 4, 5)),
    (dt.date, dt.date(2026, 1, 2)),
    (dt.time, dt.time(1, 2, 3)),
    (dt.timedelta, dt.timedelta(days=1, microseconds=7)),
    (decimal.Decimal, decimal.Decimal("1.2300")),
    (uuid.UUID, uuid.UUID(int=7)),
    (Colour, Colour.BLUE),
    (Point, Point(1, 2.0)),
    (Event, Event(dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc), Colour.RED)),
    (Record, {"name": "n", "size": 3}),
    (Order, Order(uuid.UUID(int=1), [Point(1)], decimal.Decimal(2), {"t"}, None)),
    (
        list[Order],
        [Order(uuid.UUID(int=1), [], parent=Order(uuid.UUID(int=2), [Point(1, 1.0)]))],
    ),
    (int | None, None),
    (int | str, "a"),
    (int | str | None | list[int], [4]),
    (Literal["on", "off"], "on"),
    (UserId, 7),
    (Annotated[int, msgspec.Meta(ge=0)], 7),
    (Annotated[int, ["a note"]], 7),
    (Any, {"a": [1, 2.5, None, "x", b"y"]}),
]


@pytest.mark.parametrize(("kind", "value"), VALUES, ids=lambda part: str(part)[:40])
def test_values_come_back_as_they_were(kind: Any, value: Any) -> None:
    assert why_not(kind) is None
    wire = wire_of(kind)
    back = wire.decode(wire.encode(value))
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4),
        np.arange(12, dtype=np.int32).reshape(3, 4).T,
        np.array([], dtype=np.float32),
        np.array(3.5),
        np.array(["2026-01-01"], "datetime64[us]"),
        np.array([True, False]),
        np.array(["ab", "c"]),
        np.array([(1, 2.0), (3, 4.0)], dtype=[("a", "i4"), ("b", "f8")]),
        np.array([((1, 2), 3)], dtype=[("p", [("x", "i2"), ("y", "i2")]), ("z", "u1")]),
        np.zeros(2, dtype=[("m", "f4", (2, 2))]),
    ],
    ids=lambda array: str(array.dtype)[:30],
)
def test_arrays(array: Any) -> None:
    wire = wire_of(np.ndarray)
    data = wire.encode(array)
    back = wire.decode(data)
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)
    if array.size:
        assert not back.flags.owndata  # a view of the message
        assert not back.flags.writeable
    np.testing.assert_array_equal(decode_plain(encode_plain({"a": array}))["a"], array)
    assert wire_of(list[np.ndarray | None]).decode(encode_plain([None])) == [None]


def test_numpy_scalars_are_numbers() -> None:
    assert decode_plain(encode_plain([np.int64(3), np.float32(0.5)])) == [3, 0.5]


def test_arrow_tables_and_batches() -> None:
    batch = pa.record_batch({"a": [1, None], "b": ["x", "y"]})
    for kind, value in ((pa.RecordBatch, batch), (pa.Table, pa.table(batch))):
        wire = wire_of(kind)
        back = wire.decode(wire.encode(value))
        assert type(back) is kind
        assert back.equals(value)


def test_an_array_is_not_a_batch() -> None:
    with pytest.raises(msgspec.ValidationError, match="Expected `RecordBatch`, got `ndarray`"):
        wire_of(pa.RecordBatch).decode(encode_plain(np.arange(3)))
    with pytest.raises(msgspec.ValidationError):
        wire_of(np.ndarray).decode(encode_plain([1, 2]))


def test_nothing_is_pickled() -> None:
    hidden = np.array([object()], dtype=object)
    with pytest.raises(Exception, match="Python objects"):
        encode_plain(hidden)

    class Trap:
        def __reduce__(self) -> Any:
            raise AssertionError("pickled")

    with pytest.raises(TypeError, match="no type that travels"):
        encode_plain(Trap())


def test_an_array_of_objects_is_refused_when_it_comes_in() -> None:
    head = msgspec.msgpack.encode(("|O", (1,)))
    data = msgspec.msgpack.Ext(1, len(head).to_bytes(4, "little") + head + bytes(16))
    with pytest.raises(Exception, match=r"Python objects|cannot create an OBJECT"):
        decode_plain(msgspec.msgpack.encode(data))


json_like = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_like)
def test_plain_values(value: Any) -> None:
    assert decode_plain(encode_plain(value)) == value


@given(st.binary(max_size=200))
def test_noise_is_refused_by_errors_of_its_own(data: bytes) -> None:
    for kind in (Order, tuple[int, np.ndarray], Any):
        with contextlib.suppress(SerializationError, ValueError, TypeError, OSError):
            wire_of(kind).decode(data)


# --- opaque


class Secret:
    def __init__(self, text: str) -> None:
        self.text = text


class Other:
    pass


def test_opaque_values_travel_by_their_codec() -> None:
    with pytest.raises(ArgumentTypeError, match="has no codec: call register_codec"):

        class Early(RpcGateway):
            def take(self, secret: Annotated[Secret, Opaque]) -> Future[str]: ...

    register_codec(Secret, lambda secret: secret.text.encode(), lambda data: Secret(data.decode()))
    with pytest.raises(ArgumentTypeError, match=r"write Annotated\[Secret, Opaque\]"):

        class Unmarked(RpcGateway):
            def take(self, secret: Secret) -> Future[str]: ...

    class Vault(RpcGateway):
        def take(self, secret: Annotated[Secret, Opaque]) -> Future[Annotated[Secret, Opaque]]: ...
        def plain(self, anything: Any) -> Future[str]: ...

    class VaultEndpoint(RpcEndpoint, Vault):
        def take(self, secret: Any) -> Any:
            return Secret(secret.text.upper())

        def plain(self, anything: Any) -> Any:
            return "never"

    with RpcService("vault", force_serialization=True) as service:
        vault = VaultEndpoint(service, "vault")
        vault.start()
        gateway: Any = vault.get_self_gateway(Vault)
        assert gateway.take(Secret("abc")).result(SOON).text == "ABC"
        with pytest.raises(Exception, match="cannot be sent"):
            gateway.plain(Secret("abc"))

    opaque = schema_of(Vault).procedures["take"].encode_arguments((Secret("x"),))
    with pytest.raises(Exception, match="extension type 4"):
        schema_of(Vault).procedures["plain"].decode_arguments(opaque)


def test_codecs_are_checked() -> None:
    with pytest.raises(ArgumentTypeError, match="a class and two functions"):
        register_codec("Secret", bytes, bytes)  # type: ignore[arg-type]
    register_codec(Secret, pickle.dumps, pickle.loads, name="one")
    with pytest.raises(IllegalArgumentError, match="'one' already"):
        register_codec(Other, pickle.dumps, pickle.loads, name="one")


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (object, "object is no type that travels"),
        (list[set[object]], "object is no type"),
        (type, "type is no type"),
        (np.float64, "float64 is no type"),
        (Future[int], "Future is no type"),
    ],
    ids=str,
)
def test_types_that_do_not_travel(kind: Any, reason: str) -> None:
    assert reason in (why_not(kind) or "")


def test_the_field_that_cannot_travel_is_named() -> None:
    @dataclass
    class Inner:
        handle: object

    @dataclass
    class Outer:
        inner: Inner

    Inner.__annotations__["handle"] = object
    Outer.__annotations__["inner"] = Inner
    assert "Outer.inner cannot: its field" in (why_not(Outer) or "")


@dataclass
class Started:
    at: int


@dataclass
class Ended:
    at: int
    why: str | None = None


ALIKE: list[tuple[Any, Any]] = [
    (Started | Ended, Started(3)),
    (Started | Ended, Ended(3)),
    (Started | Ended | None, None),
    (list[Started | Ended], [Ended(1), Started(2)]),
    (dict[str, Started | Ended], {"a": Ended(1)}),
    (tuple[int, Started | Ended], (1, Started(1))),
    (tuple[Started | Ended, ...], (Started(1), Ended(2))),
    (set[str | uuid.UUID], {"a", uuid.UUID(int=1)}),
    (frozenset[str | uuid.UUID], frozenset({"a", uuid.UUID(int=1)})),
    (dt.datetime | str, dt.datetime(2026, 1, 1)),
    (dt.datetime | str, "2026-01-01T00:00:00"),
    (list[int] | tuple[int, ...] | set[int], {1, 2}),
    (list[Started | Ended] | dict[str, int], [Ended(2)]),
    (Annotated[Secret, Opaque] | None, None),
    (np.ndarray | int, 3),
    (float | str | dt.date, 3),
]


def shown(part: Any) -> str:
    """The same text in every process, whatever the order of a set in it."""
    return type(part).__name__ if isinstance(part, set | frozenset) else str(part)[:50]


@pytest.mark.parametrize(("kind", "value"), ALIKE, ids=shown)
def test_members_that_look_alike_are_told_apart(kind: Any, value: Any) -> None:
    register_codec(Secret, lambda secret: secret.text.encode(), lambda data: Secret(data.decode()))
    wire = wire_of(kind)
    back = wire.decode(wire.encode(value))
    assert back == value
    assert type(back) is type(value) or value == 3


def test_what_is_of_no_member_is_refused() -> None:
    wire = wire_of(Started | Ended)
    with pytest.raises(TypeError, match="Expected one of Started, Ended, got int"):
        wire.encode(3)
    with pytest.raises(msgspec.ValidationError, match="got number 7"):
        wire.decode(encode_plain((7, None)))


def test_a_union_that_cannot_be_told_apart_names_its_parameter() -> None:
    with pytest.raises(ArgumentTypeError, match=r"parameter 'what' of Unclear\.take"):

        class Unclear(RpcGateway):
            def take(self, what: list[int] | list[str]) -> Future[int]: ...


def test_futures_are_typed() -> None:
    assert RpcFuture[int].__origin__ is RpcFuture  # type: ignore[attr-defined]
