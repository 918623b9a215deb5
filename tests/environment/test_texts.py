"""Elements as Flink's print shows them."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.common import Row, RowKind, Types
from flinkish.environment.texts import print_prefix, printed, text_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a b", "a b"),
        (None, "null"),
        (True, "true"),
        (7, "7"),
        (("a", None, 1.0), "(a,null,1.0)"),
        (Row("a", 1), "+I[a, 1]"),
        (Row.of_kind(RowKind.UPDATE_BEFORE, 1), "-U[1]"),
        (Row.of_kind(RowKind.UPDATE_AFTER, 1), "+U[1]"),
        (Row.of_kind(RowKind.DELETE, (1, [False])), "-D[(1,[false])]"),
        ([1, "x"], "[1, x]"),
        ({"a": 1, "b": None}, "{a=1, b=null}"),
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (0.001, "0.001"),
        (0.0009999, "9.999E-4"),
        (9999999.5, "9999999.5"),
        (1e7, "1.0E7"),
        (-12345678.25, "-1.234567825E7"),
        (1e300, "1.0E300"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
        (Decimal("1E-7"), "1E-7"),
        (date(2021, 1, 2), "2021-01-02"),
        (datetime(2021, 1, 2, 3, 4, 5), "2021-01-02 03:04:05.0"),
        (datetime(2021, 1, 2, 3, 4, 5, 120_000), "2021-01-02 03:04:05.12"),
        (Row(b"\x01\xff"), "+I[[1, -1]]"),
    ],
)
def test_texts_are_javas(value: Any, text: str) -> None:
    assert printed(value) == text


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (Types.FLOAT(), 0.10000000149011612, "0.1"),
        (
            Types.ROW([Types.FLOAT(), Types.TUPLE([Types.INT(), Types.FLOAT()])]),
            Row.of_kind(RowKind.DELETE, 0.10000000149011612, (1, None)),
            "-D[0.1, (1,null)]",
        ),
        (Types.ROW([Types.PRIMITIVE_ARRAY(Types.FLOAT())]), Row([1.100000023841858]), "+I[[1.1]]"),
        (Types.ROW([Types.DOUBLE()]), Row(0.10000000149011612), "+I[0.10000000149011612]"),
    ],
)
def test_texts_by_type(kind: Any, value: Any, text: str) -> None:
    assert text_of(kind)(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_of_a_float_is_the_float(value: float) -> None:
    assert float(printed(value)) == value


@pytest.mark.parametrize(
    ("identifier", "subtask", "parallelism", "prefix"),
    [(None, 0, 1, ""), ("x", 0, 1, "x> "), (None, 1, 2, "2> "), ("x", 0, 2, "x:1> ")],
)
def test_prefixes_are_flinks(
    identifier: str | None, subtask: int, parallelism: int, prefix: str
) -> None:
    assert print_prefix(identifier, subtask, parallelism) == prefix
