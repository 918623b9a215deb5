"""Streams as tables and tables as streams, in both modes."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from flinkish.common import Row, Types
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    IllegalStateError,
    UnsupportedOperationError,
)
from flinkish.datastream import DataStream, StreamExecutionEnvironment
from flinkish.table import (
    ChangelogMode,
    DataTypes,
    EnvironmentSettings,
    Schema,
    StreamTableEnvironment,
    TableEnvironment,
)
from flinkish.table.expressions import col, lit
from tests.spark.tables.given import PAIR, WORDS, rows, with_words, words

Environment = StreamExecutionEnvironment
Tables = StreamTableEnvironment
GROUPED = "SELECT w, sum(n) AS s FROM V GROUP BY w"


def collected(stream: DataStream) -> list[Any]:
    return sorted(stream.execute_and_collect(), key=str)


def test_from_streams_to_sql_and_back(t_env: Tables, env: Environment) -> None:
    doubled = words(env).map(lambda row: (row.w, 2 * row.n), PAIR)
    t_env.create_temporary_view("D", t_env.from_data_stream(doubled).alias("w", "m"))
    made = t_env.to_data_stream(t_env.sql_query("SELECT w, m + 1 AS m FROM D WHERE m > 2"))
    assert made.get_type() == Types.ROW_NAMED(["w", "m"], [Types.STRING(), Types.LONG()])
    found = made.key_by(lambda row: row.w, Types.STRING()).map(
        lambda row: f"{row.w}{row.m}", Types.STRING()
    )
    assert collected(found) == ["a7", "b5"]


def test_a_stream_that_streams_and_tables_read_is_made_once(
    t_env: Tables, env: Environment, tmp_path: Any
) -> None:
    log = str(tmp_path / "log")

    def logged(row: Row) -> Row:
        with open(log, "a") as file:
            file.write(f"{row.n}\n")
        return row

    kind = Types.ROW_NAMED(["w", "n"], [Types.STRING(), Types.INT()])
    t_env.create_temporary_view("V", words(env).map(logged, kind))
    both = t_env.sql_query("SELECT x.n, y.n AS m FROM V x JOIN V y ON x.w = y.w")
    assert len(rows(both.execute())) == 5
    with open(log) as file:
        assert sorted(file.read().split()) == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("kind", "values", "names", "first"),
    [
        (PAIR, WORDS, ["f0", "f1"], ("a", 1)),
        (Types.STRING(), ["x"], ["f0"], ("x",)),
        (Types.ROW([Types.INT(), Types.DOUBLE()]), [Row(1, 0.5)], ["f0", "f1"], (1, 0.5)),
        (Types.LIST(Types.LONG()), [[1, 2]], ["f0"], ([1, 2],)),
        (Types.SQL_TIMESTAMP(), [datetime(2024, 1, 1, 12)], ["f0"], (datetime(2024, 1, 1, 12),)),
        (Types.MAP(Types.STRING(), Types.INT()), [{"a": 1}], ["f0"], ({"a": 1},)),
    ],
)
def test_elements_of_types(
    t_env: Tables, env: Environment, kind: Any, values: Any, names: list[str], first: Any
) -> None:
    """Columns are named as Flink names them."""
    table = t_env.from_data_stream(env.from_collection(values, kind))
    assert table.get_schema().get_field_names() == names
    assert rows(table.execute())[0] == first


def test_columns_by_schema(t_env: Tables, env: Environment) -> None:
    schema = (
        Schema.new_builder()
        .column("n", DataTypes.BIGINT())
        .column("w", "STRING")
        .column_by_expression("twice", "n * 2")
        .column_by_expression("more", col("n") + 1)
        .build()
    )
    table = t_env.from_data_stream(words(env), schema)
    kinds = [str(one) for one in table.get_schema().get_field_data_types()]
    assert kinds == ["BIGINT", "STRING", "INT", "INT"]
    assert rows(table.execute()) == [(1, "a", 2, 2), (2, "b", 4, 3), (3, "a", 6, 4)]
    only = Schema.new_builder().column_by_expression("m", "n * 2").build()
    assert rows(t_env.from_data_stream(words(env), only).execute())[0] == ("a", 1, 2)


def test_columns_by_expressions(t_env: Tables, env: Environment) -> None:
    """By name, or by place if none of them names a column that there is."""
    t_env.create_temporary_view("P", env.from_collection(WORDS, PAIR), col("w"), col("n"))
    assert rows(t_env.execute_sql("SELECT n, w FROM P"))[0] == (1, "a")
    one = t_env.from_data_stream(words(env), col("n").alias("m"))
    assert rows(one.execute()) == [(1,), (2,), (3,)]
    with pytest.raises(IllegalArgumentError, match="`nope` cannot be resolved"):
        t_env.from_data_stream(words(env), col("w"), col("nope"))


def test_methods_of_tables(t_env: Tables, env: Environment) -> None:
    with_words(t_env, env)
    table = t_env.from_path("V")
    some = table.where((table.n > 1) & (table.w != "z")).select(
        table.w, (table.n * 10).alias("t"), lit("it's")
    )
    assert rows(some.execute()) == [("a", 30, "it's"), ("b", 20, "it's")]
    both = table.select(col("n")).union_all(table.filter(col("w") == "b").select(col("n")))
    assert rows(both.execute()) == [(1,), (2,), (2,), (3,)]
    assert rows(t_env.sql_query(f"SELECT count(*) FROM {both}").execute()) == [(4,)]
    assert str(both) == str(both)
    wide = table.add_columns((col("n") % 2).alias("odd")).drop_columns(table.w, table.n)
    assert rows(wide.distinct().execute()) == [(0,), (1,)]
    last = table.order_by(table.n.desc).limit(2, 1).select(table.n)
    assert [row[0] for row in last.execute().collect()] == [2, 1]
    frame = table.alias("word").to_pandas()
    assert sorted(frame["n"]) == [1, 2, 3]
    assert list(frame.columns) == ["word", "n"]


def test_rows_that_change_are_refused_as_in_flink(
    t_streaming: Tables, streaming: Environment
) -> None:
    """What PyFlink 2.3 refuses in streaming mode, and what it takes."""
    with_words(t_streaming, streaming)
    for refused in (
        GROUPED,
        "SELECT DISTINCT w FROM V",
        "SELECT w FROM V UNION SELECT w FROM V",
        "SELECT x.w FROM V x LEFT JOIN V y ON x.n = y.n + 1",
        "SELECT w, n FROM V ORDER BY n LIMIT 1",
        "SELECT w FROM V WHERE n NOT IN (SELECT n FROM V WHERE n > 1)",
        "SELECT w, row_number() OVER (PARTITION BY w ORDER BY n) AS r FROM V",
        "SELECT w, (SELECT max(n) FROM V) AS m FROM V",
    ):
        table = t_streaming.sql_query(refused)
        with pytest.raises(UnsupportedOperationError, match="to_changelog_stream"):
            t_streaming.to_data_stream(table)
        again = t_streaming.sql_query(f"SELECT * FROM {table} WHERE true")
        with pytest.raises(
            UnsupportedOperationError, match="to_data_stream takes rows that do not"
        ):
            t_streaming.to_data_stream(again)
        assert list(t_streaming.to_changelog_stream(table).execute_and_collect())
    for taken, count in (
        ("SELECT w, n FROM V LIMIT 2", 2),
        ("SELECT x.w FROM V x JOIN V y ON x.w = y.w", 5),
        ("SELECT w FROM V WHERE n IN (SELECT n FROM V WHERE n > 1)", 2),
    ):
        stream = t_streaming.to_data_stream(t_streaming.sql_query(taken))
        assert len(list(stream.execute_and_collect())) == count


def test_changes_are_final_rows(t_env: Tables, env: Environment) -> None:
    with_words(t_env, env)
    grouped = t_env.sql_query(GROUPED)
    changes = collected(t_env.to_changelog_stream(grouped))
    assert [(one.w, one.s, str(one.get_row_kind())) for one in changes] == [
        ("a", 4, "+I"),
        ("b", 2, "+I"),
    ]
    schema = Schema.new_builder().column("w", "STRING").column("s", "INT").build()
    cast = t_env.to_changelog_stream(grouped, schema, ChangelogMode.all())
    assert cast.get_type() == Types.ROW_NAMED(["w", "s"], [Types.STRING(), Types.INT()])
    pairs = collected(t_env.to_retract_stream(grouped, PAIR))
    assert pairs == [(True, ("a", 4)), (True, ("b", 2))]


def test_batch_mode_takes_rows_that_change(t_batch: Tables, batch: Environment) -> None:
    with_words(t_batch, batch)
    grouped = t_batch.sql_query(GROUPED)
    assert collected(t_batch.to_data_stream(grouped)) == [Row(w="a", s=4), Row(w="b", s=2)]
    assert collected(t_batch.to_append_stream(grouped, PAIR)) == [("a", 4), ("b", 2)]
    ordered = t_batch.execute_sql("SELECT n FROM V ORDER BY n DESC")
    assert [row[0] for row in ordered.collect()] == [3, 2, 1]
    once = t_batch.to_changelog_stream(grouped, None, ChangelogMode.insert_only())
    assert len(collected(once)) == 2


def test_insertions_alone_are_refused_of_rows_that_change(
    t_streaming: Tables, streaming: Environment
) -> None:
    with_words(t_streaming, streaming)
    with pytest.raises(UnsupportedOperationError, match="insert_only"):
        t_streaming.to_changelog_stream(
            t_streaming.sql_query(GROUPED), changelog_mode=ChangelogMode.insert_only()
        )


def test_columns_of_one_name_are_told_apart(t_env: Tables, env: Environment) -> None:
    """By numbers, as Flink does it."""
    with_words(t_env, env)
    table = t_env.sql_query("SELECT x.w, y.w FROM V x JOIN V y ON x.n = y.n")
    assert table.get_schema().get_field_names() == ["w", "w0"]
    assert collected(t_env.to_data_stream(table))[0] == Row(w="a", w0="a")
    unnamed = t_env.sql_query("SELECT 1.5, n AS `a.b` FROM V WHERE n = 1")
    assert unnamed.get_schema().get_field_names() == ["EXPR$0", "EXPR$1"]
    assert rows(unnamed.execute()) == [(Decimal("1.5"), 1)]


def test_bad_streams_and_tables(t_env: Tables, env: Environment) -> None:
    stream = words(env)
    other = Environment.get_execution_environment()
    with pytest.raises(IllegalArgumentError, match="no type was declared"):
        t_env.from_data_stream(stream.map(lambda row: row))
    with pytest.raises(ArgumentTypeError, match="of another StreamExecutionEnvironment"):
        t_env.from_data_stream(words(other))
    with pytest.raises(ArgumentTypeError, match="made of a DataStream, not 'V'"):
        t_env.from_data_stream("V")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="by a Schema, or by expressions"):
        t_env.from_data_stream(stream, "w, n")
    with pytest.raises(IllegalArgumentError, match="columns that the elements have not: x"):
        t_env.from_data_stream(stream, Schema.new_builder().column("x", "INT").build())
    table = t_env.from_data_stream(stream)
    with pytest.raises(
        ArgumentTypeError, match="the table has w STRING, n INT, and the type STRING"
    ):
        t_env.to_append_stream(table, Types.STRING())
    with pytest.raises(ArgumentTypeError, match="select takes expressions"):
        table.select("w")  # type: ignore[arg-type]
    with pytest.raises(IllegalArgumentError, match="given 3 names, and there are 2 columns"):
        table.alias("a", "b", "c")
    with pytest.raises(IllegalArgumentError, match="drop_columns takes some of w, n, not `x`"):
        table.drop_columns(col("x"))
    with pytest.raises(IllegalArgumentError, match="numbers from 0, not -1 and 0"):
        table.limit(-1)
    with pytest.raises(ArgumentTypeError, match="made of a DataStream, not 1"):
        t_env.create_temporary_view("B", 1)  # type: ignore[arg-type]
    with pytest.raises(IllegalArgumentError, match="a table has its own"):
        t_env.create_temporary_view("B", table, col("w"))
    with pytest.raises(ArgumentTypeError, match="write & for and"):
        table.where((table.n > 1) and (table.n < 3))
    with pytest.raises(UnsupportedOperationError, match="reduce"):
        t_env.from_changelog_stream(stream)


def test_environments_of_settings(env: Environment) -> None:
    """The mode of the settings is that of the environment; a program may have tables alone."""
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    assert rows(t_env.execute_sql("SELECT 1 AS a UNION ALL SELECT 2")) == [(1,), (2,)]
    both = StreamTableEnvironment.create(env, EnvironmentSettings.in_batch_mode())
    with_words(both, env)
    assert len(collected(both.to_data_stream(both.sql_query(GROUPED)))) == 2
    with pytest.raises(ValueError, match="give one"):
        StreamTableEnvironment.create()
    with pytest.raises(ArgumentTypeError, match="not a StreamExecutionEnvironment"):
        StreamTableEnvironment.create(1)  # type: ignore[arg-type]


def test_rows_of_values(t_env: Tables) -> None:
    """Types by the values, as PyFlink infers them, or by a schema."""
    table = t_env.from_elements([(1, "a", None), (2, None, 0.5)], ["id", "w", "x"])
    kinds = [str(one) for one in table.get_schema().get_field_data_types()]
    assert kinds == ["BIGINT", "STRING", "DOUBLE"]
    assert rows(table.execute()) == [(1, "a", None), (2, None, 0.5)]
    times = DataTypes.ROW([DataTypes.FIELD("t", DataTypes.TIMESTAMP(3))])
    made = t_env.from_elements([(datetime(2024, 1, 1),)], times)
    assert rows(t_env.sql_query(f"SELECT year(t) FROM {made}").execute()) == [(2024,)]


def test_tables_that_nothing_reads_do_not_run(t_env: Tables, env: Environment) -> None:
    with_words(t_env, env)
    t_env.to_data_stream(t_env.sql_query("SELECT 1 / (n - n) FROM V"))
    with pytest.raises(IllegalStateError, match="no operator or sink"):
        env.execute()
