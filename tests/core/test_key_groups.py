"""Key groups of single keys: golden values from a Java 17 and from the facts, and the model."""

import datetime
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish._core.keys.key_groups import MissingKeyError, assign_to_key_group, java_hash, murmur
from flinkish.common import Row
from tests.models import key_groups as model

UTC = datetime.timezone.utc
NAN = float("nan")
INFINITY = float("inf")

# What hashCode returns in Java: Integer and Long by the rule for untyped ints, Double, Boolean,
# String, Arrays.hashCode, LocalDate, Instant, BigDecimal.
UNTYPED = [
    *[(0, 0), (1, 1), (-1, -1), (42, 42), (2**31 - 1, 2**31 - 1), (-(2**31), -(2**31))],
    *[(2**31, -(2**31)), (-(2**31) - 1, -(2**31)), (2**40, 256), (-(2**40), -256)],
    *[(2**63 - 1, -(2**31)), (-(2**63), -(2**31)), (1234567890123456789, 1825280481)],
    *[(True, 1231), (False, 1237)],
    *[(0.0, 0), (-0.0, -2147483648), (1.0, 1072693248), (-1.0, -1074790400)],
    *[(0.1, -1507852285), (3.141592653589793, 340593891), (1e308, -100006829)],
    *[(-1e-308, -132196348), (4.9e-324, 1), (NAN, 2146959360), (123456789.125, 354250548)],
    *[(INFINITY, 2146435072), (-INFINITY, -1048576)],
    *[("", 0), ("a", 97), ("hello", 99162322), ("N14228", -2015042201), ("\0", 0)],
    *[("café", 3045921), ("€ uro", -864535554), ("你好，世界", -1963012411)],  # noqa: RUF001
    *[("😀", 1772899), ("a😀b𐀀", -239248418), ("\ud83d", 55357)],
    ("polygenelubricants", -2147483648),
    ("The quick brown fox jumps over the lazy dog", -609428141),
    *[(b"", 1), (b"\0", 31), (b"\xff", 30), (b"\1\2\3", 30817), (b"hello", 127791473)],
    (b"\x80\x7f\0\5", -2767675),
    *[(datetime.date(1970, 1, 1), 4034625), (datetime.date(2024, 2, 29), 4145309)],
    *[(datetime.date(1969, 12, 31), 4033311), (datetime.date(1, 1, 1), 2113)],
    *[(datetime.date(9999, 12, 31), 20470559), (datetime.date(1582, 10, 15), 3240591)],
    (datetime.datetime(1970, 1, 1, tzinfo=UTC), 0),
    (datetime.datetime(2024, 2, 29, 12, 34, 56, 789012, UTC), -1000850864),
    (datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), -539658552),
    (datetime.datetime(1, 1, 1, tzinfo=UTC), 2006054641),
    (datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, UTC), -540428275),
    (datetime.datetime(2040, 1, 1, tzinfo=UTC), -2085978496),
    *[(Decimal("0"), 0), (Decimal("0.00"), 2), (Decimal("1"), 31), (Decimal("-1"), -31)],
    *[(Decimal("1.5"), 466), (Decimal("1.50"), 4652), (Decimal("-1.50"), -4648)],
    *[(Decimal("-0.5"), -154), (Decimal("1E+3"), 28), (Decimal(2**63 - 1), 2147482656)],
    *[(Decimal(-(2**63)), -2147483648), (Decimal(2**63), -2147483648)],
    (Decimal("12345678901234567890"), -1584216582),
    (Decimal("-12345678901234567890.123"), -647166411),
    (Decimal("9" * 38), -427198386),
]
TYPED = [
    *[(0, "long", 0), (1, "long", 1), (-1, "long", 0), (-42, "long", 41), (42, "long", 42)],
    *[(2**31 - 1, "long", 2**31 - 1), (-(2**31), "long", 2**31 - 1), (-1, "bigint", 0)],
    *[(-1, "int", -1), (-42, "integer", -42), (-7, "smallint", -7), (-7, "byte", -7)],
    *[(0.0, "float", 0), (-0.0, "float", -(2**31)), (1.0, "float", 1065353216)],
    *[(-1.5, "float", -1077936128), (0.1, "float", 1036831949), (NAN, "float", 2143289344)],
    *[(INFINITY, "float", 2139095040), (1.4e-45, "float", 1), (3.4028235e38, "float", 2139095039)],
    *[(1, "double", 1072693248), (1, "float", 1065353216)],
    (Decimal("1.50"), "decimal(10,2)", 4652),
]


