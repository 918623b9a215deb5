"""Arguments and results between processes: the same value, or a refusal by the caller."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.common.errors import FencingTokenError, RpcError, SerializationError
from flinkish.rpc import (
    FencedRpcEndpoint,
    FencedRpcGateway,
    RpcEndpoint,
    RpcGateway,
    RpcService,
    ask,
    tell,
)
from flinkish.rpc.wire import wire_of

from .rig import SOON

SECRET = "a secret of the tests"


class Colour(Enum):
    RED = 1


@dataclass
class Reading:
    sensor: str
    value: float = 0.0
    more: Any = None


class EchoGateway(RpcGateway):
    @ask
    def any(self, thing: Any) -> Any: ...

    @ask
    def bare(self, things: list, names: dict) -> dict: ...  # type: ignore[type-arg]

    @ask
    def typed(self, key: str, numbers: list[int], reading: Reading, when: dt.datetime) -> int: ...

    @tell
    def told(self, number: int, unit: uuid.UUID) -> None: ...

    @ask
    def array(self, values: np.ndarray) -> int: ...


class Echo(RpcEndpoint, EchoGateway):
    def any(self, thing: Any) -> Any:
        return {} if thing == "dataclass" else thing if thing != "reading" else Reading("a")

    def bare(self, things: list, names: dict) -> dict:  # type: ignore[type-arg]
        return {"things": things, **names}

    def typed(self, key: str, numbers: list[int], reading: Reading, when: dt.datetime) -> int:
        return len(numbers)

    def told(self, number: int, unit: uuid.UUID) -> None: ...

    def array(self, values: np.ndarray) -> int:
        return len(values)


@pytest.fixture(scope="module")
def gateway() -> Iterator[EchoGateway]:
    with (
        RpcService("near", secret=SECRET) as near,
        RpcService("far", host="127.0.0.1", secret=SECRET) as far,
    ):
        echo = Echo(far, "echo")
        echo.start()
        yield near.connect(echo.address, EchoGateway).result(SOON)


PLAIN = [
    dt.datetime(2024, 3, 31, 2, 30, fold=1),
    dt.datetime(1, 1, 1),
    dt.datetime.max,
    dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc),
    dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=-3, minutes=30))),
    dt.date(2024, 2, 29),
    dt.time(23, 59, 59, 999_999),
    dt.time(1, 2, tzinfo=dt.timezone.utc),
    dt.timedelta(days=-3, microseconds=1),
    dt.timedelta.max,
    {1, 2, 3},
    frozenset({"a", b"b", None}),
    {dt.date(2024, 1, 1), (1, 2)},
    (1, (2.5, [3, (4,)])),
    {"when": dt.time(1), 7: {"x"}, b"k": None},
    Decimal("1.00"),
    uuid.UUID(int=7),
    bytearray(b"x"),
    complex(1, -2),
    2**64,
    -(2**70),
    2**64 - 1,
    True,
    1.0,
    -0.0,
    "text",
    b"bytes",
    None,
    [],
    {},
    set(),
    (),
]


@pytest.mark.parametrize("value", PLAIN)
def test_any_comes_back_as_it_was(gateway: EchoGateway, value: Any) -> None:
    for sent in (value, [value], {"key": [value]}):
        back = gateway.any(sent).result(SOON)
        assert (type(back), back) == (type(sent), sent)
        assert repr(back) == repr(sent) or isinstance(value, (set, frozenset))
    back = gateway.bare([value], {"key": value}).result(SOON)
    assert back == {"things": [value], "key": value}
    assert [type(part) for part in back["things"]] == [type(value)]


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.text(max_size=3)
        | st.dates()
        | st.times()
        | st.datetimes()
        | st.timedeltas()
        | st.decimals(allow_nan=False)
        | st.uuids(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.lists(inner, max_size=3).map(tuple)
            | st.dictionaries(st.text(max_size=2) | st.integers(-9, 9), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_any_value_of_any(value: Any) -> None:
    wire = wire_of(Any)
    back = wire.decode(wire.encode(value))
    assert back == value
    assert repr(back) == repr(value)


@pytest.mark.parametrize(
    "value",
    [
        *(Reading("a"), Colour.RED, object(), [Colour.RED], {(1, 2): 3}, {dt.date(2024, 1, 1): 1}),
        dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(seconds=30))),
        range(3),
        type("Text", (str,), {})("x"),
    ],
)
def test_what_would_come_as_another_is_refused(gateway: EchoGateway, value: Any) -> None:
    with pytest.raises(SerializationError, match=r"EchoGateway\.any cannot be sent"):
        gateway.any(value)


def test_a_result_of_any_is_refused_as_well(gateway: EchoGateway) -> None:
    error = gateway.any("reading").exception(SOON)
    assert isinstance(error, RpcError)
    assert "declare its type" in str(error)


def test_a_field_of_any_in_a_record(gateway: EchoGateway) -> None:
    now = dt.datetime(2024, 1, 1)
    assert gateway.typed("k", [], Reading("a", 1.0, [1, "x", {"y": None}]), now).result(SOON) == 0
    for lost in (now, {1}, (1,), [{"x": now.date()}], Colour.RED):
        with pytest.raises(SerializationError, match=r"parameter 'reading' holds .* where Any"):
            gateway.typed("k", [], Reading("a", 1.0, lost), now)


@pytest.mark.parametrize(
    ("wrong", "name", "why"),
    [
        ({"key": 3}, "key", "`str`, got `int`"),
        ({"numbers": ["a"]}, "numbers", r"`int`, got `str`\[\.\.\.\]|\[0\]"),
        ({"numbers": None}, "numbers", "`array`, got"),
        ({"reading": {"value": "x", "sensor": "a"}}, "reading", "value"),
        ({"when": "2024-01-01T00:00:00"}, "when", "`datetime`"),
        ({"when": 7}, "when", "`datetime`"),
    ],
)
def test_a_wrong_argument_is_refused_by_the_caller(
    gateway: EchoGateway, wrong: dict[str, Any], name: str, why: str
) -> None:
    right = {"key": "k", "numbers": [1], "reading": Reading("a"), "when": dt.datetime(2024, 1, 1)}
    assert gateway.typed(**right).result(SOON) == 1  # type: ignore[arg-type]
    with pytest.raises(SerializationError, match=f"parameter '{name}' is .*(?:{why})"):
        gateway.typed(**right | wrong)  # type: ignore[arg-type]


def test_a_wrong_argument_of_a_tell_is_refused_as_well(gateway: EchoGateway) -> None:
    """Nobody would hear of it."""
    gateway.told(1, uuid.UUID(int=1))
    for number, unit, name in (
        (True, uuid.UUID(int=1), "number"),
        (1.0, uuid.UUID(int=1), "number"),
        (1, str(uuid.UUID(int=1)), "unit"),
    ):
        with pytest.raises(SerializationError, match=f"parameter '{name}' is "):
            gateway.told(number, unit)  # type: ignore[arg-type]
    with pytest.raises(SerializationError, match="parameter 'values' is "):
        gateway.array([1.0])  # type: ignore[arg-type]
    assert gateway.array(np.ones(3)).result(SOON) == 3


class LeaderGateway(FencedRpcGateway[Any]):
    @ask
    def lead(self) -> bool: ...


class Leader(FencedRpcEndpoint, LeaderGateway):
    def lead(self) -> bool:
        return True


ID = uuid.UUID(int=7)
TOKENS: list[Any] = [
    *(1, True, 1.0, "1", b"1", 2**70, str(2**70), ID, str(ID), (1, 2), [1, 2], (1, True)),
    *(Decimal(1), Decimal("1.0"), dt.date(2024, 1, 1), "2024-01-01", -0.0, 0.0),
]


def test_tokens_are_the_same_here_and_far_away() -> None:
    """1 and True were the same token within a process, a UUID and its text between two."""
    with (
        RpcService("near", secret=SECRET) as near,
        RpcService("far", host="127.0.0.1", secret=SECRET) as far,
    ):
        for number, own in enumerate(TOKENS):
            leader = Leader(far, f"leader-{number}", own)
            leader.start()
            for held in TOKENS:
                same = repr(own) == repr(held)
                for service in (far, near):
                    asked = service.connect(leader.address, LeaderGateway, held).result(SOON)
                    error = asked.lead().exception(SOON)
                    assert (error is None) == same, (own, held, service)
                    assert error is None or isinstance(error, FencingTokenError)
            leader.close_async().result(SOON)


def test_the_text_of_a_remote_error_has_its_class(gateway: EchoGateway) -> None:
    class Odd(Exception):
        pass

    from flinkish.rpc.remote_errors import encode_error, remote_error

    made = remote_error(encode_error(Odd("why")), "m")
    assert str(made).endswith("Odd: why")
    assert "test_arguments" in str(made)
    again = remote_error(encode_error(made), "m")
    assert str(again) == str(made), "passed on, it has it once"
    assert str(remote_error(encode_error(KeyError("k")), "m")) == "KeyError: 'k'"
