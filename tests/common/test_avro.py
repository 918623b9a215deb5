"""Schemas of Avro as types of columns, and records as dicts, without Spark."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from flinkish.common._basic_types import DecimalTypeInfo, TimestampTypeInfo
from flinkish.common.avro import AvroSchema, GenericRecordAvroTypeInfo
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.row import Row
from flinkish.common.typeinfo import Types


def schema(*fields: tuple[str, Any], **more: Any) -> AvroSchema:
    """A record of these fields."""
    listed = [{"name": name, "type": kind} for name, kind in fields]
    return AvroSchema.parse_string(
        json.dumps({"type": "record", "name": "R", "fields": listed} | more)
    )


@pytest.mark.parametrize(
    ("avro", "kind"),
    [
        ("boolean", Types.BOOLEAN()),
        ({"type": "int"}, Types.INT()),
        (["null", "string"], Types.STRING()),
        ([{"type": "null"}, {"type": "long"}], Types.LONG()),
        (["int", "long", "null"], Types.LONG()),
        (["float", "double"], Types.DOUBLE()),
        ({"type": "string", "logicalType": "uuid"}, Types.STRING()),
        ({"type": "int", "logicalType": "date"}, Types.SQL_DATE()),
        (
            {"type": "fixed", "name": "F", "size": 5, "logicalType": "decimal", "precision": 9},
            DecimalTypeInfo(9, 0),
        ),
        ({"type": "long", "logicalType": "timestamp-micros"}, TimestampTypeInfo(zoned=True)),
        (
            {"type": "long", "logicalType": "local-timestamp-millis"},
            TimestampTypeInfo(wall_clock=True),
        ),
        (
            {"type": "array", "items": {"type": "map", "values": "int"}},
            Types.LIST(Types.MAP(Types.STRING(), Types.INT())),
        ),
    ],
)
def test_types_of_columns(avro: Any, kind: Any) -> None:
    assert schema(("x", avro)).record_type() == Types.ROW_NAMED(["x"], [kind])


def test_times_of_rows_have_no_zone() -> None:
    made = schema(("at", {"type": "long", "logicalType": "timestamp-millis"}))
    assert made.row_type() == Types.ROW_NAMED(["at"], [Types.SQL_TIMESTAMP()])


def test_types_are_known_by_name() -> None:
    """In the space of the record that names them, or by their full names."""
    enum = {"type": "enum", "name": "E", "symbols": ["A"]}
    made = schema(("a", enum), ("b", "E"), ("c", "n.s.E"), namespace="n.s")
    assert made.record_type().get_field_types() == [Types.STRING()] * 3
    inner = {"type": "record", "name": "other.I", "fields": [{"name": "e", "type": enum}]}
    made = schema(("a", inner), ("b", "other.E"), ("c", "other.I"), namespace="n.s")
    assert made.record_type().get_field_types()[1] == Types.STRING()


@pytest.mark.parametrize(
    ("avro", "error", "says"),
    [
        (["null", "R"], UnsupportedOperationError, "x is a record R within itself"),
        (["int", "string"], UnsupportedOperationError, "a column of Spark has one type: take"),
        (
            {"type": "int", "logicalType": "time-millis"},
            UnsupportedOperationError,
            "x is a time-millis, .* leave the logicalType out",
        ),
        ("E", IllegalArgumentError, "the type of x is 'E', which Avro has not"),
        ({"type": "array"}, IllegalArgumentError, r"the schema of x has no 'items': \{"),
        ({"type": "map", "values": "no"}, IllegalArgumentError, r"the type of x\{\} is 'no'"),
        (
            {"type": "record", "name": "I", "fields": [{"name": "y"}]},
            IllegalArgumentError,
            "has no 'type'",
        ),
    ],
)
def test_schemas_that_cannot_be_columns(avro: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        schema(("x", avro))


def test_what_is_no_schema() -> None:
    with pytest.raises(IllegalArgumentError, match="no schema of Avro, but no JSON"):
        AvroSchema.parse_string("{")
    with pytest.raises(IllegalArgumentError, match="the elements of Avro are records"):
        AvroSchema.parse_string('"int"')
    with pytest.raises(ArgumentTypeError, match="JSON in a str"):
        AvroSchema({"type": "int"})  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="a record has an AvroSchema"):
        GenericRecordAvroTypeInfo('"int"')  # type: ignore[arg-type]


def test_schemas_are_compared_by_content(tmp_path: Path) -> None:
    made = schema(("x", "int"))
    file = tmp_path / "schema.avsc"
    file.write_text(json.dumps(json.loads(str(made)), indent=2))
    read = AvroSchema.parse_file(str(file))
    assert (read, hash(read)) == (made, hash(made))
    assert str(read) != str(made)
    assert read != schema(("x", "long"))
    assert made != str(made)
    kind = GenericRecordAvroTypeInfo(made)
    assert pickle.loads(pickle.dumps(kind)) == kind
    assert repr(kind) == "GenericRecordAvroTypeInfo(R)"
    assert kind.to_ddl() == "struct<x:int>"


def test_records_are_dicts() -> None:
    inner = {"type": "record", "name": "I", "fields": [{"name": "y", "type": ["null", "double"]}]}
    kind = GenericRecordAvroTypeInfo(
        schema(("i", inner), ("l", {"type": "array", "items": ["null", "I"]}))
    )
    record = {"i": {"y": 1}, "l": [{"y": None}, None]}
    columns = kind.to_internal_type(record)
    assert columns == ((1.0,), [(None,), None])
    assert type(columns[0][0]) is float
    assert kind.from_internal_type(columns) == record
    # As Spark's structs come: Rows, or dicts in which a map is a list of pairs.
    assert kind.from_internal_type({"i": {"y": 2.0}, "l": []}) == {"i": {"y": 2.0}, "l": []}
    assert kind.to_internal_type(Row(i=Row(y=None), l=[])) == ((None,), [])
    assert kind.to_internal_type({"i": {}, "l": []}) == ((None,), [])
    assert (kind.to_internal_type(None), kind.from_internal_type(None)) == (None, None)
    assert kind.check(record) is None
    assert kind.check({"i": None, "l": []}) == (
        "i is None of type NoneType, and must be a dict with the fields y"
    )


def test_fixed_bytes_have_their_size() -> None:
    kind = GenericRecordAvroTypeInfo(schema(("f", {"type": "fixed", "name": "F", "size": 2})))
    assert kind.to_internal_type({"f": b"ab"}) == (b"ab",)
    with pytest.raises(IllegalArgumentError, match="must be 2 bytes"):
        kind.to_internal_type({"f": b"abc"})
