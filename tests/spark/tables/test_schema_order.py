"""Columns of a schema by their places, and event time under another name."""

from __future__ import annotations

from pyspark.sql import SparkSession

from flinkish.common import Instant, Row, Types
from flinkish.datastream import StreamExecutionEnvironment
from flinkish.table import DataTypes, Schema, StreamTableEnvironment
from flinkish.table.expressions import col, lit
from flinkish.table.window import Tumble


def test_windows_on_a_computed_column_that_was_renamed(spark: SparkSession) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    tables = StreamTableEnvironment.create(env)
    rows = [(1000, "a", 1), (4000, "b", 2), (2000, "a", 3), (7000, "a", 9), (12_000, "a", 4)]
    stream = env.from_collection(
        [Row(Instant.of_epoch_milli(ms), name, n) for ms, name, n in rows],
        Types.ROW([Types.INSTANT(), Types.STRING(), Types.INT()]),
    )
    schema = (
        Schema.new_builder()
        .column_by_expression("time", "CAST(f0 AS TIMESTAMP(3))")
        .column("f1", DataTypes.STRING())
        .column("f2", DataTypes.INT())
        .watermark("time", "time - INTERVAL '3' SECOND")
        .build()
    )
    table = tables.from_data_stream(stream, schema).alias("ts", "name", "n")
    assert table.get_schema().get_field_names() == ["ts", "name", "n"]
    sums = (
        table.where(col("n") < 9)
        .window(Tumble.over(lit(5).seconds).on(col("ts")).alias("w"))
        .group_by(col("name"), col("w"))
        .select(col("name"), col("n").sum.alias("total"))
    )
    with sums.execute().collect() as found:
        assert sorted((row[0], row[1]) for row in found) == [("a", 4), ("a", 4), ("b", 2)]
