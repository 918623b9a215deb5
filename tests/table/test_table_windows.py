"""Windows of tables as descriptions, watermarks of schemas, and Flink's words for them in SQL."""

from __future__ import annotations

import pytest

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.table import Schema
from flinkish.table.expressions import (
    CURRENT_RANGE,
    CURRENT_ROW,
    UNBOUNDED_RANGE,
    UNBOUNDED_ROW,
    col,
    lit,
    row_interval,
)
from flinkish.table.sql_words import flink_words
from flinkish.table.window import GroupWindow, Over, Session, Slide, Tumble


def test_windows_are_described() -> None:
    assert Tumble.over(lit(10).minutes).on(col("ts")).alias("w") == GroupWindow(
        "tumble", 600_000, 0, "ts", "w"
    )
    assert Slide.over(lit(10).minutes).every(lit(5).minutes).slide_ms == 300_000
    assert Session.with_gap(lit(5).seconds).size_ms == 5000


def test_windows_that_make_no_sense() -> None:
    with pytest.raises(ArgumentTypeError, match="an interval such as"):
        Tumble.over(10)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="above 0, such as"):
        Tumble.over(lit(0).seconds)
    with pytest.raises(UnsupportedOperationError, match="count_window"):
        Tumble.over(row_interval(5))
    with pytest.raises(ArgumentTypeError, match="on a column"):
        Tumble.over(lit(1).hours).on(col("a") + 1)
    with pytest.raises(IllegalArgumentError, match="its time first"):
        Tumble.over(lit(1).hours).alias("w")
    with pytest.raises(IllegalArgumentError, match="belongs to Slide"):
        Tumble.over(lit(1).hours).every(lit(1).hours)
    with pytest.raises(IllegalArgumentError, match="needs order_by"):
        Over.partition_by(col("a")).alias("w")


@pytest.mark.parametrize(
    ("window", "text"),
    [
        (
            Over.partition_by(col("a")).order_by(col("t")),
            "(PARTITION BY `a` ORDER BY `t` RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
        ),
        (
            Over.order_by(col("t")).preceding(row_interval(5)).following(CURRENT_ROW),
            "(ORDER BY `t` ROWS BETWEEN 5 PRECEDING AND CURRENT ROW)",
        ),
        (
            Over.order_by(col("t")).preceding(UNBOUNDED_ROW).following(UNBOUNDED_ROW),
            "(ORDER BY `t` ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
        ),
        (
            Over.order_by(col("t")).preceding(lit(90).seconds).following(CURRENT_RANGE),
            "(ORDER BY `t` RANGE BETWEEN INTERVAL '90.000000' SECOND PRECEDING AND CURRENT ROW)",
        ),
        (
            Over.order_by(col("t")).preceding(UNBOUNDED_RANGE),
            "(ORDER BY `t` RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
        ),
    ],
)
def test_frames_are_texts_of_sql(window: Over, text: str) -> None:
    assert window.sql == text  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("expression", "bound"),
    [
        ("ts", 0),
        ("`ts`", 0),
        ("ts - INTERVAL '5' SECOND", 5000),
        ("ts - INTERVAL '0.5' SECONDS", 500),
        ("(ts - interval '2' minute)", 120_000),
        (col("ts") - lit(3).seconds, 3000),
    ],
)
def test_a_watermark_trails_its_column(expression: object, bound: int) -> None:
    schema = Schema.new_builder().column("ts", "TIMESTAMP(3)").watermark("ts", expression).build()
    assert schema.times == (("ts", bound),)
    assert Schema.new_builder().from_schema(schema).build() == schema


@pytest.mark.parametrize(
    "expression",
    ["SOURCE_WATERMARK()", "ts + INTERVAL '1' SECOND", "other", col("a") - lit(1).day, "ts - 5"],
)
def test_other_watermarks_are_refused(expression: object) -> None:
    builder = Schema.new_builder().column("ts", "TIMESTAMP(3)")
    with pytest.raises(UnsupportedOperationError, match="the column less an interval"):
        builder.watermark("ts", expression)


def test_a_table_has_one_watermark() -> None:
    builder = Schema.new_builder().column("ts", "TIMESTAMP(3)").watermark("ts", "ts")
    with pytest.raises(IllegalArgumentError, match="a watermark already"):
        builder.watermark("ts", "ts")


def test_functions_of_tables_in_sql() -> None:
    text = "SELECT w FROM t, LATERAL TABLE(split(a, ',')) AS x(w) WHERE a = 'LATERAL'"
    assert flink_words(text) == (
        "SELECT w FROM t, LATERAL inline(split(a, ',')) AS x(w) WHERE a = 'LATERAL'"
    )


def test_windows_in_sql() -> None:
    text = (
        "SELECT count(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' MINUTES)) "
        "GROUP BY window_start"
    )
    assert "(SELECT *, window(ts, '10 MINUTE') AS flinkish_window FROM t))" in flink_words(text)
    assert flink_words(text).endswith(" GROUP BY window_start")
    named = (
        "SELECT * FROM TABLE( HOP (DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), "
        "SLIDE => INTERVAL '1' HOUR, SIZE => INTERVAL '2' HOURS) )"
    )
    assert "window(ts, '2 HOUR', '1 HOUR')" in flink_words(named)


def test_windows_in_sql_that_are_not_there() -> None:
    with pytest.raises(UnsupportedOperationError, match="CUMULATE in SQL"):
        flink_words("SELECT * FROM TABLE(CUMULATE(TABLE t, DESCRIPTOR(ts)))")
    with pytest.raises(IllegalArgumentError, match=r"needed are TABLE t, DESCRIPTOR\(ts\) and 1"):
        flink_words("SELECT * FROM TABLE(TUMBLE(t, ts, INTERVAL '1' HOUR))")
    with pytest.raises(IllegalArgumentError, match="bracket"):
        flink_words("SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR)")
