"""Columns as elements of declared types, and numbers that become what was declared."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.common import Instant, Row, Types
from flinkish.common.errors import SchemaMismatchError, SerializationError
from flinkish.common.typeinfo import TypeInformation, as_type_information
from flinkish.spark.elements import ElementReader
from flinkish.spark.encoders import RowEncoder
from flinkish.spark.internals import arrow_schema
from flinkish.spark.type_mapping import row_schema

BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime.datetime(2026, 7, 1, 12)
INT, LONG, STRING = Types.INT(), Types.LONG(), Types.STRING()
PAIR = Types.TUPLE([STRING, INT])


def through_columns(kind: TypeInformation, values: list[Any]) -> list[Any]:
    """The elements of a stream of a type into whose columns these values went."""
    encoder = RowEncoder("the test", arrow_schema(row_schema(kind)), kind, BERLIN)
    return ElementReader(encoder.encode(values), kind, BERLIN).elements()


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (LONG, [1, None, -(2**63)]),
        (STRING, ["a", "", None]),
        (Types.BIG_INT(), [10**37, None]),
        (Types.BIG_DEC(), [Decimal("1.500000000000000000"), None]),
        (Types.BOOLEAN(), [True, False, None]),
        (Types.SQL_DATE(), [datetime.date(2026, 7, 1), None]),
        (Types.SQL_TIMESTAMP(), [NOON, None]),
        (Types.INSTANT(), [Instant(5, 7000), None]),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), [b"ab", None]),
        (Types.PRIMITIVE_ARRAY(LONG), [[1, 2], [], None]),
        (Types.LIST(PAIR), [[("a", 1), None], [], None]),
        (Types.MAP(STRING, PAIR), [{"a": ("b", 1), "c": None}, {}, None]),
        (Types.MAP(STRING, LONG), [{"a": 1}, None]),
        (Types.PICKLED_BYTE_ARRAY(), [{"any": [1]}, None, (1, 2), Row(1)]),
        (PAIR, [("a", 1), (None, None)]),
        (Types.TUPLE([PAIR, Types.SQL_TIMESTAMP()]), [(("a", 1), NOON), (None, None)]),
        (Types.TUPLE([LONG]), [(1,), (None,)]),
        (Types.ROW_NAMED(["id", "at"], [LONG, Types.INSTANT()]), [Row(id=1, at=Instant(1, 0))]),
        (Types.ROW_NAMED(["id", "in"], [LONG, PAIR]), [Row(**{"id": 1, "in": ("a", 2)})]),
        (
            Types.ROW_NAMED(["row"], [Types.ROW_NAMED(["n"], [INT])]),
            [Row(row=Row(n=1)), Row(row=None)],
        ),
    ],
    ids=str,
)
def test_elements_are_what_went_into_the_columns(kind: TypeInformation, values: list[Any]) -> None:
    found = through_columns(kind, values)
    assert found == values
    assert [type(one) for one in found] == [type(one) for one in values]


def test_rows_without_names_get_those_of_columns() -> None:
    kind = Types.ROW([LONG, STRING])
    (found,) = through_columns(kind, [Row(1, "a")])
    assert found == Row(f0=1, f1="a")
    assert found.get_field_names() == ("f0", "f1")


def test_some_of_the_elements() -> None:
    kind = Types.TUPLE([LONG, Types.BIG_INT()])
    values = [(n, n) for n in range(5)]
    batch = RowEncoder("the test", arrow_schema(row_schema(kind)), kind, BERLIN).encode(values)
    reader = ElementReader(batch, kind)
    assert len(reader) == 5
    assert reader.elements(1, 3) == values[1:3]
    assert ElementReader(batch).elements(4) == [Row(f0=4, f1="4")]


def test_timestamps_of_ddl_are_aware() -> None:
    kind = as_type_information("at timestamp")
    (found,) = through_columns(kind, [(NOON,)])
    assert found.at == NOON.replace(tzinfo=BERLIN)
    assert kind.get_field_types() == [Types.SQL_TIMESTAMP()]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("kind", "given", "found"),
    [
        # As PyFlink 2.3's coders.
        (INT, 1.9, 1),
        (INT, -1.9, -1),
        (INT, True, 1),
        (LONG, Decimal("7.5"), 7),
        (LONG, np.int64(5), 5),
        (Types.BYTE(), np.float32(3.5), 3),
        (Types.DOUBLE(), 3, 3.0),
        (Types.FLOAT(), 0.1, 0.10000000149011612),
        (Types.BOOLEAN(), 2, True),
        (Types.BOOLEAN(), 0, False),
        (PAIR, Row("a", 1.5), ("a", 1)),
        (Types.ROW_NAMED(["n"], [INT]), (2.5,), Row(n=2)),
        (Types.ROW_NAMED(["a", "b"], [INT, INT]), Row(b=2.5, a=1), Row(a=1, b=2)),
        (Types.LIST(INT), [1.5, None], [1, None]),
        (Types.MAP(STRING, INT), {"a": 1.5}, {"a": 1}),
    ],
    ids=str,
)
def test_numbers_become_what_was_declared(kind: TypeInformation, given: Any, found: Any) -> None:
    (value,) = through_columns(kind, [given])
    assert value == found
    assert type(value) is type(found)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        # PyFlink 2.3's coders refuse these, too.
        (INT, 2**31),
        (Types.BYTE(), 300),
        (INT, "5"),
        (INT, float("nan")),
        (STRING, 5),
        (PAIR, ("a", 1, 2)),
        (PAIR, 5),
    ],
    ids=str,
)
def test_other_values_are_refused(kind: TypeInformation, value: Any) -> None:
    with pytest.raises(SchemaMismatchError, match="the test was declared as"):
        through_columns(kind, [value])


@given(st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), st.floats(-(2**30), 2**30))))
def test_of_many_numbers_each_becomes_what_it_alone_would(values: list[tuple[int, float]]) -> None:
    kind = Types.TUPLE([INT, INT])
    if values:
        assert through_columns(kind, values) == [(one, int(other)) for one, other in values]


def test_an_object_that_cannot_be_pickled_is_shown() -> None:
    with pytest.raises(SerializationError, match=r"the test .* given <generator .* be pickled: "):
        through_columns(Types.PICKLED_BYTE_ARRAY(), [1, "a", (one for one in ()), 2])