@pytest.mark.parametrize(("key", "code"), UNTYPED, ids=repr)
def test_hash_is_that_of_java(key: object, code: int) -> None:
    assert java_hash(key) == code


@pytest.mark.parametrize(("key", "key_type", "code"), TYPED, ids=repr)
def test_a_type_decides_where_python_leaves_it_open(key: object, key_type: str, code: int) -> None:
    assert java_hash(key, key_type) == code


def test_long_and_integer_differ_for_negative_numbers_only() -> None:
    numbers = [-(2**31), -42, -1, 0, 1, 42, 2**31 - 1]
    same = [java_hash(n, "int") == java_hash(n, "long") for n in numbers]
    assert same == [n >= 0 for n in numbers]


def test_golden_murmur() -> None:
    """B.20"""
    assert [murmur(code) for code in (0, 1, 42, -1)] == [
        593689054, 68075478, 1134849565, 1982413648,
    ]  # fmt: skip
    assert murmur(-(2**31)) == model.murmur(-(2**31))


def test_golden_key_groups() -> None:
    """B.20, with a maximum parallelism of 128."""
    numbers = {0: 94, 1: 86, 2: 127, 3: 113, 42: 29, -1: 80, 1000: 7}
    numbers |= {2**31 - 1: 62, -(2**31): 108}
    texts = {"": 94, "a": 81, "b": 22, "key": 72, "hello": 35, "ciao": 31}
    for key, group in (numbers | texts).items():
        assert assign_to_key_group(key, 128) == group


@given(st.integers(-(2**31), 2**31 - 1), st.integers(1, 32768))
def test_murmur_and_modulo_are_those_of_the_model(code: int, max_parallelism: int) -> None:
    assert murmur(code) == model.murmur(code)
    assert assign_to_key_group(code, max_parallelism) == model.murmur(code) % max_parallelism


TIMES = st.datetimes(timezones=st.none() | st.timezones())
PLAIN = {
    "bool": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32),
    "double": st.floats(),
    "str": st.text(st.characters(exclude_categories=[])),
    "bytes": st.binary(max_size=40),
    "date": st.dates(),
    "timestamp": TIMES,
    "decimal": st.decimals(allow_nan=False, allow_infinity=False),
}


@given(st.data(), st.sampled_from(sorted(PLAIN)))
def test_hash_is_that_of_the_model(data: st.DataObject, java: str) -> None:
    key = data.draw(PLAIN[java])
    assert java_hash(key, java) == model.java_hash(key, java)


@given(st.data(), st.lists(st.sampled_from(sorted(PLAIN)), max_size=4))
def test_tuples_hash_field_by_field(data: st.DataObject, types: list[str]) -> None:
    key = tuple(data.draw(PLAIN[java]) for java in types)
    code = model.java_hash(key, tuple(types))
    assert java_hash(key, types) == code
    assert java_hash(Row(*key), tuple(types)) == code
    nested = 31 * model.java_hash(1, "int") + code
    assert java_hash((1, key), ["int", types]) == model.signed(nested)


def test_golden_tuples() -> None:
    """Flink's Tuple2("a", 1): 31 * 97 + 1; a Tuple1 hashes as its field, a Tuple0 as 0."""
    assert java_hash(("a", 1)) == 3008
    assert java_hash(("a", ("a", 1), -1)) == 31 * (31 * 97 + 3008) - 1
    assert java_hash(("a",)) == java_hash("a")
    assert java_hash(()) == 0
    assert java_hash(Row(name="a", number=1)) == 3008


def test_what_is_equal_to_a_plain_key_hashes_like_it() -> None:
    class Name(str):
        pass

    class Point(tuple[int, int]):
        pass

    assert java_hash(Name("hello")) == java_hash("hello")
    assert java_hash(Point((1, 2))) == java_hash((1, 2))
    assert java_hash(bytearray(b"hello")) == java_hash(b"hello")
    for number in (np.int8(-1), np.int64(-1), np.int64(2**40), np.uint64(7)):
        assert java_hash(number) == java_hash(int(number))
    assert java_hash(np.float64(0.1)) == java_hash(0.1)
    assert java_hash(np.float32(0.1), "float") == java_hash(0.1, "float")
    assert java_hash(np.bool_(True)) == 1231
    assert java_hash(np.str_("hello")) == 99162322


