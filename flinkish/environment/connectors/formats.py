"""Formats of rows in records: JSON and CSV, by Flink's rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.row_formats.csv_cells import CsvDialect
from flinkish.common.row_formats.csv_records import CsvRecordDecoder, CsvSettings
from flinkish.common.row_formats.decoder import RecordDecoder
from flinkish.common.row_formats.encoder import CsvEncoder, JsonEncoder
from flinkish.common.row_formats.errors import RecordError
from flinkish.common.row_formats.json_records import JsonRecordDecoder
from flinkish.common.serialization import DeserializationSchema, SerializationSchema
from flinkish.common.typeinfo import ListTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation

__all__ = [
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "JsonRowDeserializationSchema",
    "JsonRowSerializationSchema",
]


class _RowDeserializationSchema(DeserializationSchema):
    """Rows of a declared type in records."""

    def __init__(self, decoder: RecordDecoder) -> None:
        self._decoder = decoder

    def get_produced_type(self) -> TypeInformation:
        """The type of the rows."""
        return self._decoder.produced

    def decoder(self) -> RecordDecoder:
        """The format itself."""
        return self._decoder


class JsonRowDeserializationSchema(_RowDeserializationSchema):
    """Rows as JSON objects; `builder` makes it.

    Texts and numbers are converted to the declared types as in Flink: an INT takes ``"2"``, a
    STRING takes 11.25.  A record that cannot be read fails the job; the error names the field and
    where the record is from.
    """

    class Builder:
        """The settings of the format."""

        def __init__(self) -> None:
            self._type: TypeInformation | None = None
            self._ignores = False
            self._complete = False

        def type_info(self, type_info: TypeInformation) -> JsonRowDeserializationSchema.Builder:
            """Set the type of the rows, with names of fields."""
            self._type = type_info
            return self

        def json_schema(self, json_schema: str) -> JsonRowDeserializationSchema.Builder:
            """Refused: types of rows come from `type_info`."""
            raise UnsupportedOperationError(
                "a JSON schema is not read here: give type_info(Types.ROW_NAMED(...)) with the "
                "schema's properties"
            )

        def fail_on_missing_field(self) -> JsonRowDeserializationSchema.Builder:
            """Fail for a record that lacks a field, whose value would be None."""
            self._complete = True
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """Give None for a field that cannot be read, and leave out records that are not JSON.

            A JSON record that is not an object is left out, too.
            """
            self._ignores = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """Make the format.

            ArgumentTypeError for a type that JSON cannot represent.
            """
            if self._ignores and self._complete:
                raise IllegalArgumentError(
                    "a record that lacks a field fails the job or is left out: take "
                    "fail_on_missing_field() or ignore_parse_errors()"
                )
            row_type = _readable_type(self._type, "JsonRowDeserializationSchema")
            with _refused_types():
                return JsonRowDeserializationSchema(
                    JsonRecordDecoder(row_type, ignores=self._ignores, complete=self._complete)
                )

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """Begin with no settings."""
        return JsonRowDeserializationSchema.Builder()


class CsvRowDeserializationSchema(_RowDeserializationSchema):
    """Rows as lines of values; the constructor of its `Builder` takes their type.

    A record is one line; line ends may be within quotes, and text after the line is ignored.
    """

    class Builder:
        """The settings of the format."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._type = _readable_type(type_info, "CsvRowDeserializationSchema")
            self._dialect = CsvDialect()
            self._between = ";"
            self._null: str | None = None
            self._ignores = False

        def set_allow_comments(self, allow_comments: bool) -> CsvRowDeserializationSchema.Builder:
            """Skip lines that begin with ``#``; a record with only such lines cannot be read."""
            return self._set(comments=allow_comments)

        def set_array_element_delimiter(
            self, delimiter: str
        ) -> CsvRowDeserializationSchema.Builder:
            """Set what is between elements of arrays and of nested rows, ";" by default."""
            self._between = delimiter
            return self

        def set_field_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            """Set the character between two values, "," by default."""
            return self._set(separator=_character(delimiter, "the field delimiter"))

        def set_quote_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """Set what is around values that have delimiters in them; one character."""
            return self._set(quote=_character(c, "the quote character"))

        def set_escape_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """Set what is before a character that has no meaning of its own; one character."""
            return self._set(escape=_character(c, "the escape character"))

        def set_null_literal(self, null_literal: str) -> CsvRowDeserializationSchema.Builder:
            """Set the text that stands for None."""
            self._null = null_literal
            return self

        def set_ignore_parse_errors(
            self, ignore_parse_errors: bool
        ) -> CsvRowDeserializationSchema.Builder:
            """Return None for values that are missing or not of their types.

            A record with too many values, or with a quote that is not closed, is left out.
            """
            self._ignores = ignore_parse_errors
            return self

        def build(self) -> CsvRowDeserializationSchema:
            """Make the format.

            ArgumentTypeError for a type that CSV cannot represent.
            """
            for type_ in self._type.field_types:
                if isinstance(type_, ListTypeInfo):
                    raise ArgumentTypeError(
                        f"Flink's CSV has no form for {type_}: declare "
                        "Types.OBJECT_ARRAY(...), whose values are lists as well"
                    )
            settings = CsvSettings(self._dialect, self._between, self._null)
            with _refused_types():
                return CsvRowDeserializationSchema(
                    CsvRecordDecoder(self._type, settings, ignores=self._ignores)
                )

        def _set(self, **settings: Any) -> CsvRowDeserializationSchema.Builder:
            self._dialect = replace(self._dialect, **settings)
            return self


