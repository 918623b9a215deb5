"""Windows of tables: the same in both modes, and over a source that does not end."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from flinkish.common.errors import IllegalArgumentError, UnsupportedOperationError
from flinkish.datastream import StreamExecutionEnvironment
from flinkish.table import DataTypes, Schema, StreamTableEnvironment, Table
from flinkish.table.expressions import col, lit
from flinkish.table.window import GroupWindow, Session, Slide, Tumble
from tests.spark.programs.functions import Numbers
from tests.spark.tables.given import PAIR, rows

BEGIN = datetime(2024, 3, 31, 1, 30)  # an hour that zones of Europe do not have
SECONDS = [(1, "a"), (3, "b"), (7, "a"), (8, None), (16, None)]
SCHEMA = (
    Schema.new_builder()
    .column("s", "BIGINT")
    .column("k", "STRING")
    .column("ts", "TIMESTAMP(3)")
    .watermark("ts", "ts - INTERVAL '2' SECOND")
    .build()
)


@pytest.fixture
def table(t_env: StreamTableEnvironment, env: StreamExecutionEnvironment) -> Table:
    values = [(s, k, BEGIN + timedelta(seconds=s)) for s, k in SECONDS]
    types = [DataTypes.BIGINT(), DataTypes.STRING(), DataTypes.TIMESTAMP(3)]
    fields = [DataTypes.FIELD(n, t) for n, t in zip(("s", "k", "ts"), types, strict=True)]
    stream = t_env.to_data_stream(t_env.from_elements(values, DataTypes.ROW(fields)))
    return t_env.from_data_stream(stream, SCHEMA)


def expected(form: str) -> list[tuple[Any, ...]]:
    """Key, start, end (s after BEGIN), sum and count of each window, one by one."""
    groups: dict[tuple[Any, int, int], list[int]] = {}
    for second, key in SECONDS:
        for start in range(-5, 20, 5):
            size = 5 if form == "tumble" else 10
            if start <= second < start + size:
                groups.setdefault((key, start, start + size), []).append(second)
    if form == "session":
        groups = {
            ("a", 1, 5): [1],
            ("b", 3, 7): [3],
            ("a", 7, 11): [7],
            (None, 8, 12): [8],
            (None, 16, 20): [16],
        }
    return sorted(
        (
            (key, moment(start), moment(end), sum(values), len(values))
            for (key, start, end), values in groups.items()
        ),
        key=str,
    )


def moment(seconds: int) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "window",
    [
        Tumble.over(lit(5).seconds),
        Slide.over(lit(10).seconds).every(lit(5).seconds),
        Session.with_gap(lit(4).seconds),
    ],
)
def test_windows_of_each_form(table: Table, window: GroupWindow) -> None:
    w = col("w")
    made = (
        table.window(window.on(col("ts")).alias("w"))
        .group_by(w, col("k"))
        .select(col("k"), w.start, w.end, col("s").sum.alias("t"), col("s").count.alias("n"))
    )
    assert rows(made.execute()) == expected(window.form)


def test_windows_without_keys_and_in_sql(t_env: StreamTableEnvironment, table: Table) -> None:
    w = col("w")
    made = (
        table.window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w"))
        .group_by(w)
        .select(w.rowtime.alias("r"), (col("s").max - col("s").min).alias("d"))
    )
    end = timedelta(seconds=10) - timedelta(milliseconds=1)
    assert sorted(rows(made.execute())) == [(BEGIN + end, 7), (moment(10) + end, 0)]
    t_env.create_temporary_view("T", table)
    query = t_env.sql_query(
        "SELECT window_start, count(*) AS n FROM TABLE(TUMBLE(TABLE T, DESCRIPTOR(ts), "
        "INTERVAL '10' SECONDS)) GROUP BY window_start, window_end"
    )
    assert rows(query.execute()) == [(BEGIN, 4), (moment(10), 1)]


def test_windows_over_a_source_that_does_not_end(
    t_streaming: StreamTableEnvironment, streaming: StreamExecutionEnvironment
) -> None:
    numbers = streaming.add_source(Numbers(30), "numbers", PAIR)
    schema = (
        Schema.new_builder()
        .column_by_expression(
            "ts", "timestampadd(SECOND, CAST(f1 AS INT), TIMESTAMP_NTZ '2024-01-01 00:00:00')"
        )
        .watermark("ts", "ts")
        .build()
    )
    table = t_streaming.from_data_stream(numbers, schema)
    w = col("w")
    sums = (
        table.window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w"))
        .group_by(w)
        .select(w.start.alias("b"), col("f1").sum.alias("s"))
    )
    result = sums.execute()
    with result.collect() as found:
        first = [tuple(next(found)), tuple(next(found))]
    day = datetime(2024, 1, 1)
    assert first == [(day, sum(range(10))), (day + timedelta(seconds=10), sum(range(10, 20)))]


def test_windows_that_cannot_be_over(
    t_streaming: StreamTableEnvironment, t_batch: StreamTableEnvironment
) -> None:
    values = [(1, BEGIN)]
    window = Tumble.over(lit(5).seconds).on(col("ts")).alias("w")
    kind = DataTypes.ROW(
        [DataTypes.FIELD("s", DataTypes.BIGINT()), DataTypes.FIELD("ts", DataTypes.TIMESTAMP(3))]
    )
    timeless = t_streaming.from_elements(values, kind)
    grouped = timeless.window(window).group_by(col("w"))
    with pytest.raises(IllegalArgumentError, match="'ts', which has no watermark"):
        grouped.select(col("s").sum)
    timed = timeless.with_times({"ts": 0}).window(window).group_by(col("w"))
    with pytest.raises(UnsupportedOperationError, match="in a window of streaming mode"):
        timed.select(col("s").stddev_pop)
    exact = timeless.select(
        col("s").cast(DataTypes.DECIMAL(10, 2)).alias("d"), col("ts")
    ).with_times({"ts": 0})
    with pytest.raises(UnsupportedOperationError, match="add whole numbers and floats"):
        exact.window(window).group_by(col("w")).select(col("d").sum)
    batch = t_batch.from_elements(values, kind).window(window).group_by(col("w"))
    assert rows(batch.select(col("s").stddev_pop).execute()) == [(0.0,)]
    with pytest.raises(IllegalArgumentError, match="group_by needs the window"):
        timeless.window(window).group_by(col("s"))
