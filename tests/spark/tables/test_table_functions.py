"""Groups, joins, frames and functions of tables, in both modes."""

from __future__ import annotations

import pytest

from flinkish.common.errors import IllegalArgumentError, JobExecutionError
from flinkish.datastream import StreamExecutionEnvironment
from flinkish.table import DataTypes, StreamTableEnvironment, Table
from flinkish.table.expressions import CURRENT_RANGE, UNBOUNDED_RANGE, call, col, lit
from flinkish.table.window import Over
from tests.spark.tables.given import rows
from tests.spark.tables.table_functions import (
    double,
    label,
    mean,
    nothing,
    pair,
    span,
    split,
    top_two,
    total,
    wrong,
)

ROWS = [(1, "hi"), (2, "yo"), (3, "hi"), (4, None)]
KIND = DataTypes.ROW(
    [DataTypes.FIELD("n", DataTypes.BIGINT()), DataTypes.FIELD("w", DataTypes.STRING())]
)


@pytest.fixture
def table(t_env: StreamTableEnvironment, env: StreamExecutionEnvironment) -> Table:
    return t_env.from_elements(ROWS, KIND)


def test_groups_and_joins(t_env: StreamTableEnvironment, table: Table) -> None:
    grouped = table.group_by(col("w")).select(
        col("w"), col("n").sum.alias("s"), (col("n").max - col("n").min).alias("d")
    )
    assert rows(grouped.execute()) == [("hi", 4, 2), ("yo", 2, 0), (None, 4, 0)]
    names = t_env.from_elements([("hi", "x"), ("no", "y")], ["k", "v"])
    joined = table.full_outer_join(names, col("w") == col("k")).select(col("n"), col("v"))
    assert rows(joined.execute()) == sorted(
        [(1, "x"), (3, "x"), (2, None), (4, None), (None, "y")], key=str
    )
    with pytest.raises(IllegalArgumentError, match="both tables of the join have the columns n, w"):
        table.join(table)


def test_sets_and_columns(t_env: StreamTableEnvironment, table: Table) -> None:
    other = t_env.from_elements([(1, "hi"), (9, "no")], KIND)
    assert rows(table.intersect(other).execute()) == [(1, "hi")]
    assert rows(other.minus(table).execute()) == [(9, "no")]
    assert len(rows(table.union(other).execute())) == 5
    changed = table.add_or_replace_columns(
        (col("n") + 1).alias("n"), col("w").upper_case.alias("u")
    ).rename_columns(col("w").alias("old"))
    assert changed.get_schema().get_field_names() == ["n", "old", "u"]
    page = changed.order_by(col("n")).offset(1).fetch(2)
    assert rows(page.execute()) == [(3, "yo", "YO"), (4, "hi", "HI")]
    frames = Over.partition_by(col("w")).order_by(col("n"))
    running = table.over_window(
        frames.preceding(UNBOUNDED_RANGE).following(CURRENT_RANGE).alias("f")
    ).select(col("n"), col("n").sum.over(col("f")).alias("s"), total(col("n")).over(col("f")))
    assert rows(running.execute()) == [(1, 1, 1), (2, 2, 2), (3, 4, 4), (4, 4, 4)]


def test_functions_of_rows(table: Table) -> None:
    labelled = table.select(
        label(col("n"), col("w")).alias("l"), double(col("n")).alias("d"), nothing().alias("o")
    )
    assert rows(labelled.execute()) == [
        ("1-hi", 2, 7),
        ("2-yo", 4, 7),
        ("3-hi", 6, 7),
        ("4-None", 8, 7),
    ]
    assert rows(table.map(pair).execute()) == [(2, "hi"), (3, "yo"), (4, "hi"), (5, None)]
    named = table.map(pair(call("struct", col("n"), col("w"))).alias("x", "y"))
    assert named.get_schema().get_field_names() == ["x", "y"]
    assert rows(named.where(col("x") == 2).execute()) == [(2, "hi")]
    with pytest.raises(IllegalArgumentError, match="rows of 2 fields, m, w, and alias has 1"):
        table.map(pair(call("struct", col("n"), col("w"))).alias("x"))
    spelled = table.left_outer_join_lateral(split(col("w")).alias("c"))
    assert rows(spelled.where(col("n") > 2).select(col("n"), col("c")).execute()) == [
        (3, "h"),
        (3, "i"),
        (4, None),
    ]
    assert rows(table.where(col("n") == 2).flat_map(split(col("w"))).execute()) == [("o",), ("y",)]


def test_functions_of_groups(table: Table) -> None:
    grouped = table.group_by(col("w"))
    totals = grouped.select(col("w"), total(col("n")).alias("t"))
    assert rows(totals.execute()) == [("hi", 4), ("yo", 2), (None, 4)]
    named = grouped.aggregate(total(col("n")).alias("t")).select(col("t"), col("w"))
    assert rows(named.execute()) == [(2, "yo"), (4, "hi"), (4, None)]
    spans = grouped.aggregate(span(col("n")).alias("low", "high")).select(col("low"), col("high"))
    assert rows(spans.execute()) == [(1, 3), (2, 2), (4, 4)]
    tops = grouped.flat_aggregate(top_two(col("n")).alias("top")).select(col("w"), col("top"))
    assert rows(tops.execute()) == [("hi", 1), ("hi", 3), ("yo", 2), (None, 4)]
    assert rows(grouped.select(col("w"), mean(col("n")).alias("m")).execute()) == [
        ("hi", 2.0),
        ("yo", 2.0),
        (None, 4.0),
    ]
    none = table.where(col("n") > lit(9)).aggregate(total(col("n")).alias("t")).select(col("t"))
    assert rows(none.execute()) == [(0,)]


def test_functions_by_name_in_sql(t_env: StreamTableEnvironment, table: Table) -> None:
    t_env.create_temporary_function("label", label)
    t_env.create_temporary_system_function("letters", split)
    for name, function in (("seven", nothing), ("total", total), ("mean", mean)):
        t_env.create_temporary_function(name, function)
    t_env.create_temporary_view("T", table)
    found = t_env.sql_query(
        "SELECT label(n, c) AS l, seven() AS o FROM T, LATERAL TABLE(letters(w)) AS x(c) "
        "WHERE n = 1"
    )
    assert rows(found.execute()) == [("1-h", 7), ("1-i", 7)]
    sums = t_env.sql_query("SELECT w, total(n) AS t FROM T GROUP BY w")
    assert rows(sums.execute()) == [("hi", 4), ("yo", 2), (None, 4)]
    means = t_env.sql_query("SELECT w, mean(n) AS m FROM T GROUP BY w")
    assert rows(means.execute()) == [("hi", 2.0), ("yo", 2.0), (None, 4.0)]
    assert t_env.list_user_defined_functions() == ["label", "letters", "mean", "seven", "total"]
    assert t_env.drop_temporary_function("letters")
    assert not t_env.drop_temporary_function("letters")
    with pytest.raises(IllegalArgumentError, match="there is a function 'label' already"):
        t_env.create_temporary_function("label", label)


def test_a_value_of_another_type_fails_the_job(table: Table) -> None:
    with pytest.raises(JobExecutionError, match=r"was declared as value int64, and was given"):
        rows(table.select(wrong(col("n"))).execute())


def test_rows_of_pandas(t_env: StreamTableEnvironment) -> None:
    import pandas as pd

    frame = pd.DataFrame({"n": [1, 2], "w": ["a", None]})
    assert rows(t_env.from_pandas(frame).execute()) == [(1, "a"), (2, None)]
