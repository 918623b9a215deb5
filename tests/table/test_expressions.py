"""Expressions as texts of Spark's SQL, without Spark."""

from __future__ import annotations

import inspect
from datetime import datetime
from typing import Any

import pytest

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.table import DataTypes
from flinkish.table.expression import Expression, TimeIntervalUnit, TimePointUnit
from flinkish.table.expression_methods import METHODS, REFUSED
from flinkish.table.expressions import (
    and_,
    array,
    call,
    col,
    concat_ws,
    current_time,
    if_then_else,
    json_object,
    lit,
    log,
    map_,
    null_of,
    or_,
    rand_integer,
    range_,
    row_interval,
    timestamp_diff,
    to_timestamp,
    to_timestamp_ltz,
    with_columns,
    without_columns,
)

a, b = col("a"), col("b")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (a.upper_case, "upper(`a`)"),
        (a.substring(2), "substring(`a`, 2)"),
        (a.substring(2, length=3), "substring(`a`, 2, 3)"),
        (a.trim(), "trim(`a`)"),
        (a.trim("x"), "trim(BOTH 'x' FROM `a`)"),
        (a.str_to_map(), "str_to_map(`a`, ',', '=')"),
        (a.str_to_map(";"), "str_to_map(`a`, ';')"),
        (a.str_to_map(";", ":"), "str_to_map(`a`, ';', ':')"),
        (a.overlay("x", 2), "overlay(`a` PLACING 'x' FROM 2)"),
        (a.printf(b, 1), "printf(`a`, `b`, 1)"),
        (a.elt("x", "y"), "elt(`a`, 'x', 'y')"),
        (a.between(1, b), "(`a` BETWEEN 1 AND `b`)"),
        ((a > 1).then("x", "y"), "(CASE WHEN (`a` > 1) THEN 'x' ELSE 'y' END)"),
        (a.in_(1, 2), "(`a` IN (1, 2))"),
        (a.try_cast(DataTypes.INT()), "try_cast(`a` AS int)"),
        (a.extract(TimeIntervalUnit.HOUR), "extract(HOUR FROM `a`)"),
        (a.floor(), "floor(`a`)"),
        (a.floor(TimeIntervalUnit.DAY), "date_trunc('DAY', `a`)"),
        (a.get("x y"), "`a`.`x y`"),
        (a.sum, "sum(`a`)"),
        (a.count.distinct, "count(DISTINCT `a`)"),
        (a.sum0.distinct, "coalesce(sum(DISTINCT `a`), 0)"),
        (a.list_agg("|"), "listagg(`a`, '|')"),
        (a.avg.over(col("w")), "avg(`a`) OVER `w`"),
        (a.split_index(",", 0), r"get(split(`a`, concat('\\Q', ',', '\\E')), 0)"),
        (and_(a, b, True), "(`a` AND `b` AND TRUE)"),
        (or_(a, b), "(`a` OR `b`)"),
        (if_then_else(a, 1, None), "(CASE WHEN `a` THEN 1 ELSE NULL END)"),
        (log(a), "ln(`a`)"),
        (log(a, 2), "log(2, `a`)"),
        (concat_ws(",", a, "x"), "concat_ws(',', `a`, 'x')"),
        (array(1, a), "array(1, `a`)"),
        (map_("k", a), "map('k', `a`)"),
        (null_of(DataTypes.BIGINT()), "CAST(NULL AS bigint)"),
        (rand_integer(5), "CAST(floor(rand() * 5) AS INT)"),
        (timestamp_diff(TimePointUnit.DAY, a, b), "timestampdiff(DAY, `a`, `b`)"),
        (to_timestamp("2020-01-01"), "try_cast('2020-01-01' AS TIMESTAMP_NTZ)"),
        (to_timestamp_ltz(a, 3), "timestamp_millis(`a`)"),
        (call("my_function", a, 1), "my_function(`a`, 1)"),
        (with_columns("a", b), "`a`, `b`"),
        (without_columns(a), "* EXCEPT (`a`)"),
    ],
)
def test_an_expression_is_a_text_of_sql(expression: Expression[Any], text: str) -> None:
    assert str(expression) == text


def test_braces_in_values_are_no_places() -> None:
    assert str(a.concat("{0} {*}")) == "(`a` || '{0} {*}')"


def test_an_expression_knows_its_aggregates() -> None:
    span = (a.max - a.min).alias("span")
    assert [one.sql for one in span.aggregates] == ["max(`a`)", "min(`a`)"]
    assert (a.sum + a.sum).aggregates == a.sum.aggregates
    assert (a + 1).aggregates == ()


def test_intervals_of_numbers_have_a_length() -> None:
    assert lit(10).minutes.interval_ms == 600_000
    assert lit(1).day.interval_ms == 86_400_000
    assert lit(5).milli.interval_ms == 5
    assert col("n").seconds.interval_ms is None
    assert lit(1).month.interval_ms is None
    assert row_interval(3).rows == 3


def test_a_column_less_an_interval_trails_it() -> None:
    assert (a - lit(3).seconds).trails == ("a", 3000)
    assert (a - b).trails is None
    assert (lit(datetime(2020, 1, 1)) - lit(3).seconds).trails is None


@pytest.mark.parametrize("name", REFUSED)
def test_a_function_that_spark_has_not_says_what_to_take(name: str) -> None:
    with pytest.raises(UnsupportedOperationError, match=f"{name} is not among"):
        getattr(a, name)


@pytest.mark.parametrize("make", [current_time, json_object, lambda: range_("a", "b")])
def test_a_beginning_that_spark_has_not_says_what_to_take(make: Any) -> None:
    with pytest.raises(UnsupportedOperationError, match="Spark"):
        make()


@pytest.mark.parametrize("name", METHODS)
def test_methods_have_signatures(name: str) -> None:
    parameters = inspect.signature(getattr(Expression, name)).parameters
    named = [one.rstrip("?*") for one in METHODS[name][0].split()]
    assert list(parameters) == ["self", *named]


def test_bad_arguments() -> None:
    with pytest.raises(TypeError, match="missing a required argument: 'places'"):
        a.round()
    with pytest.raises(IllegalArgumentError, match="distinct follows an aggregate"):
        _ = a.distinct
    with pytest.raises(IllegalArgumentError, match="distinct follows an aggregate"):
        _ = (a.sum + 1).distinct
    with pytest.raises(ArgumentTypeError, match="a TimeIntervalUnit such as"):
        a.extract("HOUR")
    with pytest.raises(ArgumentTypeError, match="number of rows from 0"):
        row_interval(-1)
    with pytest.raises(ArgumentTypeError, match="the name of a function or a udf"):
        call("f(); DROP TABLE x", a)
    with pytest.raises(ArgumentTypeError, match="its precision, 0 or 3"):
        to_timestamp_ltz()
