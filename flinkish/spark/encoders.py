"""Values that an operator emits, as the columns that Spark gets."""

from __future__ import annotations

from datetime import tzinfo
from typing import Any, Protocol

import pyarrow as pa

from flinkish._core.columns.columns import RecordMismatch, columns_from_rows
from flinkish.common.errors import SchemaMismatchError, SerializationError
from flinkish.common.notes import shortened
from flinkish.common.typeinfo import PickledBytesTypeInfo, TypeInformation
from flinkish.spark.type_mapping import coerced, converter

__all__ = ["Encoder", "RowEncoder", "StructEncoder", "struct_columns"]


class Encoder(Protocol):
    """Makes a batch of what was emitted to one output.

    Threading: the task's thread.
    """

    def encode(self, values: list[Any]) -> pa.RecordBatch:
        """Values, at least one, as a batch of what the task gives Spark."""
        ...


class RowEncoder:
    """Values as rows of ``schema``; ``what`` says of whom, for messages.

    Numbers of another type than the declared ``kind`` become it as in PyFlink's coders: a float is
    an int without its fraction, a number a truth value.
    """

    def __init__(
        self, what: str, schema: pa.Schema, kind: TypeInformation | None, time_zone: tzinfo
    ) -> None:
        self.schema = schema
        self._what = what
        self._kind = kind
        self._convert = None if kind is None else converter(kind)
        self._time_zone = time_zone

    def encode(self, values: list[Any]) -> pa.RecordBatch:
        """A batch with a row for each value.

        SchemaMismatchError shows the value that does not fit, SerializationError the object of no
        declared type that cannot be pickled.
        """
        try:
            try:
                return self._columns(values)
            except RecordMismatch:
                if self._kind is None:
                    raise
                return self._columns([coerced(self._kind, value) for value in values])
        except RecordMismatch as error:
            declared = ", ".join(f"{field.name} {field.type}" for field in self.schema)
            raise SchemaMismatchError(
                f"{self._what} was declared as {declared}, and was given {error.row}: {error}",
                value=error.row,
                schema=declared,
            ) from error

    def _columns(self, values: list[Any]) -> pa.RecordBatch:
        if self._convert is not None:
            made: list[Any] = []
            try:
                made.extend(map(self._convert, values))  # what comes before an error stays
            except Exception as error:
                if not isinstance(self._kind, PickledBytesTypeInfo):
                    raise
                raise SerializationError(
                    f"{self._what} has no declared type, and was given "
                    f"{shortened(values[len(made)])}, which cannot be pickled: {error}; declare "
                    "the type, or give objects without locks, files and connections"
                ) from error
            values = made
        return columns_from_rows(values, self.schema, time_zone=self._time_zone)


class StructEncoder:
    """Rows of one of several outputs: a struct in the column ``index``, null in the others."""

    def __init__(self, rows: RowEncoder, columns: pa.Schema, index: int) -> None:
        self._rows = rows
        self._columns = columns
        self._index = index

    def encode(self, values: list[Any]) -> pa.RecordBatch:
        """A batch with a row for each value, its struct taken apart into columns."""
        return struct_columns(self._columns, self._index, self._rows.encode(values))


def struct_columns(columns: pa.Schema, index: int, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Rows as structs in one column, with nulls in all others."""
    structs = [pa.nulls(rows.num_rows, kind) for kind in columns.types]
    structs[index] = pa.StructArray.from_arrays(rows.columns, fields=list(rows.schema))
    return pa.RecordBatch.from_arrays(structs, schema=columns)