def test_zones_do_not_change_the_moment() -> None:
    moment = datetime.datetime(2024, 2, 29, 12, 34, 56, 789012, UTC)
    east = datetime.timezone(datetime.timedelta(hours=5, minutes=45, microseconds=800000))
    assert java_hash(moment.astimezone(east)) == java_hash(moment) == -1000850864
    assert java_hash(moment.replace(tzinfo=None)) == -1000850864


@pytest.mark.parametrize(
    ("key", "inside"),
    [(None, ""), ((1, None), "inside"), (("a", (None,)), "inside"), (Row(None), "inside")],
)
def test_null_keys_are_refused(key: object, inside: str) -> None:
    """B.21"""
    with pytest.raises(MissingKeyError, match="Assigned key must not be null") as caught:
        assign_to_key_group(key, 128)
    assert inside in str(caught.value)
    assert (caught.value.column, caught.value.row, caught.value.count) == (None, None, 1)


def test_nat_is_a_null_key() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(MissingKeyError):
        assign_to_key_group(pandas.NaT, 128)
    late = pandas.Timestamp("2024-02-29T12:34:56.789012345Z")
    assert java_hash(late) == -1000833269


@pytest.mark.parametrize(
    "key",
    [
        *[[1], {"a": 1}, {1}, frozenset([1]), (1, [2]), 1j, object(), range, np.array([1]), len],
        *[datetime.time(1), datetime.timedelta(1), np.datetime64(1, "ns"), iter([1])],
    ],
    ids=lambda key: type(key).__name__,
)
def test_keys_without_a_hash_are_refused(key: object) -> None:
    field = key[1] if isinstance(key, tuple) else key
    with pytest.raises(TypeError, match=rf"type {type(field).__name__} has no Java hash.*allowed"):
        assign_to_key_group(key, 128)


@pytest.mark.parametrize(
    ("key", "key_type"),
    [
        *[("1", "int"), (1, "str"), (1.5, "long"), (True, "int"), (1, "bool"), (b"1", "str")],
        *[("1", "bytes"), (datetime.date(2024, 1, 1), "timestamp"), ((1,), "int"), (1, ["int"])],
        *[(datetime.datetime(2024, 1, 1), "date"), (1.5, "decimal"), (Row(1), "int")],
        *[(bytearray(1), "int"), (Decimal(1), "double"), (1, "timestamp"), ("a", "date")],
    ],
)
def test_keys_that_contradict_their_type_are_refused(key: object, key_type: object) -> None:
    with pytest.raises(TypeError, match=rf"of type {type(key).__name__}, but its key type is"):
        java_hash(key, key_type)


@pytest.mark.parametrize(
    ("key", "key_type", "message"),
    [
        (2**31, "int", "does not fit the key type 'int' .*use 'long'"),
        (2**63, "long", "does not fit a Java long"),
        (-(2**63) - 1, None, "does not fit a Java long"),
        (np.uint64(2**63), None, "does not fit a Java long"),
        (1, "complex", "unknown key type 'complex'; known are"),
        (1, 5, "unknown key type 5; known are"),
        ((1, 2), ["int"], "has 2 fields, but its key type .* has 1"),
        (Decimal("NaN"), None, "only finite numbers"),
        (Decimal("-Infinity"), None, "only finite numbers"),
    ],
)
def test_bad_values_are_named(key: object, key_type: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        java_hash(key, key_type)


@pytest.mark.parametrize("bad", [0, -1, 32769, 2**70, 1.5, None, "128", True])
def test_max_parallelism_is_checked(bad: object) -> None:
    """B.22"""
    with pytest.raises(ValueError, match=r"max_parallelism is .* from 1 to 32768"):
        assign_to_key_group("a", bad)
    with pytest.raises(ValueError, match=r"max_parallelism is .* from 1 to 32768"):
        assign_to_key_group("a", max_parallelism=bad)
    assert assign_to_key_group("a", np.int64(128)) == 81
