"""Types: what they accept, how they show, and their values on the way to columns and back."""

import array
import datetime
import pickle
from decimal import Decimal
from typing import Any

import numpy
import pytest

from flinkish.common import Instant, Row, Types
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.typeinfo import (
    DecimalTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    as_type_information,
)

UTC = datetime.timezone.utc
NOON = datetime.datetime(2024, 5, 1, 12, 0, 0, 123456)
PAIR = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])

# type, its name in Spark's DDL, values that pass, values that do not
TYPES: list[tuple[TypeInformation, str, list[Any], list[Any]]] = [
    (Types.STRING(), "string", ["", "a", numpy.str_("b")], [b"a", 1]),
    (Types.BYTE(), "tinyint", [-128, 127, numpy.int8(5)], [128, -129, True, 1.0, "1"]),
    (Types.SHORT(), "smallint", [-32768, 32767], [32768, numpy.bool_(True)]),
    (Types.INT(), "int", [-(2**31), 2**31 - 1, numpy.int64(7)], [2**31, 0.0]),
    (Types.LONG(), "bigint", [-(2**63), 2**63 - 1], [2**63, numpy.float64(1)]),
    (Types.BOOLEAN(), "boolean", [True, numpy.bool_(False)], [0, "true"]),
    (Types.FLOAT(), "float", [1.5, 0, float("nan"), numpy.float32(1)], [True, "1.5"]),
    (Types.DOUBLE(), "double", [1.5, -3, numpy.int32(1)], [Decimal("1.5"), 1j]),
    (Types.CHAR(), "string", ["a", "é"], ["", "ab", 97]),
    (Types.BIG_INT(), "string", [10**40, -5], [1.0, False]),
    (Types.BIG_DEC(), "string", [Decimal("1.5"), Decimal("1e-40")], [1, Decimal("NaN")]),
    (DecimalTypeInfo(4, 2), "decimal(4,2)", [Decimal("99.99")], [Decimal("100"), Decimal("1.234")]),
    (Types.INSTANT(), "timestamp", [Instant(1, 2)], [NOON, 5]),
    (Types.SQL_DATE(), "date", [NOON.date()], [NOON, "2024-05-01"]),
    (Types.SQL_TIME(), "time(6)", [NOON.time()], [NOON, datetime.time(1, tzinfo=UTC)]),
    (Types.SQL_TIMESTAMP(), "timestamp", [NOON, NOON.replace(tzinfo=UTC)], [NOON.date(), 5]),
    (TimestampTypeInfo(True), "timestamp_ntz", [NOON], [NOON.replace(tzinfo=UTC)]),
    (Types.PICKLED_BYTE_ARRAY(), "binary", [object(), 5], []),
    (Types.LIST(Types.INT()), "array<int>", [[], [1, None], (1,), numpy.arange(3)], ["ab", [1.5]]),
    (Types.BASIC_ARRAY(Types.STRING()), "array<string>", [["a", None]], [[1], {"a"}]),
    (Types.OBJECT_ARRAY(Types.SQL_DATE()), "array<date>", [[NOON.date()]], [[NOON]]),
    (
        Types.PRIMITIVE_ARRAY(Types.LONG()),
        "array<bigint>",
        [[1], array.array("q", [1])],
        [[None], b"a"],
    ),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), "binary", [b"a", bytearray(b"a"), [-1]], [[200], "a"]),
    (
        Types.MAP(Types.STRING(), Types.INT()),
        "map<string,int>",
        [{}, {"a": 1, "b": None}],
        [{1: 1}, {"a": "b"}, {None: 1}, [("a", 1)]],
    ),
    (
        PAIR,
        "struct<id:bigint,name:string>",
        [(1, "a"), [1, None], Row(1, "a"), Row(name="a", id=1), {"id": 1, "name": "a"}],
        [(1,), ("a", 1), Row(id=1), {"id": 1}, {"id": 1, "name": "a", "x": 0}, "1a", 5],
    ),
    (
        Types.ROW([Types.LONG(), Types.STRING()]),
        "struct<f0:bigint,f1:string>",
        [(1, "a"), Row(1, "a"), Row(x=1, y="a"), {"f0": 1, "f1": "a"}],
        [(1, 2), {"x": 1, "y": "a"}],
    ),
    (
        Types.TUPLE([Types.LONG(), PAIR]),
        "struct<f0:bigint,f1:struct<id:bigint,name:string>>",
        [(1, (2, "a")), [1, None], Row(1, Row(2, "b"))],
        [(1,), {"f0": 1}, (1, 2), "ab"],
    ),
]
IDS = [str(kind) for kind, *_ in TYPES]