@contextmanager
def _refused_types() -> Iterator[None]:
    """Raise an error in a format's definition as an ArgumentTypeError."""
    try:
        yield
    except RecordError as error:
        raise ArgumentTypeError(str(error)) from None


def _readable_type(type_: TypeInformation | None, what: str) -> RowTypeInfo:
    row_type = _row_type(type_, what)
    if not row_type.field_types:
        raise ArgumentTypeError(
            f"{what} needs a row with a field, since Spark has no rows without columns"
        )
    return row_type


def _character(char: str, what: str) -> str:
    if len(char) != 1:
        raise IllegalArgumentError(f"{what} is one character, not {char!r}")
    return char


class _RowSerializationSchema(SerializationSchema):
    """Rows of a declared type as records."""

    def __init__(self, row_type: RowTypeInfo, encode: Callable[[Any], bytes]) -> None:
        self._row_type = row_type
        self._encode = encode

    def encoder(self, kind: TypeInformation | None) -> Callable[[Any], bytes]:
        """The format itself; ArgumentTypeError for elements that are not rows of as many fields."""
        fields = kind.field_types if isinstance(kind, (RowTypeInfo, TupleTypeInfo)) else None
        if fields is None or len(fields) != len(self._row_type.field_types):
            found = "no declared type" if kind is None else f"the type {kind}"
            raise ArgumentTypeError(
                f"the format has the fields {', '.join(self._row_type.get_field_names())}, and the "
                f"elements have {found}: declare the same type for both"
            )
        return self._encode


class JsonRowSerializationSchema(_RowSerializationSchema):
    """Rows as JSON objects, as Flink writes them; `builder` makes it."""

    class Builder:
        """The settings of the format."""

        def __init__(self) -> None:
            self._type: TypeInformation | None = None

        def with_type_info(self, type_info: TypeInformation) -> JsonRowSerializationSchema.Builder:
            """Set the type of the rows, with names of fields."""
            self._type = type_info
            return self

        def build(self) -> JsonRowSerializationSchema:
            """Make the format; ArgumentTypeError for a type that JSON cannot represent."""
            row_type = _row_type(self._type, "JsonRowSerializationSchema")
            with _refused_types():
                return JsonRowSerializationSchema(row_type, JsonEncoder(row_type))

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """Begin with no settings."""
        return JsonRowSerializationSchema.Builder()


class CsvRowSerializationSchema(_RowSerializationSchema):
    """Rows as lines of values, as Flink writes them; its `Builder` takes their type."""

    class Builder:
        """The settings of the format."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._type = _row_type(type_info, "CsvRowSerializationSchema")
            self._dialect = CsvDialect()
            self._between = ";"
            self._null: str | None = None
            self._end = "\n"

        def set_field_delimiter(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set the character between two values, "," by default."""
            return self._set(separator=_character(c, "the field delimiter"))

        def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            r"""Set the end of each record: ``\n``, the default, ``\r``, both, or nothing."""
            if delimiter not in ("\n", "\r", "\r\n", ""):
                raise IllegalArgumentError(
                    rf"a record of CSV ends with \n, \r, \r\n or nothing, not {delimiter!r}"
                )
            self._end = delimiter
            return self

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """Set what is between elements of arrays and of nested rows, ";" by default."""
            self._between = delimiter
            return self

        def disable_quote_character(self) -> CsvRowSerializationSchema.Builder:
            """Never quote values, whatever they contain."""
            return self._set(quote=None)

        def set_quote_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set what is around values that have delimiters in them; one character."""
            return self._set(quote=_character(c, "the quote character"))

        def set_escape_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set the escape character: within quotes it is doubled, as the quote character is."""
            return self._set(escape=_character(c, "the escape character"))

        def set_null_literal(self, s: str) -> CsvRowSerializationSchema.Builder:
            """Set the text that stands for None."""
            self._null = s
            return self

        def build(self) -> CsvRowSerializationSchema:
            """Make the format; ArgumentTypeError for a type that CSV cannot represent."""
            settings = CsvSettings(self._dialect, self._between, self._null)
            with _refused_types():
                encode = CsvEncoder(self._type, settings, self._end)
            return CsvRowSerializationSchema(self._type, encode)

        def _set(self, **settings: Any) -> CsvRowSerializationSchema.Builder:
            self._dialect = replace(self._dialect, **settings)
            return self


def _row_type(kind: TypeInformation | None, what: str) -> RowTypeInfo:
    if not isinstance(kind, RowTypeInfo):
        raise ArgumentTypeError(
            f"{what} is of rows, so it needs type information such as "
            f"Types.ROW_NAMED(['id'], [Types.LONG()]), not {kind}"
        )
    return kind
