"""Statements of SQL in both modes, and tables of connectors."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from flinkish.common import JobStatus
from flinkish.common.errors import (
    FutureTimeoutError,
    IllegalArgumentError,
    IllegalStateError,
    JobExecutionError,
    UnsupportedOperationError,
)
from flinkish.datastream import StreamExecutionEnvironment
from flinkish.table import (
    DataTypes,
    FormatDescriptor,
    ResultKind,
    Schema,
    StreamTableEnvironment,
    TableDescriptor,
)
from flinkish.table.expressions import col
from tests.spark.tables.given import rows, with_numbers, with_words

Environment = StreamExecutionEnvironment
Tables = StreamTableEnvironment


def test_results_of_queries(
    t_env: Tables, env: Environment, capsys: pytest.CaptureFixture[str]
) -> None:
    with_words(t_env, env)
    result = t_env.execute_sql("SELECT w, n + 1 AS m FROM V;")
    result.wait()
    assert result.get_result_kind() is ResultKind.SUCCESS_WITH_CONTENT
    assert str(result.get_table_schema()) == "root\n |-- w: STRING\n |-- m: INT\n"
    found = list(result.collect())
    assert [repr(one) for one in found] == ["<Row('a', 2)>", "<Row('b', 3)>", "<Row('a', 4)>"]
    assert list(result.collect()) == []
    client = result.get_job_client()
    assert client is not None
    assert client.get_job_status().result() is JobStatus.FINISHED
    t_env.execute_sql("SELECT w, n FROM V WHERE n = 1").print()
    assert capsys.readouterr().out.splitlines() == [
        "+----+--------------------------------+-------------+",
        "| op |                              w |           n |",
        "+----+--------------------------------+-------------+",
        "| +I |                              a |           1 |",
        "+----+--------------------------------+-------------+",
        "1 row in set",
    ]


def test_views_and_names(
    t_env: Tables, env: Environment, capsys: pytest.CaptureFixture[str]
) -> None:
    with_words(t_env, env)
    assert (
        t_env.execute_sql("CREATE TEMPORARY VIEW W (word) AS SELECT w FROM V").get_job_client()
        is None
    )
    t_env.execute_sql("CREATE VIEW IF NOT EXISTS W AS SELECT 1").print()
    t_env.execute_sql("show tables").print()
    t_env.execute_sql("DESCRIBE `default_catalog`.`default_database`.`W`").print()
    assert capsys.readouterr().out.splitlines() == [
        "OK",
        "+------------+",
        "| table name |",
        "+------------+",
        "|          V |",
        "|          W |",
        "+------------+",
        "2 rows in set",
        "+------+--------+------+-----+--------+-----------+",
        "| name |   type | null | key | extras | watermark |",
        "+------+--------+------+-----+--------+-----------+",
        "| word | STRING | TRUE |     |        |           |",
        "+------+--------+------+-----+--------+-----------+",
        "1 row in set",
    ]
    assert rows(t_env.execute_sql("SELECT * FROM w")) == [("a",), ("a",), ("b",)]
    with pytest.raises(IllegalArgumentError, match="there is a table or view 'v' already"):
        t_env.create_temporary_view("v", t_env.from_path("V"))
    with pytest.raises(IllegalArgumentError, match="has several parts"):
        t_env.create_temporary_view("other.V", t_env.from_path("V"))
    with pytest.raises(IllegalArgumentError, match="no table or view 'X': it has V, W"):
        t_env.from_path("X")
    with pytest.raises(IllegalArgumentError, match="'W' is a view: write DROP VIEW W"):
        t_env.execute_sql("DROP TABLE W")
    t_env.execute_sql("DROP VIEW W")
    assert (t_env.list_tables(), t_env.list_views()) == (["V"], ["V"])
    assert t_env.drop_temporary_view("V")
    assert not t_env.drop_temporary_view("V")
    assert not t_env.drop_temporary_table("V")


def test_statements_that_spark_refuses(
    spark: SparkSession, t_env: Tables, env: Environment
) -> None:
    with_words(t_env, env)
    for wrong, said in (
        ("SELECT nope FROM V", r"refuses 'SELECT nope FROM V' \(tables .* V\).*`nope` cannot be"),
        ("SELECT * FROM nope", "`nope` cannot be found"),
        ("SELECT 1; DROP TABLE x", "PARSE_SYNTAX_ERROR"),
        ("SELEC 1", "PARSE_SYNTAX_ERROR"),
        ("SELECT INTERVAL '1' DAY AS d", "Spark's type interval day, which has no values"),
        ("DROP TABLE nope", "cannot be found"),
        ("SELECT NULL AS z", r"Spark's type void, .* CAST\(... AS STRING\)"),
    ):
        with pytest.raises(IllegalArgumentError, match=said):
            t_env.execute_sql(wrong)
    with pytest.raises(IllegalArgumentError, match="PARSE_SYNTAX_ERROR"):
        t_env.sql_query("DROP TABLE V")
    with pytest.raises(UnsupportedOperationError, match="Spark's page of the job"):
        t_env.execute_sql("EXPLAIN SELECT * FROM V")
    with pytest.raises(IllegalArgumentError, match=r"own tables \(V\) it sees none"):
        t_env.execute_sql("CREATE TABLE x USING parquet AS SELECT * FROM V")
    spark.readStream.format("rate").load().createOrReplaceTempView("rate_of_spark")
    with pytest.raises(UnsupportedOperationError, match="reads a streaming DataFrame of Spark's"):
        t_env.sql_query("SELECT * FROM rate_of_spark")
    spark.catalog.dropTempView("rate_of_spark")
    with pytest.raises(JobExecutionError, match="DIVIDE_BY_ZERO"):
        list(t_env.execute_sql("SELECT 1 / (n - n) FROM V").collect())


def test_a_table_of_the_program_comes_before_one_of_spark(
    spark: SparkSession, t_env: Tables, env: Environment
) -> None:
    """And neither is changed by the other; a name in a text or of a column is no table."""
    spark.range(7).createOrReplaceTempView("V")
    with_words(t_env, env)
    assert rows(t_env.execute_sql("SELECT count(*) FROM V")) == [(3,)]
    assert rows(t_env.execute_sql("SELECT 'V' AS v -- of V")) == [("V",)]
    assert rows(t_env.execute_sql("WITH V AS (SELECT w FROM V) SELECT count(w) FROM V")) == [(3,)]
    assert spark.table("V").count() == 7
    spark.catalog.dropTempView("V")
    assert not [one for one in spark.catalog.listTables() if one.name.startswith("flinkish")]


def test_a_query_reads_what_it_names_alone(t_streaming: Tables, streaming: Environment) -> None:
    """A bounded query whose text has the name of an unbounded table ends."""
    with_words(t_streaming, streaming)
    with_numbers(t_streaming, streaming)
    assert rows(t_streaming.execute_sql("SELECT n FROM V")) == [(1,), (2,), (3,)]
    assert rows(t_streaming.execute_sql("SELECT 1 AS N")) == [(1,)]


def test_inserts(t_env: Tables, env: Environment, capsys: pytest.CaptureFixture[str]) -> None:
    with_words(t_env, env)
    env.set_parallelism(1)
    t_env.execute_sql(
        "CREATE TABLE P (w STRING, n BIGINT, more DOUBLE) "
        "WITH ('connector' = 'print', 'print-identifier' = 'id')"
    )
    result = t_env.execute_sql("INSERT INTO P SELECT w, n, n FROM V WHERE n > 1")
    result.wait()
    result.print()
    assert capsys.readouterr().out.split("\n") == [
        "id> +I[b, 2, 2.0]",
        "id> +I[a, 3, 3.0]",
        "-1",
        "",
    ]
    t_env.execute_sql("INSERT INTO P (n, w) VALUES (7, 'x')").wait()
    assert capsys.readouterr().out == "id> +I[x, 7, null]\n"
    both = t_env.create_statement_set()
    both.add_insert_sql("INSERT INTO P SELECT w, sum(n), 0 FROM V GROUP BY w")
    both.add_insert("P", t_env.sql_query("SELECT 'y', 1, 1.5"))
    result = both.execute()
    result.wait()
    assert result.get_table_schema().get_field_names() == ["P", "P_1"]
    assert sorted(capsys.readouterr().out.splitlines()) == [
        "id> +I[a, 4, 0.0]",
        "id> +I[b, 2, 0.0]",
        "id> +I[y, 1, 1.5]",
    ]
    later = t_env.create_statement_set().add_insert("P", t_env.sql_query("SELECT 'z', 1, 1"))
    later.attach_as_datastream()
    env.execute()
    assert capsys.readouterr().out == "id> +I[z, 1, 1.0]\n"
    with pytest.raises(IllegalStateError, match="the set has no statements"):
        later.execute()


def test_rows_that_do_not_fit_a_table(t_env: Tables, env: Environment) -> None:
    with_words(t_env, env)
    t_env.execute_sql("CREATE TABLE P (w STRING, n INT) WITH ('connector' = 'blackhole')")
    for wrong, said in (
        ("INSERT INTO P SELECT w FROM V", "P takes w STRING, n INT, and the query has w STRING"),
        ("INSERT INTO P SELECT n, w FROM V", r"'w' of the table P is STRING, .* 'n', INT: cast it"),
        ("INSERT INTO P SELECT w, n / 2 FROM V", "is INT, and the query gives"),
        ("INSERT INTO P (w, x) SELECT w, n FROM V", "columns that it has not: x"),
        ("INSERT INTO V SELECT w, n FROM V", "'V' is a view"),
        ("INSERT INTO nope SELECT w, n FROM V", r"neither of this program \(P, V\) nor in Spark"),
        ("INSERT INTO P VALUE (1)", "PARSE_SYNTAX_ERROR"),
    ):
        with pytest.raises(IllegalArgumentError, match=said):
            t_env.execute_sql(wrong)
    with pytest.raises(UnsupportedOperationError, match="'blackhole' can be written to alone"):
        t_env.from_path("P")
    with pytest.raises(IllegalArgumentError, match="a set of statements is of INSERTs"):
        t_env.create_statement_set().add_insert_sql("SELECT 1")
    large = t_env.execute_sql("INSERT INTO P SELECT w, n + 3000000000L FROM V")
    with pytest.raises(JobExecutionError, match="OVERFLOW"):
        large.wait()


def test_tables_of_sparks_catalog(
    spark: SparkSession, t_env: Tables, env: Environment, tmp_path: Path
) -> None:
    with_words(t_env, env)
    t_env.execute_sql(
        f"CREATE TABLE words_of_spark (w STRING, n INT) USING parquet LOCATION '{tmp_path}/words'"
    )
    try:
        t_env.execute_sql("INSERT INTO words_of_spark SELECT w, n FROM V").wait()
        t_env.execute_sql("INSERT INTO words_of_spark SELECT w, n FROM V WHERE n = 2").wait()
        joined = "SELECT V.n FROM V JOIN words_of_spark s ON V.n = s.n"
        assert rows(t_env.execute_sql(joined)) == [(1,), (2,), (2,), (3,)]
        t_env.execute_sql("INSERT OVERWRITE words_of_spark SELECT w, n FROM V WHERE n = 2").wait()
        assert rows(t_env.execute_sql("SELECT * FROM words_of_spark")) == [("b", 2)]
        shown = t_env.execute_sql("SHOW COLUMNS IN words_of_spark")
        assert rows(shown) == [("n",), ("w",)]
        with pytest.raises(UnsupportedOperationError, match="takes all its columns"):
            t_env.execute_sql("INSERT INTO words_of_spark (w) SELECT w FROM V")
    finally:
        t_env.execute_sql("DROP TABLE words_of_spark")


# Files as PyFlink 2.3 wrote them.
OF_FLINK = {
    "json": (
        '{"w":"a b","n":1,"ts":"2024-01-01 00:00:01.5","d":"2024-01-02","x":0.5}\n'
        '{"w":null,"n":1,"ts":"2024-01-01 00:00:01","d":"2024-01-02","x":null}\n'
    ),
    "csv": (
        '"a,""b",1,"2024-01-01 00:00:01.5",2024-01-02,1.5E10\n'
        ',,"2024-01-01 00:00:01",2024-01-02,1.0\n'
    ),
}


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "orc"])
def test_files(t_env: Tables, tmp_path: Path, form: str) -> None:
    """What is written is read, and so is what Flink wrote."""
    columns = "w STRING, n INT, ts TIMESTAMP(3), d DATE, x DOUBLE"
    options = f"('connector' = 'filesystem', 'path' = '{tmp_path}/files', 'format' = '{form}')"
    t_env.execute_sql(f"CREATE TABLE F ({columns}) WITH {options}")
    first = ('a,"b', 1, datetime(2024, 1, 1, 0, 0, 1, 500000), date(2024, 1, 2), 1.5e10)
    second = (None, None, datetime(2024, 1, 1, 0, 0, 1), date(2024, 1, 2), 1.0)
    for w, n, ts, d, x in (first, second):
        values = ["CAST(NULL AS STRING)" if w is None else f"'{w}'"]
        values += ["CAST(NULL AS INT)" if n is None else str(n)]
        values += [f"TIMESTAMP_NTZ '{ts}'", f"DATE '{d}'", f"{x}D"]
        t_env.execute_sql(f"INSERT INTO F VALUES ({', '.join(values)})").wait()
    assert rows(t_env.execute_sql("SELECT * FROM F")) == sorted([first, second], key=str)
    if form in OF_FLINK:
        (tmp_path / "files" / "part-of-flink-0").write_text(OF_FLINK[form])
        found = rows(t_env.execute_sql("SELECT ts, d FROM F"))
        assert len(found) == 4
        assert set(found) == {first[2:4], second[2:4]}
        (tmp_path / "files" / "part-bad").write_text(
            '{"w": 1\n' if form == "json" else "a,b,c,d,e\n"
        )
        wrong = r"part-bad: not JSON: .*; the record is" if form == "json" else "MALFORMED_RECORD"
        with pytest.raises(JobExecutionError, match=wrong):
            list(t_env.execute_sql("SELECT * FROM F").collect())
        lenient = options.replace(")", f", '{form}.ignore-parse-errors' = 'true')")
        t_env.execute_sql(f"CREATE TABLE L ({columns}) WITH {lenient}")
        assert len(rows(t_env.execute_sql("SELECT * FROM L"))) == 4


def test_two_statements_write_to_one_table_of_files(t_batch: Tables, tmp_path: Path) -> None:
    options = f"('connector' = 'filesystem', 'path' = '{tmp_path}/files', 'format' = 'json')"
    t_batch.execute_sql(f"CREATE TABLE F (w STRING) WITH {options}")
    both = t_batch.create_statement_set()
    both.add_insert_sql("INSERT INTO F VALUES ('a'), ('b')")
    both.add_insert_sql("INSERT INTO F VALUES ('c')")
    both.execute().wait()
    assert rows(t_batch.execute_sql("SELECT * FROM F")) == [("a",), ("b",), ("c",)]


def test_files_take_no_rows_that_change(
    t_streaming: Tables, streaming: Environment, tmp_path: Path
) -> None:
    """As in Flink, whose file system has no changes."""
    with_words(t_streaming, streaming)
    made = TableDescriptor.for_connector("filesystem").option("path", str(tmp_path)).format("json")
    files = made.schema(Schema.new_builder().column("s", DataTypes.BIGINT()).build()).build()
    table = t_streaming.sql_query("SELECT sum(n) FROM V")
    with pytest.raises(
        UnsupportedOperationError, match="'filesystem' takes rows that do not change"
    ):
        table.execute_insert(files)
    with pytest.raises(UnsupportedOperationError, match="INSERT OVERWRITE of files"):
        t_streaming.sql_query("SELECT 1").execute_insert(files, overwrite=True)


def test_files_that_come(t_streaming: Tables, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1;x\n2;y\n")
    form = FormatDescriptor.for_format("csv").option("field-delimiter", ";").build()
    schema = Schema.new_builder().column("n", "INT").column("w", "STRING").build()
    made = TableDescriptor.for_connector("filesystem").schema(schema).option("path", str(tmp_path))
    t_streaming.create_temporary_table(
        "F", made.format(form).option("source.monitor-interval", "1 s").build()
    )
    assert not t_streaming.create_table("F", made.build(), ignoreIfExists=True)
    found = t_streaming.execute_sql("SELECT w FROM F").collect()
    with found:
        assert sorted([next(found)[0], next(found)[0]]) == ["x", "y"]
        (tmp_path / "b.csv").write_text("3;z\n")
        assert next(found)[0] == "z"
    with pytest.raises(UnsupportedOperationError, match="LIMIT"):
        t_streaming.sql_query("SELECT * FROM F LIMIT 1")


def test_generated_rows(t_env: Tables) -> None:
    t_env.execute_sql(
        "CREATE TABLE G (id BIGINT, small TINYINT, f DOUBLE, s STRING, b BOOLEAN, t TIMESTAMP(3), "
        "any BIGINT, i INT) WITH ('connector' = 'datagen', 'number-of-rows' = '50', "
        "'fields.id.kind' = 'sequence', 'fields.id.start' = '5', 'fields.id.end' = '100', "
        "'fields.small.min' = '-1', 'fields.small.max' = '1', 'fields.f.min' = '1', "
        "'fields.f.max' = '2', 'fields.s.length' = '5')"
    )
    found = rows(t_env.execute_sql("SELECT * FROM G ORDER BY id"))
    assert sorted(one[0] for one in found) == list(range(5, 55))
    assert {one[1] for one in found} == {-1, 0, 1}
    assert all(1 <= one[2] <= 2 and len(one[3]) == 5 for one in found)
    assert {one[4] for one in found} == {True, False}
    assert all(isinstance(one[5], datetime) for one in found)
    assert len({one[6] for one in found}) == 50
    assert any(one[7] < 0 for one in found)
    assert any(one[7] > 0 for one in found)


def test_generated_rows_without_end(t_streaming: Tables) -> None:
    t_streaming.execute_sql(
        "CREATE TABLE G (f FLOAT) WITH ('connector' = 'datagen', 'rows-per-second' = '5')"
    )
    result = t_streaming.from_path("G").where(col("f").is_not_null).execute()
    result.wait(60_000)
    with result.collect() as found:
        assert [type(next(found)[0]) for _ in range(7)] == [float] * 7


def test_a_wait_that_is_too_long(t_streaming: Tables) -> None:
    t_streaming.execute_sql(
        "CREATE TABLE G (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '1')"
    )
    result = t_streaming.execute_sql("SELECT n FROM G WHERE length(CAST(n AS STRING)) > 99")
    with pytest.raises(FutureTimeoutError, match="no result after 300 ms"):
        result.wait(300)
    result.collect().close()
    client = result.get_job_client()
    assert client is not None
    assert client.get_job_status().result() is JobStatus.CANCELED
