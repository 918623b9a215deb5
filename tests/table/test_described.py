"""Schemas, descriptions, settings, expressions and rows of values, without Spark."""

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

from flinkish.common import Configuration, Row, Types
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.kafka_offsets import KafkaPosition
from flinkish.common.typeinfo import DecimalTypeInfo, RowTypeInfo
from flinkish.datastream import StreamExecutionEnvironment
from flinkish.table import (
    DataTypes,
    EnvironmentSettings,
    FormatDescriptor,
    Schema,
    StreamTableEnvironment,
    TableDescriptor,
)
from flinkish.table.assigned import assigned
from flinkish.table.connectors import connector_of
from flinkish.table.elements import rows_of_values
from flinkish.table.expressions import call_sql, col, lit
from flinkish.table.printed import print_known_rows, print_rows

ROW = RowTypeInfo([Types.INT(), Types.STRING()], ["n", "w"])


def test_schemas() -> None:
    first = Schema.new_builder().column("a", "INT").column_by_expression("b", col("a") + 1).build()
    schema = (
        Schema.new_builder()
        .from_schema(first)
        .from_fields(["c"], [DataTypes.DATE()])
        .from_row_data_type(DataTypes.ROW([DataTypes.FIELD("d", DataTypes.BIGINT())]))
        .primary_key("a")
        .primary_key_named("k", "a")
        .build()
    )
    assert str(schema) == "(\n  `a` INT,\n  `c` DATE,\n  `d` BIGINT,\n  `b` AS (`a` + 1)\n)"
    assert schema.kind.get_field_names() == ["a", "c", "d"]
    assert first == Schema.new_builder().from_schema(first).build()
    builder = Schema.new_builder()
    with pytest.raises(UnsupportedOperationError, match="assign_timestamps_and_watermarks"):
        builder.watermark("a", "SOURCE_WATERMARK()")
    with pytest.raises(UnsupportedOperationError, match="no columns of metadata"):
        builder.column_by_metadata("a", "INT")
    with pytest.raises(IllegalArgumentError, match="2 names and 1 types"):
        builder.from_fields(["a", "b"], ["INT"])
    with pytest.raises(ArgumentTypeError, match=r"takes a type DataTypes.ROW\(\[...\]\), not INT"):
        builder.from_row_data_type(DataTypes.INT())
    with pytest.raises(IllegalArgumentError, match="the schema has no columns"):
        _ = builder.build().kind


def test_descriptions() -> None:
    schema = Schema.new_builder().column("a", "INT").build()
    form = FormatDescriptor.for_format("json").option("ignore-parse-errors", True).build()
    made = TableDescriptor.for_connector("filesystem").schema(schema).option("path", "/x")
    found = made.format(form).comment("why").build()
    assert str(found) == (
        "(\n  `a` INT\n)\nWITH (\n  'connector' = 'filesystem',\n  'path' = '/x',\n"
        "  'format' = 'json',\n  'json.ignore-parse-errors' = 'true'\n)"
    )
    assert (found.get_schema(), found.get_comment()) == (schema, "why")
    assert found.get_partition_keys() == []
    assert (form.get_format(), form.get_options()) == ("json", {"ignore-parse-errors": "true"})
    with pytest.raises(UnsupportedOperationError, match="partitionBy"):
        made.partitioned_by("a")
    with pytest.raises(UnsupportedOperationError, match="one format here"):
        made.format("json", "key.format")
    with pytest.raises(IllegalArgumentError, match="the name of a connector"):
        TableDescriptor.for_connector("").build()


def test_settings() -> None:
    settings = EnvironmentSettings.new_instance()
    settings.with_configuration(Configuration({"a": "b"})).with_built_in_catalog_name("c")
    built = settings.with_built_in_database_name("d").in_batch_mode().build()
    assert not built.is_streaming_mode()
    assert built.get_configuration().to_dict() == {"a": "b", "execution.runtime-mode": "BATCH"}
    assert (built.get_built_in_catalog_name(), built.get_built_in_database_name()) == ("c", "d")
    assert EnvironmentSettings.in_streaming_mode().is_streaming_mode()
    env = StreamExecutionEnvironment.get_execution_environment()
    config = StreamTableEnvironment.create(env).get_config()
    assert config.set("parallelism.default", "3").get("parallelism.default", "1") == "3"
    assert env.get_parallelism() == 3
    assert config.get_configuration().contains_key("parallelism.default")


