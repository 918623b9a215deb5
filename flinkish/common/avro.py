"""Avro's schemas, and the type of records that are dicts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from flinkish.common._basic_types import DecimalTypeInfo, TimestampTypeInfo
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.row import Row
from flinkish.common.typeinfo import RowTypeInfo, TypeInformation, Types

__all__ = ["AvroSchema", "GenericRecordAvroTypeInfo"]

Convert: TypeAlias = Callable[[Any], Any]

_BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())
_PRIMITIVES = {
    "boolean": Types.BOOLEAN(),
    "int": Types.INT(),
    "long": Types.LONG(),
    "float": Types.FLOAT(),
    "double": Types.DOUBLE(),
    "bytes": _BYTES,
    "string": Types.STRING(),
    "enum": Types.STRING(),
    "fixed": _BYTES,
}
_INSTANTS = ("timestamp-millis", "timestamp-micros")
_WALL_CLOCKS = ("local-timestamp-millis", "local-timestamp-micros")
_TIMES = ("time-millis", "time-micros")
# Unions without null that Spark reads as one type.
_WIDER = {frozenset(("int", "long")): "long", frozenset(("float", "double")): "double"}


class AvroSchema:
    """A schema of Avro, from JSON; `parse_string` and `parse_file` make it.

    IllegalArgumentError for a text that is no schema of a record.  UnsupportedOperationError for
    one that Spark cannot read as columns: records within themselves, times of day, and unions of
    several types other than null.
    """

    def __init__(self, json_schema: str) -> None:
        if not isinstance(json_schema, str):
            raise ArgumentTypeError(f"a schema of Avro is JSON in a str, not {json_schema!r}")
        self._text = json_schema
        _parsed(json_schema)

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """The schema of a JSON text."""
        return AvroSchema(json_schema)

    @staticmethod
    def parse_file(file_path: str) -> AvroSchema:
        """The schema of a file of JSON, on the driver's disk."""
        return AvroSchema(Path(file_path).read_text(encoding="utf-8"))

    def record_type(self) -> RowTypeInfo:
        """The fields as columns, whose points in time have the zone UTC."""
        kind: RowTypeInfo = _parsed(self._text).kind
        return kind

    def row_type(self) -> RowTypeInfo:
        """The fields as those of Rows, whose points in time are SQL_TIMESTAMPs, as in Flink."""
        kind: RowTypeInfo = _parsed(self._text, rows=True).kind
        return kind

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"AvroSchema({self._text})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AvroSchema):
            return NotImplemented
        return bool(json.loads(self._text) == json.loads(other._text))

    def __hash__(self) -> int:
        return hash(json.dumps(json.loads(self._text), sort_keys=True))


@dataclass(frozen=True)
class GenericRecordAvroTypeInfo(TypeInformation):
    """Records of Avro: dicts with the names of the schema's fields, and dicts and lists in them."""

    schema: AvroSchema

    def __post_init__(self) -> None:
        if not isinstance(self.schema, AvroSchema):
            raise ArgumentTypeError(
                f"a record has an AvroSchema.parse_string('...'), not {self.schema!r}"
            )

    def check(self, value: Any) -> str | None:
        """Why a value is no such record."""
        try:
            self.to_internal_type(value)
        except IllegalArgumentError as error:
            return str(error)
        return None

    def to_ddl(self) -> str:
        """The struct of its fields."""
        return self.schema.record_type().to_ddl()

    def need_conversion(self) -> bool:
        """Always: a column has no dicts."""
        return True

    def to_internal_type(self, obj: Any) -> Any:
        """The fields of a record in their order.

        IllegalArgumentError names the field that is wrong.
        """
        return None if obj is None else _parsed(str(self.schema)).write(obj)

    def from_internal_type(self, obj: Any) -> Any:
        """The record as a dict."""
        return None if obj is None else _parsed(str(self.schema)).read(obj)

    def __repr__(self) -> str:
        return f"GenericRecordAvroTypeInfo({_parsed(str(self.schema)).name})"


