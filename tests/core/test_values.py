"""Values as tagged bytes: what goes in comes out, and equal keys are equal bytes."""

import contextlib
import datetime
import decimal
import enum
import math
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish._core.testing.state import decode, encode, hash_of
from flinkish._core.values.row import Row
from flinkish._core.values.values import pack_key
from tests.core.specimens import KEYS, UTC, VALUES

scalars = (
    st.booleans()
    | st.integers()
    | st.integers(-(2**64), 2**64)
    | st.floats()
    | st.text()
    | st.binary()
    | st.dates()
    | st.datetimes().map(lambda moment: moment.replace(fold=0))
    | st.datetimes(timezones=st.just(UTC)).map(lambda moment: moment.replace(fold=0))
    | st.decimals(allow_nan=False)
)
keys = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=8)


def same(one: Any, other: Any) -> bool:
    """Equal in type too, NaN and signed zero included; a decimal is equal to its own digits."""
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, decimal.Decimal):
        return bool(one == other)
    if isinstance(one, float) and math.isnan(one):
        return math.isnan(other)
    return repr(one) == repr(other)


@given(keys)
def test_a_key_comes_back(key: Any) -> None:
    tag, data = encode(key, as_key=True)
    assert same(key, decode(tag, data))
    assert same(key, decode(tag, data, part="key"))
    assert decode(tag, data, part="namespace") is None
    assert pack_key(key) == bytes([tag]) + data


@given(keys, keys)
def test_a_scoped_key_comes_back_in_two_parts(key: Any, namespace: Any) -> None:
    tag, data = encode(key, namespace=namespace)
    assert same(key, decode(tag, data, part="key"))
    assert same(namespace, decode(tag, data, part="namespace"))
    assert (tag, data) != encode((key, namespace), as_key=True)


@given(keys, keys)
def test_keys_have_equal_bytes_if_and_only_if_they_are_the_same(one: Any, other: Any) -> None:
    assert (encode(one, as_key=True) == encode(other, as_key=True)) == same(one, other)


def test_no_two_specimens_are_one_key() -> None:
    assert len({encode(key, as_key=True) for key in KEYS}) == len(KEYS)
    # Good hashes, too: 23 keys in 32 bits collide once in 17 million seeds.
    assert len({hash_of(*encode(key, as_key=True)) for key in KEYS}) == len(KEYS)


@pytest.mark.parametrize("value", [*VALUES, None, [None], {1: {2}}, Row(a=1), decimal.Decimal(1)])
def test_a_value_comes_back(value: Any) -> None:
    assert repr(decode(*encode(value))) == repr(value)


PICKLE = 13  # what it raises is up to it
TWO_HOURS_EAST = datetime.timezone(datetime.timedelta(hours=2))
Point = namedtuple("Point", "x y")


class Colour(enum.IntEnum):
    RED = 1


class Name(str):
    pass


@pytest.mark.parametrize("value", [Point(1, 2), Colour.RED, Name("n"), np.int64(3), (1, 2)])
def test_a_value_keeps_its_exact_type(value: Any) -> None:
    assert type(decode(*encode(value))) is type(value)


@pytest.mark.parametrize(
    ("key", "plain"),
    [
        (Colour.RED, 1),
        (Name("n"), "n"),
        (np.int32(7), 7),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.float64(0.5), 0.5),
        (np.str_("s"), "s"),
        (bytearray(b"ab"), b"ab"),
        (memoryview(b"ab"), b"ab"),
        (Point(1, 2), (1, 2)),
        (Row(1, "b"), (1, "b")),
        (decimal.Decimal("1.50"), decimal.Decimal("1.5")),
        (decimal.Decimal("-0.00"), decimal.Decimal(0)),
        (decimal.Decimal("1E+3"), decimal.Decimal(1000)),
        (
            datetime.datetime(
                2024, 1, 1, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=2))
            ),
            datetime.datetime(2024, 1, 1, 10, tzinfo=UTC),
        ),
        (-float("nan"), float("nan")),
    ],
)
def test_keys_that_say_the_same_are_the_same(key: Any, plain: Any) -> None:
    assert encode(key, as_key=True) == encode(plain, as_key=True)


def test_a_decimal_key_is_not_rounded() -> None:
    """Spark's decimals have up to 38 digits, Python's default context 28."""
    one, other = (decimal.Decimal(10**37 + last) for last in (1, 2))
    assert encode(one, as_key=True) != encode(other, as_key=True)
    assert decode(*encode(one, as_key=True)) == one


@pytest.mark.parametrize("key", [None, (1, None), [1], {1: 2}, object(), 1j, {3}])
def test_what_has_no_canonical_form_is_no_key(key: Any) -> None:
    with pytest.raises(TypeError, match="key"):
        encode(key, as_key=True)


def test_text_that_is_no_text_is_no_key() -> None:
    with pytest.raises(UnicodeEncodeError):
        encode("\ud800", as_key=True)


def test_tuples_in_tuples_end_before_the_stack_does() -> None:
    key: Any = ()
    for _ in range(100_000):
        key = (key,)
    with pytest.raises(RecursionError):
        encode(key, as_key=True)
    data = b""
    for _ in range(20_000):
        data = bytes([12]) + len(data).to_bytes(4, "little") + data
    with pytest.raises(RecursionError):
        decode(12, data)
    while type(key) is tuple and key:  # or freeing it would take the stack
        key = key[0]


@pytest.mark.parametrize("tag", [*(tag for tag in range(1, 16) if tag != PICKLE), 99])
@pytest.mark.parametrize("size", [0, 1, 3, 7, 8, 9, 40])
@pytest.mark.parametrize("fill", [0, 1, 0x80, 0xFF])
def test_bytes_that_are_no_value_are_refused_or_read(tag: int, size: int, fill: int) -> None:
    """Whatever the bytes, no more of them is read than there is (run under a sanitizer)."""
    for part in (None, "key", "namespace"):
        with contextlib.suppress(ValueError, OverflowError, ArithmeticError):
            decode(tag, bytes([fill]) * size, part=part)


@pytest.mark.parametrize(("tag", "size"), [(2, 0), (3, 7), (5, 9), (8, 0), (14, 8), (1, 1)])
def test_a_size_that_does_not_fit_is_named(tag: int, size: int) -> None:
    with pytest.raises(ValueError, match=f"tag {tag} and {size} bytes"):
        decode(tag, bytes(size))
