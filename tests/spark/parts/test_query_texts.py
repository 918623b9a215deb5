"""Texts of queries before Spark sees them."""

from __future__ import annotations

import pytest

from flinkish.spark.jobs.queries import Query


@pytest.mark.parametrize(
    ("text", "sparks"),
    [
        ("SELECT CAST(a AS TIMESTAMP(3)) FROM t;", "SELECT CAST(a AS TIMESTAMP_NTZ) FROM t"),
        ("SELECT CAST(a AS timestamp_ltz( 0 ))", "SELECT CAST(a AS TIMESTAMP_LTZ)"),
        ("SELECT CAST(a AS TIMESTAMP_NTZ(6))", "SELECT CAST(a AS TIMESTAMP_NTZ)"),
        ("SELECT CAST(a AS TIMESTAMP)", "SELECT CAST(a AS TIMESTAMP)"),
        ("SELECT 'TIMESTAMP(3)', `TIMESTAMP(3)`", "SELECT 'TIMESTAMP(3)', `TIMESTAMP(3)`"),
        ("SELECT 'it''s', MY_TIMESTAMP(3)", "SELECT 'it''s', MY_TIMESTAMP(3)"),
        ("SELECT CAST(a AS TIMESTAMP(9))", "SELECT CAST(a AS TIMESTAMP(9))"),
    ],
)
def test_digits_of_seconds_are_left_out(text: str, sparks: str) -> None:
    assert Query.of(text, {}).text == sparks