@dataclass(frozen=True)
class _Part:
    """A part of a schema: its type, and the functions to and from the values of columns."""

    kind: Any
    write: Convert
    read: Convert
    name: str = ""


@lru_cache(maxsize=256)
def _parsed(text: str, rows: bool = False) -> _Part:
    try:
        schema = json.loads(text)
    except ValueError as error:
        raise IllegalArgumentError(f"{text!r} is no schema of Avro, but no JSON: {error}") from None
    part = _Parser(rows).part(schema, "", "the record")
    if not isinstance(part.kind, RowTypeInfo):
        raise IllegalArgumentError(f"the elements of Avro are records, and the schema is {text}")
    return part


class _Parser:
    """Recursive descent over one schema; ``known`` has the types that it names."""

    def __init__(self, rows: bool) -> None:
        self.rows = rows
        self.known: dict[str, _Part | None] = {}

    def part(self, schema: Any, space: str, place: str) -> _Part:
        """A part that must not be None."""
        if isinstance(schema, list):
            return self.union(schema, space, place)
        name = schema.get("type") if isinstance(schema, dict) else schema
        if isinstance(name, (dict, list)):
            return self.part(name, space, place)
        given = schema if isinstance(schema, dict) else {}
        if name in ("record", "error"):
            return self.record(given, space, place)
        if name == "array":
            inside = _needed(given, "items", place)
            return self.array(self.part(inside, space, f"{place}[]"), place)
        if name == "map":
            return self.map(
                self.part(_needed(given, "values", place), space, f"{place}{{}}"), place
            )
        if name in _PRIMITIVES:
            return self.leaf(name, given, space, place)
        return self.named(name, space, place)

    def named(self, name: Any, space: str, place: str) -> _Part:
        """A type by the name that an earlier part of the schema gave it."""
        full = name if not isinstance(name, str) or "." in name or not space else f"{space}.{name}"
        full = full if full in self.known else name
        if full not in self.known:
            raise IllegalArgumentError(f"the type of {place} is {name!r}, which Avro has not")
        found = self.known[full]
        if found is None:
            raise UnsupportedOperationError(
                f"{place} is a record {name} within itself, and columns of Spark end somewhere: "
                "take bytes, and decode them with a library of Avro in a map"
            )
        return found

    def record(self, schema: Mapping[str, Any], space: str, place: str) -> _Part:
        full, space = _name(schema, space, place)
        self.known[full] = None
        inside = "" if place == "the record" else f"{place}."
        fields = _needed(schema, "fields", place)
        names = [_needed(field, "name", place) for field in fields]
        parts = [
            self.part(_needed(field, "type", place), space, inside + name)
            for field, name in zip(fields, names, strict=True)
        ]
        kind = RowTypeInfo([part.kind for part in parts], names)

        def write(value: Any) -> Any:
            if isinstance(value, Row) and value.get_field_names() is not None:
                value = value.as_dict()
            if not isinstance(value, Mapping):
                raise _unfit(place, value, f"a dict with the fields {', '.join(names)}")
            if not value.keys() <= set(names):
                more = ", ".join(map(str, value.keys() - set(names)))
                raise _unfit(place, value, f"a record without the fields {more}")
            return tuple(
                part.write(value.get(name)) for name, part in zip(names, parts, strict=True)
            )

        def read(value: Any) -> Any:
            values = value.values() if isinstance(value, dict) else value
            each = zip(names, parts, values, strict=True)
            return {name: part.read(one) for name, part, one in each}

        found = self.known[full] = _Part(kind, write, read, full)
        return found

    def array(self, item: _Part, place: str) -> _Part:
        def write(value: Any) -> Any:
            if not isinstance(value, (list, tuple)):
                raise _unfit(place, value, "a list")
            return [item.write(one) for one in value]

        return _Part(Types.LIST(item.kind), write, lambda value: [item.read(one) for one in value])

    def map(self, item: _Part, place: str) -> _Part:
        def write(value: Any) -> Any:
            if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
                raise _unfit(place, value, "a dict whose keys are texts")
            return {key: item.write(one) for key, one in value.items()}

        def read(value: Any) -> Any:
            pairs = value.items() if isinstance(value, dict) else value
            return {key: item.read(one) for key, one in pairs}

        return _Part(Types.MAP(Types.STRING(), item.kind), write, read)

    def union(self, schemas: list[Any], space: str, place: str) -> _Part:
        others = [one for one in schemas if one not in ("null", {"type": "null"})]
        simple = frozenset(one for one in others if isinstance(one, str))
        if len(others) > 1 and len(simple) == len(others) and simple in _WIDER:
            others = [_WIDER[simple]]
        if len(others) != 1:
            raise UnsupportedOperationError(
                f"{place} is one of {json.dumps(schemas)}, and a column of Spark has one type: "
                "take a union of null and one type, or a record with a field for each"
            )
        part = self.part(others[0], space, place)
        if len(others) == len(schemas):
            return part
        return _Part(
            part.kind,
            lambda value: None if value is None else part.write(value),
            lambda value: None if value is None else part.read(value),
        )

    def leaf(self, name: str, schema: Mapping[str, Any], space: str, place: str) -> _Part:
        kind = self.kind(name, schema, place)
        exact = float if name in ("float", "double") else None
        symbols = _needed(schema, "symbols", place) if name == "enum" else None
        size = _needed(schema, "size", place) if name == "fixed" and kind is _BYTES else None

        def write(value: Any) -> Any:
            if value is None:
                raise _unfit(place, value, f"a {name}: make its type a union with null")
            if symbols is not None and value not in symbols:
                raise _unfit(place, value, f"one of {', '.join(symbols)}")
            if size is not None and len(value) != size:
                raise _unfit(place, value, f"{size} bytes")
            return exact(value) if exact is not None and type(value) is int else value

        part = _Part(kind, write, kind.from_internal_type)
        if name in ("enum", "fixed"):
            self.known[_name(schema, space, place)[0]] = part
        return part

    def kind(self, name: str, schema: Mapping[str, Any], place: str) -> TypeInformation:
        logical = schema.get("logicalType")
        if logical in _TIMES:
            raise UnsupportedOperationError(
                f"{place} is a {logical}, and Spark's Avro has no times of day: leave the "
                "logicalType out, and read and write its number"
            )
        if logical == "date" and name == "int":
            return Types.SQL_DATE()
        if logical == "decimal" and name in ("bytes", "fixed"):
            return DecimalTypeInfo(_needed(schema, "precision", place), schema.get("scale", 0))
        if logical in _INSTANTS and name == "long":
            return Types.SQL_TIMESTAMP() if self.rows else TimestampTypeInfo(zoned=True)
        if logical in _WALL_CLOCKS and name == "long":
            return TimestampTypeInfo(wall_clock=True)
        return _PRIMITIVES[name]


def _needed(schema: Any, key: str, place: str) -> Any:
    if not isinstance(schema, Mapping) or key not in schema:
        raise IllegalArgumentError(f"the schema of {place} has no {key!r}: {json.dumps(schema)}")
    return schema[key]


def _name(schema: Mapping[str, Any], space: str, place: str) -> tuple[str, str]:
    """The full name of a named type, and the space of the names in it."""
    name = _needed(schema, "name", place)
    if "." in name:
        return name, name.rpartition(".")[0]
    space = schema.get("namespace", space)
    return (f"{space}.{name}" if space else name), space


def _unfit(place: str, value: Any, needed: str) -> IllegalArgumentError:
    return IllegalArgumentError(
        f"{place} is {value!r} of type {type(value).__name__}, and must be {needed}"
    )
