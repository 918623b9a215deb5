"""Rows in records of JSON and CSV, as PyFlink 2.3 reads and writes them."""

from __future__ import annotations

from datetime import datetime, time
from decimal import Decimal
from typing import Any

import pytest

from flinkish.common import Row, SimpleStringSchema, Types
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.row_formats.decoder import Records
from flinkish.common.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    RowFieldExtractorSchema,
    SerializationSchema,
)
from flinkish.datastream.formats.csv import (
    CsvRowDeserializationSchema,
)
from flinkish.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from flinkish.environment.connectors.kafka_sinks import _with_functions
from flinkish.spark.jobs.inputs import BoundedFormatInput, CollectionInput
from flinkish.spark.jobs.rounds import Round
from flinkish.spark.passes import JobScope

KIND = Types.ROW_NAMED(
    ["id", "s", "l"], [Types.INT(), Types.STRING(), Types.OBJECT_ARRAY(Types.STRING())]
)
PAIR = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])


def elements(spark: Any, schema: DeserializationSchema, *records: bytes | None) -> list[Any]:
    """The elements of the records of a partition, as a source of Kafka reads them."""
    frame = spark.createDataFrame(list(enumerate(records)), "offset bigint, value binary")
    frame = frame.coalesce(1).selectExpr("*", "'t' AS topic", "3 AS partition")
    decoder = schema.decoder()
    origin = ("topic", "partition", "offset")
    given = BoundedFormatInput(
        "records",
        {},
        [] if decoder is not None else schema.selections("value"),
        schema.get_produced_type(),
        records=None if decoder is None else Records(decoder, "value", origin),
    )
    rows = given._selected(frame)
    this = Round.over([(rows, given)], spark, None, JobScope(), "job")
    return [element for _, element in this.elements(this.sources[0])]


def written(spark: Any, schema: SerializationSchema, ddl: str, *rows: Any) -> list[bytes]:
    """The records that a schema makes of rows, as a sink to Kafka does it."""
    frame = spark.createDataFrame(list(rows), ddl)
    frame = frame.selectExpr(f"{schema.expression(frame.columns)} AS value")
    return [bytes(row.value) for row in frame.collect()]


def test_records_become_elements(spark: Any) -> None:
    """Through Spark's columns: all digits, nested rows, times of day, names in two spellings."""
    kind = Types.ROW_NAMED(
        ["n", "N", "d", "i", "t", "r", "m", "b", "at"],
        [
            Types.INT(),
            Types.STRING(),
            Types.BIG_DEC(),
            Types.BIG_INT(),
            Types.SQL_TIME(),
            Types.ROW_NAMED(["x", "y"], [Types.BIG_DEC(), Types.OBJECT_ARRAY(Types.BIG_INT())]),
            Types.MAP(Types.STRING(), Types.BIG_DEC()),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
            Types.SQL_TIMESTAMP(),
        ],
    )
    record = (
        b'{"n":"2","N":11.25,"d":3,"i":170141183460469231731687303715884105728,"t":"12:34:56Z",'
        b'"r":{"x":0.1234567890123456789012345,"y":[1,null]},"m":{"k":"1.50"},"b":"AQID",'
        b'"at":"2024-07-01T12:30:00.5Z"}'
    )
    schema = JsonRowDeserializationSchema.builder().type_info(kind).ignore_parse_errors().build()
    given = [record, b"no JSON", b'{"n":"x","N":"kept"}', None]
    first, second = elements(spark, schema, *given)
    assert first == Row(
        n=2,
        N="11.25",
        d=Decimal(3),
        i=170141183460469231731687303715884105728,
        t=time(12, 34, 56),
        r=Row(x=Decimal("0.1234567890123456789012345"), y=[1, None]),
        m={"k": Decimal("1.50")},
        b=b"\x01\x02\x03",
        at=datetime(2024, 7, 1, 12, 30, 0, 500_000),
    )
    assert (str(first.d), str(first.m["k"])) == ("3", "1.50")
    assert (second.n, second.N) == (None, "kept")
    assert elements(spark, SimpleStringSchema(), b"caf\xe9", b"x") == ["caf\ufffd", "x"]
    assert elements(spark, SimpleStringSchema("UTF-16"), "ab".encode("utf-16")) == ["ab"]
    assert elements(spark, ByteArraySchema(), b"\x00", None) == [b"\x00"]


