"""How elements become records and records elements: PyFlink's schemas, as expressions of SQL."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from flinkish.common.bulk import BulkWriterFactory, RowDataBulkWriterFactory
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.pyflink_names import pyflink_names
from flinkish.common.row_formats.decoder import RecordDecoder
from flinkish.common.row_formats.texts import TextDecoder, charset_of
from flinkish.common.typeinfo import TypeInformation, Types

if not TYPE_CHECKING:
    __getattr__ = pyflink_names(__name__)

__all__ = [
    "BulkWriterFactory",
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "ResultTypeQueryable",
    "RowDataBulkWriterFactory",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringSchema",
    "check_charset",
]


def check_charset(name: str) -> None:
    """UnsupportedOperationError for another charset of files than UTF-8."""
    if name.upper().replace("_", "-") not in ("UTF-8", "UTF8"):
        raise UnsupportedOperationError(
            f"Spark reads and writes files of text in UTF-8, and the charset is {name!r}: convert "
            "the files, or read them with spark.read.format('binaryFile') and decode their content"
        )


class ResultTypeQueryable(ABC):
    """An object that knows the type of the elements that it makes."""

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """The type of the elements."""


class DeserializationSchema(ResultTypeQueryable):
    """How bytes become elements."""

    def decoder(self) -> RecordDecoder | None:
        """The decoder that reads records in Python; None if `selections` read them in Spark."""
        return None

    def selections(self, column: str) -> Sequence[Sequence[str]]:
        """Lists of SQL expressions that read a column of bytes when selected one after the other.

        UnsupportedOperationError if `decoder` reads them.
        """
        raise UnsupportedOperationError(f"{type(self).__name__} reads records in Python")


class SerializationSchema:
    """How elements become bytes."""

    def encoder(self, kind: TypeInformation | None) -> Callable[[Any], bytes] | None:
        """The function that turns an element into bytes in Python; None if `expression` does that.

        ArgumentTypeError for elements of another type than the format's.
        """
        return None

    def expression(self, columns: Sequence[str]) -> str:
        """The SQL expression that turns the columns of an element into bytes.

        UnsupportedOperationError if `encoder` makes them.
        """
        raise UnsupportedOperationError(f"{type(self).__name__} writes records in Python")


class Encoder:
    """How elements become lines of a file."""

    def __init__(self, charset_name: str) -> None:
        self.charset = charset_name

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """Their texts, as print shows them; UnsupportedOperationError for other charsets."""
        check_charset(charset_name)
        return Encoder(charset_name)


class SimpleStringSchema(DeserializationSchema, SerializationSchema):
    """Texts in a charset."""

    def __init__(self, charset: str = "UTF-8") -> None:
        self._charset = charset_of(charset)

    def get_produced_type(self) -> TypeInformation:
        """The type of texts."""
        return Types.STRING()

    def decoder(self) -> RecordDecoder:
        """Texts; bytes that the charset cannot decode become U+FFFD; a tombstone fails the job."""
        return TextDecoder(self._charset)

    def expression(self, columns: Sequence[str]) -> str:
        """The bytes of the one column.

        ArgumentTypeError for elements of several columns.
        """
        if len(columns) != 1:
            raise ArgumentTypeError(
                "SimpleStringSchema writes texts, and these elements have the columns "
                f"{', '.join(columns)}: map them to texts, with output_type=Types.STRING()"
            )
        return f"encode(cast(`{columns[0]}` AS string), '{self._charset}')"


class ByteArraySchema(DeserializationSchema, SerializationSchema):
    """Bytes as they are."""

    def get_produced_type(self) -> TypeInformation:
        """The type of bytes."""
        return Types.PRIMITIVE_ARRAY(Types.BYTE())

    def selections(self, column: str) -> Sequence[Sequence[str]]:
        """One column of bytes; tombstones are left out."""
        return [[f"inline(filter(array(struct({column} AS value)), x -> x.value IS NOT NULL))"]]

    def expression(self, columns: Sequence[str]) -> str:
        """The one column.

        ArgumentTypeError for elements of several columns.
        """
        if len(columns) != 1:
            raise ArgumentTypeError(
                "ByteArraySchema writes bytes, and these elements have the columns "
                f"{', '.join(columns)}: map them to bytes, with "
                "output_type=Types.PRIMITIVE_ARRAY(Types.BYTE())"
            )
        return f"cast(`{columns[0]}` AS binary)"


class RowFieldExtractorSchema(SerializationSchema):
    """One field of rows, which is of bytes; for keys and values of Kafka's records."""

    def __init__(self, field_index: int) -> None:
        if field_index < 0:
            raise IllegalArgumentError(f"a field's index must be 0 or more, not {field_index}")
        self._index = field_index

    def expression(self, columns: Sequence[str]) -> str:
        """The column of the field; IllegalArgumentError if there are fewer."""
        if self._index >= len(columns):
            raise IllegalArgumentError(
                f"there is no field {self._index}: the elements have {', '.join(columns)}"
            )
        return f"cast(`{columns[self._index]}` AS binary)"