@pytest.mark.parametrize(
    ("expression", "sql"),
    [
        (col("a") + 1, "(`a` + 1)"),
        (2 - col("a`b"), "(2 - `a``b`)"),
        (-col("a") * 2 / 3 % 4, "((((- `a`) * 2) / 3) % 4)"),
        (1 + 2 * col("a"), "(1 + (2 * `a`))"),
        (4 / col("a"), "(4 / `a`)"),
        ((col("a") > 1) & (col("b") == "it's"), "((`a` > 1) AND (`b` = 'it\\'s'))"),
        (~(col("a") <= 1) | (col("b") != None), "((NOT (`a` <= 1)) OR (`b` <> NULL))"),  # noqa: E711
        ((col("a") < 1).is_null, "((`a` < 1) IS NULL)"),
        ((col("a") >= 1).is_not_null, "((`a` >= 1) IS NOT NULL)"),
        (col("a") - lit(2.5), "(`a` - CAST('2.5' AS DOUBLE))"),
        (lit(True), "TRUE"),
        (lit(1 << 40), "1099511627776L"),
        (lit(Decimal("1.50")), "1.50BD"),
        (lit(date(2024, 1, 2)), "DATE '2024-01-02'"),
        (lit(datetime(2024, 1, 2, 3)), "TIMESTAMP_NTZ '2024-01-02 03:00:00'"),
        (lit("1", DataTypes.BIGINT()), "CAST('1' AS bigint)"),
        (call_sql("upper(a)"), "(upper(a))"),
        (col("a").desc, "`a` DESC NULLS LAST"),
        (col("a").asc, "`a` ASC NULLS FIRST"),
    ],
)
def test_expressions(expression: Any, sql: str) -> None:
    assert str(expression) == sql


def test_bad_expressions() -> None:
    assert col("a").alias("b").selected == "`a` AS `b`"
    assert len({col("a"), col("a").alias("b")}) == 2
    for wrong in (object(), datetime(2024, 1, 1, tzinfo=timezone.utc), [1]):
        with pytest.raises(ArgumentTypeError, match="is no literal of SQL"):
            lit(wrong)
    with pytest.raises(ArgumentTypeError, match="write & for and"):
        bool(col("a") > 1)
    with pytest.raises(IllegalArgumentError, match="one value has one name, not a, b"):
        _ = col("x").alias("a", "b").selected


def test_rows_of_values() -> None:
    rows, kind = rows_of_values([(1, None), [2, 0.5]], ["id", "x"])
    assert rows == [Row(1, None), Row(2, 0.5)]
    assert kind == RowTypeInfo([Types.LONG(), Types.DOUBLE()], ["id", "x"])
    assert rows_of_values([1, 2], None)[1].get_field_names() == ["_1"]
    assert rows_of_values([1], DataTypes.INT())[1] == RowTypeInfo([Types.INT()], ["f0"])
    row = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())])
    assert rows_of_values([], row) == ([], row.kind)
    for values, schema, why in (
        ([], None, "no rows that could say"),
        ([(1,), ("a",)], None, "'_1' cannot be told, it has 1, 'a'"),
        ([(None,)], None, "it has no values"),
        ([(object(),)], ["a"], "cannot be told"),
        ([(1,)], ["a", "b"], "'b' cannot be told, it has no values"),
        ([(1, 2)], row, r"each row has 1 values, a, and \(1, 2\) has 2"),
        ([(1, 2)], "a, b", "a list of names, not 'a, b'"),
    ):
        with pytest.raises(IllegalArgumentError, match=why):
            rows_of_values(values, schema)  # type: ignore[arg-type]


def test_columns_that_are_assigned() -> None:
    given = RowTypeInfo([Types.LONG(), Types.STRING()], ["x", "y"])
    assert assigned("t", ROW, given) == "CAST(`x` AS int) AS `n`, CAST(`y` AS string) AS `w`"
    one = RowTypeInfo([Types.STRING()], ["y"])
    assert assigned("t", ROW, one, ["w"]) == "CAST(NULL AS int) AS `n`, CAST(`y` AS string) AS `w`"
    decimals = RowTypeInfo([DecimalTypeInfo(38, 18)], ["d"])
    assert "decimal" in assigned("t", decimals, RowTypeInfo([Types.INT()], ["i"]))
    with pytest.raises(IllegalArgumentError, match=r"'n' of the table t is INT, .* 'd', DECIMAL"):
        assigned("t", RowTypeInfo([Types.INT()], ["n"]), decimals)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "needs the option 'connector'"),
        ({"connector": "jdbc"}, "'jdbc' of the table t: there are filesystem, datagen, print"),
        ({"connector": "print", "print-identifer": "x"}, "did you mean 'print-identifier'"),
        ({"connector": "filesystem", "path": "/x"}, "needs the option 'format'"),
        ({"connector": "filesystem", "path": "/x", "format": "avro"}, "the format 'avro'"),
        (
            {
                "connector": "filesystem",
                "path": "/x",
                "format": "csv",
                "csv.ignore-parse-errors": "1",
            },
            "is true or false, not '1'",
        ),
        ({"connector": "datagen", "number-of-rows": "many"}, "is an integer, not 'many'"),
        (
            {"connector": "datagen", "fields.n.kind": "sequence"},
            "'fields.n.start' and 'fields.n.end'",
        ),
        ({"connector": "datagen", "fields.n.min": "3", "fields.n.max": "1"}, "from 3 to 1"),
        (
            {"connector": "datagen", "fields.n.null-rate": "1"},
            "'fields.n.null-rate', for which Spark",
        ),
        ({"connector": "kafka", "topic": "t"}, "needs the option 'properties.bootstrap.servers'"),
    ],
)
def test_options_that_are_wrong(options: dict[str, str], why: str) -> None:
    with pytest.raises((IllegalArgumentError, UnsupportedOperationError), match=why):
        connector_of("t", ROW, options)