def test_a_record_that_cannot_be_read(spark: Any) -> None:
    """The job fails with the field, the record, and where it is from."""
    schema = JsonRowDeserializationSchema.builder().type_info(PAIR).build()
    says = r"topic t, partition 3, offset 1: field a: 'x' is not an integer of 32 bits; the record"
    with pytest.raises(Exception, match=says):
        elements(spark, schema, b'{"a":1}', b'{"a":"x"}')
    with pytest.raises(Exception, match="offset 0: the record has no value"):
        elements(spark, SimpleStringSchema(), None)


def test_records_of_elements(spark: Any) -> None:
    """As a sink of Kafka makes them: parts in Python, others of columns."""
    kind = Types.ROW_NAMED(["d", "s"], [Types.BIG_DEC(), Types.STRING()])
    given = CollectionInput([Row(d=Decimal("3"), s="a b"), Row(d=None, s="é")], kind)
    this = Round.over([(given.frame(spark), given)], spark, None, JobScope(), "job")
    encode = JsonRowSerializationSchema.builder().with_type_info(kind).build().encoder(kind)
    functions = {"value": (encode, Types.PRIMITIVE_ARRAY(Types.BYTE()))}
    frame = _with_functions(this, this.sources[0], functions, None)
    assert frame.columns == ["value"]
    records = [bytes(row.value) for row in frame.collect()]
    assert records == [b'{"d":3,"s":"a b"}', '{"d":null,"s":"é"}'.encode()]
    frame = _with_functions(this, this.sources[0], functions, kind)
    assert [row.s for row in frame.collect()] == ["a b", "é"]


def test_what_is_refused_at_build() -> None:
    schema = JsonRowDeserializationSchema.builder().type_info(PAIR)
    with pytest.raises(IllegalArgumentError, match="take fail_on_missing_field"):
        schema.fail_on_missing_field().ignore_parse_errors().build()
    with pytest.raises(UnsupportedOperationError, match="give type_info"):
        schema.json_schema("{}")
    objects = Types.ROW_NAMED(["o"], [Types.PICKLED_BYTE_ARRAY()])
    with pytest.raises(ArgumentTypeError, match="JSON has no form for Pickled"):
        JsonRowDeserializationSchema.builder().type_info(objects).build()
    for kind in (Types.MAP(Types.STRING(), Types.INT()), Types.LIST(Types.INT()), Types.CHAR()):
        with pytest.raises(ArgumentTypeError, match="CSV has no form for"):
            CsvRowDeserializationSchema.Builder(Types.ROW_NAMED(["v"], [kind])).build()
    with pytest.raises(ArgumentTypeError, match="needs a row with a field"):
        CsvRowDeserializationSchema.Builder(Types.ROW_NAMED([], []))
    with pytest.raises(IllegalArgumentError, match="one character, not"):
        CsvRowDeserializationSchema.Builder(PAIR).set_field_delimiter("||")
    with pytest.raises(IllegalArgumentError, match="a name such as UTF-8"):
        SimpleStringSchema("latin-99")


def test_bytes(spark: Any) -> None:
    assert written(spark, ByteArraySchema(), "v binary", (b"\x01",)) == [b"\x01"]
    fields = "k binary, v binary"
    assert written(spark, RowFieldExtractorSchema(1), fields, (b"k", b"v")) == [b"v"]
    with pytest.raises(ArgumentTypeError, match="these elements have the columns a, b: map them"):
        ByteArraySchema().expression(["a", "b"])
    with pytest.raises(IllegalArgumentError, match="no field 2: the elements have a, b"):
        RowFieldExtractorSchema(2).expression(["a", "b"])
    with pytest.raises(IllegalArgumentError, match="0 or more, not -1"):
        RowFieldExtractorSchema(-1)