@pytest.mark.parametrize(("kind", "ddl", "good", "bad"), TYPES, ids=IDS)
def test_a_type(kind: TypeInformation, ddl: str, good: list[Any], bad: list[Any]) -> None:
    assert kind.to_ddl() == ddl
    assert kind.check(None) is None
    for value in good:
        assert kind.check(value) is None, value
    for value in bad:
        assert kind.check(value), value
    assert pickle.loads(pickle.dumps(kind)) == kind
    assert hash(pickle.loads(pickle.dumps(kind))) == hash(kind)
    assert [other for other, *_ in TYPES if other == kind] == [kind]
    # CPython before 3.12 stumbles over the slots of frozen dataclasses: a TypeError.
    with pytest.raises((AttributeError, TypeError)):
        kind.anything = 1  # type: ignore[attr-defined]
    assert kind.to_internal_type(None) is None
    assert kind.from_internal_type(None) is None


def test_names_are_pyflinks() -> None:
    assert str(Types.INT()) == "Integer"
    assert str(PAIR) == "RowTypeInfo(id: Long, name: String)"
    assert str(Types.ROW([Types.INT()])) == "RowTypeInfo(Integer)"
    assert str(Types.TUPLE([Types.INT(), Types.FLOAT()])) == "TupleTypeInfo(Integer, Float)"
    assert str(Types.LIST(Types.CHAR())) == "ListTypeInfo<Char>"
    assert str(Types.MAP(Types.STRING(), Types.BIG_INT())) == "MapTypeInfo<String, BigInteger>"
    assert str(Types.PRIMITIVE_ARRAY(Types.BYTE())) == "PrimitiveArrayTypeInfo<Byte>"
    assert str(Types.PICKLED_BYTE_ARRAY()) == "PickledByteArrayTypeInfo"


def test_the_text_of_an_error_leads_to_the_fault() -> None:
    kind = Types.MAP(Types.STRING(), Types.LIST(PAIR))
    error = kind.check({"k": [(1, "a"), (2**70, "b")]})
    assert error is not None
    assert error.startswith("value of key 'k': element 1: field id: ")
    assert error.endswith("does not fit the 64 bits of Long")
    long = Types.INT().check("x" * 1_000)
    assert long is not None
    assert len(long) < 150
    short = PAIR.check((1,))
    assert short is not None
    assert "2 fields: it has 1" in short


@pytest.mark.parametrize(
    ("kind", "value", "column"),
    [
        (Types.BIG_INT(), 5, "5"),
        (Types.BIG_DEC(), Decimal("3"), "3"),
        (Types.BIG_DEC(), Decimal("0.1234567890123456789012345"), "0.1234567890123456789012345"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\xff", b"\xff"),
        (Types.LIST(Types.BIG_INT()), [1, None], ["1", None]),
        (Types.MAP(Types.BIG_INT(), Types.INT()), {1: 2}, {"1": 2}),
        (PAIR, Row(id=1, name="a"), (1, "a")),
        (Types.TUPLE([PAIR, Types.INT()]), (Row(id=1, name="a"), 2), ((1, "a"), 2)),
        (Types.ROW([Types.INT()]), Row(1), (1,)),
        (
            Types.INSTANT(),
            Instant(1, 5_000),
            datetime.datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC),
        ),
        (
            Types.INSTANT(),
            Instant(-1, 999_999_000),
            datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        ),
    ],
    ids=repr,
)
def test_there_and_back(kind: TypeInformation, value: Any, column: Any) -> None:
    assert kind.check(value) is None
    assert kind.need_conversion()
    assert kind.to_internal_type(value) == column
    assert kind.from_internal_type(column) == value


def test_most_values_are_what_columns_hold() -> None:
    for kind in (Types.LONG(), Types.SQL_TIMESTAMP(), DecimalTypeInfo(38, 18)):
        assert not kind.need_conversion()
        assert not Types.LIST(kind).need_conversion()
        assert not Types.MAP(Types.STRING(), kind).need_conversion()
    assert Types.LIST(Types.LONG()).to_internal_type((1, 2)) == [1, 2]
    assert Types.PRIMITIVE_ARRAY(Types.LONG()).to_internal_type(array.array("q", [1])) == [1]
    assert Types.PRIMITIVE_ARRAY(Types.LONG()).from_internal_type((1,)) == [1]


@pytest.mark.parametrize(
    ("kind", "loose", "plain"),
    [
        (Types.LONG(), numpy.int64(7), 7),
        (Types.DOUBLE(), 3, 3.0),
        (Types.FLOAT(), numpy.float32(1.5), 1.5),
        (Types.BOOLEAN(), numpy.bool_(True), True),
        (Types.STRING(), numpy.str_("a"), "a"),
        (DecimalTypeInfo(38, 18), Decimal("1.5"), Decimal("1.5")),
        (Types.LIST(Types.INT()), numpy.arange(2), [0, 1]),
    ],
    ids=repr,
)
def test_loose_values_become_plain(kind: TypeInformation, loose: Any, plain: Any) -> None:
    assert kind.check(loose) is None
    found = kind.to_internal_type(loose)
    assert found == plain
    assert type(found) is type(plain)
    if isinstance(found, list):
        assert {type(item) for item in found} == {int}