def test_generated_columns_of_other_types() -> None:
    kind = RowTypeInfo([Types.LIST(Types.INT())], ["a"])
    with pytest.raises(
        UnsupportedOperationError, match="array<int>, for which there are no random"
    ):
        connector_of("t", kind, {"connector": "datagen"})
    generated = connector_of("t", ROW, {"connector": "datagen"})
    with pytest.raises(UnsupportedOperationError, match="can be read alone"):
        generated.act(lambda: 1, overwrite=False)


KAFKA = {
    "connector": "kafka",
    "topic": "t",
    "properties.bootstrap.servers": "host:1",
    "properties.group.id": "g",
    "properties.fetch.min.bytes": "9",
    "format": "json",
}


def test_topics() -> None:
    """Their options are those of Spark's connector."""
    pytest.importorskip("pyspark")
    start = {"scan.startup.mode": "earliest-offset", "json.ignore-parse-errors": "true"}
    found: Any = connector_of("t", ROW, KAFKA | start).source()()
    assert not found.bounded
    assert (found.format, found.kind) == ("kafka", ROW)
    assert found.options == {
        "subscribe": "t",
        "kafka.bootstrap.servers": "host:1",
        "kafka.fetch.min.bytes": "9",
        "groupIdPrefix": "g",
        "startingOffsets": "earliest",
    }
    times = {"scan.startup.mode": "timestamp", "scan.startup.timestamp-millis": "17"}
    ends = {"scan.bounded.mode": "latest-offset", "format": "csv"}
    found = connector_of("t", ROW, KAFKA | times | ends).source()()
    assert found.bounded
    assert (found.options["startingTimestamp"], found.options["endingOffsets"]) == ("17", "latest")
    assert connector_of("t", ROW, KAFKA).source()().start == KafkaPosition("none", committed=True)
    known = {"properties.auto.offset.reset": "latest"}
    found = connector_of("t", ROW, KAFKA | known).source()()
    assert (found.start, found.group) == (KafkaPosition("latest", committed=True), "g")
    named = {"scan.startup.specific-offsets": "partition:0,offset:42;partition:1,offset:300"}
    mode = {"scan.startup.mode": "specific-offsets"}
    found = connector_of("t", ROW, KAFKA | mode | named).source()()
    assert found.start.offsets == {("t", 0): 42, ("t", 1): 300}
    alone = {key: value for key, value in KAFKA.items() if "group" not in key}
    with pytest.raises(IllegalArgumentError, match=r"give that, or 'scan\.startup\.mode' = 'ear"):
        connector_of("t", ROW, alone).source()
    with pytest.raises(IllegalArgumentError, match="earliest, latest or none, not 'first'"):
        connector_of("t", ROW, KAFKA | {"properties.auto.offset.reset": "first"})
    with pytest.raises(UnsupportedOperationError, match="'specific-offsets' of the table t"):
        connector_of("t", ROW, KAFKA | {"scan.startup.mode": "specific-offsets"})
    with pytest.raises(UnsupportedOperationError, match="there are json and csv"):
        connector_of("t", ROW, KAFKA | {"format": "raw"})
    with pytest.raises(UnsupportedOperationError, match="a topic keeps what it has"):
        connector_of("t", ROW, KAFKA).act(lambda: 1, overwrite=True)
    assert callable(connector_of("t", ROW, KAFKA).act(lambda: 1, overwrite=False))
    assert callable(
        connector_of("t", ROW, KAFKA | {"format": "csv"}).act(lambda: 1, overwrite=False)
    )


def test_printed_rows(capsys: pytest.CaptureFixture[str]) -> None:
    """As PyFlink 2.3 prints these."""
    kind = RowTypeInfo(
        [
            DataTypes.DECIMAL(5, 2).kind,
            Types.SQL_DATE(),
            Types.LIST(Types.INT()),
            Types.MAP(Types.STRING(), Types.INT()),
            ROW,
            Types.INT(),
            Types.DOUBLE(),
            Types.BOOLEAN(),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
            Types.STRING(),
        ],
        ["d", "dt", "a", "m", "r", "z", "g", "b", "y", "s"],
    )
    row = Row(
        *(Decimal("1.00"), date(2024, 1, 1), [1, 2], {"k": 1}, Row(1, "x"), None, 1.5, True, b"\1"),
        "x" * 31,
    )
    print_rows(kind, [row])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == (
        "| op |       d |         dt |                              a |"
        "                              m |                              r |           z |"
        "                              g |      b |                              y |"
        "                              s |"
    )
    assert lines[3] == (
        "| +I |    1.00 | 2024-01-01 |                         [1, 2] |"
        "                          {k=1} |                         (1, x) |      <NULL> |"
        "                            1.5 |   TRUE |                          x'01' |"
        " xxxxxxxxxxxxxxxxxxxxxxxxxxx... |"
    )
    assert lines[0] == lines[2] == lines[4]
    print_rows(kind, [])
    print_known_rows(ROW, [])
    assert capsys.readouterr().out.splitlines()[0] == "Empty set"
