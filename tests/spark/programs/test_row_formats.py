"""Rows in records of JSON and CSV, as PyFlink 2.3 reads and writes them."""

from __future__ import annotations

from typing import Any

import pytest

from flinkish.common import Types
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    RowFieldExtractorSchema,
    SerializationSchema,
)
from flinkish.datastream.formats.csv import (
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
)
from flinkish.datastream.formats.json import JsonRowDeserializationSchema

KIND = Types.ROW_NAMED(
    ["id", "s", "l"], [Types.INT(), Types.STRING(), Types.OBJECT_ARRAY(Types.STRING())]
)
PAIR = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])


def read(spark: Any, schema: DeserializationSchema, *records: Any) -> list[Any]:
    """The rows that a schema reads of records, as a source of Kafka does it."""
    given = [one if isinstance(one, bytes) else one.encode() for one in records]
    frame = spark.createDataFrame([(one,) for one in given], "value binary")
    for expressions in schema.selections("value"):
        frame = frame.selectExpr(*expressions)
    return [tuple(row) for row in frame.collect()]


def written(spark: Any, schema: SerializationSchema, ddl: str, *rows: Any) -> list[bytes]:
    """The records that a schema makes of rows, as a sink to Kafka does it."""
    frame = spark.createDataFrame(list(rows), ddl)
    frame = frame.selectExpr(f"{schema.expression(frame.columns)} AS value")
    return [bytes(row.value) for row in frame.collect()]


def test_values_of_csv(spark: Any) -> None:
    schema = CsvRowDeserializationSchema.Builder(KIND).build()
    records = ["1,a,x;y", '1,"a""b",x', "1, a ,", "1,,", ",a,b"]
    assert read(spark, schema, *records) == [
        (1, "a", ["x", "y"]),
        (1, 'a"b', ["x"]),
        (1, " a ", []),
        (1, "", []),
        (None, "a", ["b"]),  # PyFlink 2.3 fails for an empty number
    ]
    schema = (
        CsvRowDeserializationSchema.Builder(KIND)
        .set_null_literal("-")
        .set_field_delimiter("|")
        .set_array_element_delimiter("+")
        .set_quote_character("'")
        .set_escape_character("\\")
        .set_allow_comments(True)
        .build()
    )
    assert read(spark, schema, "-|-|-", "2|'a\\'|b'|x+-", "# no record") == [
        (None, None, [None]),
        (2, "a'|b", ["x", None]),
    ]


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ("x,a,b", 'the cell "x" is in the column id of a record of CSV'),
        ("1,a", "MALFORMED"),
        ("1,a,x,z", "MALFORMED"),
    ],
)
def test_records_that_are_no_such_csv(spark: Any, record: str, says: str) -> None:
    schema = CsvRowDeserializationSchema.Builder(KIND)
    with pytest.raises(Exception, match=says):
        read(spark, schema.build(), record)
    found = read(spark, schema.set_ignore_parse_errors(True).build(), record, "2,b,c")
    assert found[-1] == (2, "b", ["c"])
    assert found[:-1] == ([(None, "a", ["b"])] if record.startswith("x") else [])


def test_lines_of_csv(spark: Any) -> None:
    ddl = "id int, s string, l array<string>"
    rows = [(1, 'a,"b"', ["x", None]), (2, " c ", []), (3, None, None)]
    schema = CsvRowSerializationSchema.Builder(KIND).build()
    assert written(spark, schema, ddl, *rows) == [b'1,"a,""b""",x;', b'2, c ,""', b"3,,"]
    schema = (
        CsvRowSerializationSchema.Builder(KIND)
        .set_field_delimiter("|")
        .set_array_element_delimiter("+")
        .set_quote_character("'")
        .set_escape_character("\\")
        .set_null_literal("-")
        .set_line_delimiter("\n")
        .build()
    )
    assert written(spark, schema, ddl, (1, "a'|b", ["x", "y"]), (2, None, None)) == [
        b"1|'a\\'|b'|x+y\n",
        b"2|-|-\n",
    ]
    with pytest.raises(UnsupportedOperationError, match="take SimpleStringSchema"):
        CsvRowSerializationSchema.Builder(KIND).disable_quote_character()


def test_missing_fields_of_json(spark: Any) -> None:
    schema = JsonRowDeserializationSchema.builder().type_info(PAIR)
    assert read(spark, schema.build(), '{"a":1}') == [(1, None)]
    complete = schema.fail_on_missing_field().build()
    assert read(spark, complete, '{"a":1,"b":null}', '{"b":"x","a":2,"c":3}') == [
        (1, None),
        (2, "x"),
    ]
    with pytest.raises(Exception, match=r'no a, b in the JSON \{"c":1\}'):
        read(spark, complete, '{"c":1}')
    with pytest.raises(Exception, match="MALFORMED"):
        read(spark, complete, "no JSON")
    with pytest.raises(IllegalArgumentError, match="take fail_on_missing_field"):
        schema.ignore_parse_errors().build()
    with pytest.raises(UnsupportedOperationError, match="give type_info"):
        schema.json_schema("{}")


def test_bytes(spark: Any) -> None:
    assert read(spark, ByteArraySchema(), b"\x00\xff") == [(b"\x00\xff",)]
    assert written(spark, ByteArraySchema(), "v binary", (b"\x01",)) == [b"\x01"]
    fields = "k binary, v binary"
    assert written(spark, RowFieldExtractorSchema(1), fields, (b"k", b"v")) == [b"v"]
    with pytest.raises(ArgumentTypeError, match="these elements have the columns a, b: map them"):
        ByteArraySchema().expression(["a", "b"])
    with pytest.raises(IllegalArgumentError, match="no field 2: the elements have a, b"):
        RowFieldExtractorSchema(2).expression(["a", "b"])
    with pytest.raises(IllegalArgumentError, match="0 or more, not -1"):
        RowFieldExtractorSchema(-1)