@pytest.mark.parametrize(
    ("given", "text"), [(2, "2"), (numpy.float64(1.5), "1.5"), (Decimal("1E+3"), "1E+3")]
)
def test_a_decimal_of_another_number(given: Any, text: str) -> None:
    assert Types.BIG_DEC().to_internal_type(given) == text


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (Types.BIG_DEC(), "1.5"),
        (Types.BIG_DEC(), float("nan")),
        (Types.BIG_DEC(), True),
        (Types.BIG_INT(), 1.0),
        (Types.BIG_INT(), "1"),
    ],
    ids=repr,
)
def test_what_is_not_such_a_number(kind: TypeInformation, given: Any) -> None:
    with pytest.raises(IllegalArgumentError, match="is not a"):
        kind.to_internal_type(given)


def test_an_instant_comes_back_from_local_time_too() -> None:
    moment = datetime.datetime(2024, 5, 1, tzinfo=UTC)
    local = moment.astimezone().replace(tzinfo=None)
    assert Types.INSTANT().from_internal_type(local) == Instant(int(moment.timestamp()), 0)


def test_rows_go_to_columns_by_name() -> None:
    assert PAIR.to_internal_type(Row(name="a", id=1)) == (1, "a")
    assert PAIR.to_internal_type({"name": "a", "id": 1}) == (1, "a")
    with pytest.raises(IllegalArgumentError, match="its names differ"):
        PAIR.to_internal_type({"id": 1})


def test_pickled_objects_go_as_bytes() -> None:
    kind = Types.PICKLED_BYTE_ARRAY()
    assert kind.need_conversion()
    assert kind.from_internal_type(kind.to_internal_type({"a": [1]})) == {"a": [1]}


def test_bytes_from_signed_numbers() -> None:
    assert Types.PRIMITIVE_ARRAY(Types.BYTE()).to_internal_type([-1, 1]) == b"\xff\x01"


def test_fields_of_a_row() -> None:
    assert PAIR.get_field_names() == ["id", "name"]
    assert PAIR.get_field_types() == [Types.LONG(), Types.STRING()]
    assert (PAIR.get_field_index("name"), PAIR.get_field_index("x")) == (1, -1)
    assert Types.ROW([Types.INT()]).get_field_names() == ["f0"]
    assert Types.TUPLE([Types.INT()]).get_field_types() == [Types.INT()]


def test_names_make_a_difference() -> None:
    types = [Types.LONG(), Types.STRING()]
    assert Types.ROW(types) != PAIR
    assert Types.ROW_NAMED(["id", "label"], types) != PAIR
    assert RowTypeInfo(types) != TupleTypeInfo(types)


def test_types_that_cannot_be() -> None:
    with pytest.raises(IllegalArgumentError, match="1 field names for 2 field types"):
        Types.ROW_NAMED(["id"], [Types.LONG(), Types.STRING()])
    with pytest.raises(IllegalArgumentError, match="must differ"):
        Types.ROW_NAMED(["id", "id"], [Types.LONG(), Types.STRING()])
    with pytest.raises(ArgumentTypeError, match=r"item 0, .* call it, Types\.LONG\(\)"):
        Types.ROW([Types.LONG])  # type: ignore[list-item]
    with pytest.raises(ArgumentTypeError, match="must be a list"):
        Types.TUPLE(Types.LONG())  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="elem_type of ListTypeInfo"):
        Types.LIST("int")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="value type of a map"):
        Types.MAP(Types.INT(), None)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match=r"use Types\.OBJECT_ARRAY"):
        Types.BASIC_ARRAY(Types.SQL_DATE())
    with pytest.raises(ArgumentTypeError, match=r"use Types\.BASIC_ARRAY"):
        Types.PRIMITIVE_ARRAY(Types.STRING())
    for precision, scale in ((0, 0), (39, 0), (5, 6), (5, -1)):
        with pytest.raises(IllegalArgumentError, match="precision must be 1 to 38"):
            DecimalTypeInfo(precision, scale)


def test_what_users_may_give_for_a_type() -> None:
    assert as_type_information(None) == Types.PICKLED_BYTE_ARRAY()
    assert as_type_information("bigint") == Types.LONG()
    assert as_type_information(PAIR) is PAIR
    assert as_type_information([Types.INT()]) == Types.ROW([Types.INT()])
    with pytest.raises(ArgumentTypeError, match="kind must be a TypeInformation, not 5"):
        as_type_information(5, "kind")
    for given, instead in ((int, r"LONG\(\)"), (str, r"STRING\(\)"), (dict, "MAP")):
        with pytest.raises(ArgumentTypeError, match=f"use Types.{instead}"):
            as_type_information(given)
