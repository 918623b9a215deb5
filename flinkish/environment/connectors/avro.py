"""Avro: files and records by Spark's own readers and writers, and Parquet of Avro's schemas.

All but Parquet needs Spark's module ``org.apache.spark:spark-avro_2.13`` in the session.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flinkish.common.avro import AvroSchema, GenericRecordAvroTypeInfo
from flinkish.common.bulk import BulkWriterFactory
from flinkish.common.ddl import schema_ddl
from flinkish.common.errors import ArgumentTypeError, UnsupportedOperationError
from flinkish.common.io import InputFormat
from flinkish.common.names import in_backticks
from flinkish.common.serialization import DeserializationSchema, SerializationSchema
from flinkish.common.typeinfo import RowTypeInfo, TypeInformation
from flinkish.environment.connectors.csv_cells import quotable
from flinkish.environment.connectors.files import FileSource, Reading, StreamFormat

if TYPE_CHECKING:
    from flinkish.spark.jobs.inputs import Input

__all__ = [
    "AvroBulkWriters",
    "AvroInputFormat",
    "AvroParquetReaders",
    "AvroParquetWriters",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
]

_RECORD = [["struct(*) AS value"]]
_SCHEMA = "avroSchema"


class AvroInputFormat(InputFormat):
    """The records of Avro files at a path, as dicts; ``create_input`` takes it."""

    def __init__(self, path: str, schema: AvroSchema) -> None:
        self._path = path
        self._kind = GenericRecordAvroTypeInfo(schema)

    def get_produced_type(self) -> GenericRecordAvroTypeInfo:
        """The type of the records."""
        return self._kind

    def input(self) -> Input:
        """The records, once."""
        schema = self._kind.schema
        ddl = schema_ddl(schema.record_type())
        reading = Reading("avro", self._kind, {_SCHEMA: str(schema)}, ddl, _RECORD)
        return FileSource((self._path,), reading, monitored=False).input()


class AvroParquetReaders:
    """Readers of Parquet files as records of Avro."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> StreamFormat:
        """Records as dicts, with the fields of the schema."""
        kind = GenericRecordAvroTypeInfo(schema)
        ddl = schema_ddl(schema.record_type())
        return StreamFormat(Reading("parquet", kind, {}, ddl, _RECORD))


class _RecordWriterFactory(BulkWriterFactory):
    """Dicts as the rows of files."""

    def __init__(self, format: str, schema: AvroSchema, options: dict[str, str]) -> None:
        super().__init__(format, options)
        self._kind = GenericRecordAvroTypeInfo(schema)

    def check(self, kind: TypeInformation | None) -> None:
        """ArgumentTypeError for what are no records of this schema."""
        if kind != self._kind:
            found = "no declared type" if kind is None else f"the type {kind}"
            raise ArgumentTypeError(
                f"the files have records of {self._kind}, and the elements have {found}: put "
                "map(lambda record: record, GenericRecordAvroTypeInfo(schema)), with the same "
                "schema, before the sink"
            )

    def expressions(self, columns: Sequence[str]) -> list[str]:
        """The fields of the one column."""
        [column] = map(in_backticks, columns)
        names = map(in_backticks, self._kind.schema.record_type().get_field_names())
        return [f"{column}.{name} AS {name}" for name in names]


class AvroBulkWriters:
    """Writers of Avro files."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Records that are dicts, with the fields of the schema."""
        return _RecordWriterFactory("avro", schema, {_SCHEMA: str(schema)})


class AvroParquetWriters:
    """Writers of Parquet files with the fields of Avro's schemas."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Records that are dicts; the files have the columns, not the text of the schema."""
        return _RecordWriterFactory("parquet", schema, {})


class AvroRowDeserializationSchema(DeserializationSchema):
    """Rows in Avro's binary encoding, without a header; a record that is none fails the job."""

    def __init__(
        self, record_class: str | None = None, avro_schema_string: str | None = None
    ) -> None:
        self._schema = _schema_of(record_class, avro_schema_string)
        self._kind = self._schema.row_type()

    def get_produced_type(self) -> TypeInformation:
        """The type of the rows."""
        return self._kind

    def selections(self, column: str) -> Sequence[Sequence[str]]:
        """The fields of the rows, read from a column of bytes."""
        read = f"from_avro({column}, {_literal(self._schema)}, map('mode', 'FAILFAST')) AS r"
        return [[read], _cast("r", self._kind)]


class AvroRowSerializationSchema(SerializationSchema):
    """Rows in Avro's binary encoding, without a header."""

    def __init__(
        self, record_class: str | None = None, avro_schema_string: str | None = None
    ) -> None:
        self._schema = _schema_of(record_class, avro_schema_string)
        self._kind = self._schema.row_type()

    def expression(self, columns: Sequence[str]) -> str:
        """The bytes of the columns, which are the schema's fields by their places."""
        names = self._kind.get_field_names()
        if len(names) != len(columns):
            raise ArgumentTypeError(
                f"the schema of Avro has the fields {', '.join(names)}, and the elements have "
                f"{', '.join(columns)}: declare the same type for both"
            )
        fields = ", ".join(
            f"cast({in_backticks(column)} AS {kind.to_ddl()}) AS {in_backticks(name)}"
            for column, name, kind in zip(columns, names, self._kind.field_types, strict=True)
        )
        return f"to_avro(struct({fields}), {_literal(self._schema)})"


def _schema_of(record_class: str | None, text: str | None) -> AvroSchema:
    if record_class is not None:
        raise UnsupportedOperationError(
            f"{record_class} is a class of Java, which Spark's Avro cannot take: give "
            "avro_schema_string, the text of the class's schema"
        )
    if text is None:
        raise ArgumentTypeError("a format of Avro needs avro_schema_string")
    return AvroSchema(text)


def _literal(schema: AvroSchema) -> str:
    return f"'{quotable(str(schema))}'"


def _cast(value: str, kind: RowTypeInfo) -> list[str]:
    fields = zip(kind.get_field_names(), kind.field_types, strict=True)
    return [
        f"cast({value}.{in_backticks(name)} AS {one.to_ddl()}) AS {in_backticks(name)}"
        for name, one in fields
    ]
