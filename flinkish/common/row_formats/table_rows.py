"""The formats of Flink's tables, where they differ from those of rows in DataStreams."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from flinkish.common.errors import IllegalArgumentError
from flinkish.common.row_formats.csv_records import CsvRecordDecoder, CsvSettings
from flinkish.common.row_formats.errors import RecordError
from flinkish.common.row_formats.json_nodes import NodeReader, clean_text, node_text, text_of
from flinkish.common.row_formats.json_records import JsonRecordDecoder
from flinkish.common.row_formats.json_values import BYTES, JsonValues, Read
from flinkish.common.row_formats.numbers import BLANKS, decimal_of, fitted
from flinkish.common.row_formats.times import TimeForms, iso_time, jdbc_timestamp
from flinkish.common.typeinfo import (
    DecimalTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
    Types,
)

__all__ = ["TIMESTAMP_FORMATS", "CsvTableDecoder", "JsonTableDecoder"]

TIMESTAMP_FORMATS = {
    "SQL": TimeForms(" ", zone="", local_zone="Z?"),
    "ISO-8601": TimeForms("T", zone="", local_zone="Z?", iso=True),
}


class _Number(float):
    """A number with the text that it had in the record."""

    __slots__ = ("text",)

    def __new__(cls, text: str) -> _Number:
        number = super().__new__(cls, text)
        number.text = text
        return number

    text: str


class _TableValues(JsonValues):
    """JSON values as column values: numbers keep all digits as texts and as decimals."""

    def _reader(self, type_: TypeInformation) -> Read:
        if isinstance(type_, DecimalTypeInfo):
            return lambda node: fitted(decimal_of(_digits(node)), type_.precision, type_.scale)
        read = super()._reader(type_)
        if isinstance(type_, MapTypeInfo):
            return _only(dict, read, "a JSON object")
        return _only(str, read, "Base64") if type_ == BYTES else read


def _only(class_: type, read: Read, what: str) -> Read:
    """A function for nodes of one class; it fails for other nodes."""

    def checked(node: Any) -> Any:
        if not isinstance(node, class_):
            raise RecordError(f"{node_text(node)} is not {what}")
        return read(node)

    return checked


def _digits(node: Any) -> str:
    if isinstance(node, (list, dict)):
        raise RecordError(f"{node_text(node)} is not a single value")
    return node.text if isinstance(node, _Number) else text_of(node).strip(BLANKS)


def _text(node: Any) -> str:
    if isinstance(node, _Number):
        return node.text
    return clean_text(node_text(node) if isinstance(node, (list, dict)) else text_of(node))


def _moment(text: str, forms: TimeForms) -> datetime:
    """A point in time: in UTC with a Z, and else in the session's zone, as a naive datetime."""
    value = forms.local_timestamp(text)
    return value.replace(tzinfo=timezone.utc) if text[-1:] in "zZ" else value


def _readers(forms: TimeForms) -> Mapping[TypeInformation, Read]:
    return {
        Types.STRING(): _text,
        TimeTypeInfo(): lambda node: forms.time(text_of(node))[0],
        TimestampTypeInfo(wall_clock=True): lambda node: forms.timestamp(text_of(node)),
        TimestampTypeInfo(): lambda node: _moment(text_of(node), forms),
    }


class JsonTableDecoder(JsonRecordDecoder):
    """Objects, and arrays of them, as rows of a table, as JsonRowDataDeserializationSchema does.

    ``timestamps`` is ``SQL`` or ``ISO-8601``.  Tombstones and blank lines are left out.
    """

    def __init__(
        self, produced: RowTypeInfo, timestamps: str = "SQL", *, ignores: bool, complete: bool
    ) -> None:
        if timestamps not in TIMESTAMP_FORMATS:
            raise IllegalArgumentError(
                f"the timestamps of JSON are in the format {' or '.join(TIMESTAMP_FORMATS)}, not "
                f"{timestamps!r}"
            )
        super().__init__(produced, ignores=ignores, complete=complete)
        self._timestamps = timestamps
        self._nodes = NodeReader(_Number)
        special = _readers(TIMESTAMP_FORMATS[timestamps])
        self._row = _TableValues(ignores, complete, special).row(produced)

    def __reduce__(self) -> tuple[Any, ...]:
        return _json, (*self._settings, self._timestamps)

    def decode(self, record: bytes | None) -> list[Any]:
        """The row; no element for a tombstone and for JSON ``null``."""
        return super().decode(record) if record is not None and record.strip() else []

    def _rows_of(self, node: Any) -> list[Any]:
        """The rows of a node: each element of an array is a row."""
        if not isinstance(node, list):
            return super()._rows_of(node)
        rows = []
        for element in node:
            try:
                rows += super()._rows_of(element)
            except RecordError:
                if not self._ignores:
                    raise
        return rows


def _json(
    produced: RowTypeInfo, ignores: bool, complete: bool, timestamps: str
) -> JsonTableDecoder:
    return JsonTableDecoder(produced, timestamps, ignores=ignores, complete=complete)


class CsvTableDecoder(CsvRecordDecoder):
    """Lines as rows of a table, as CsvRowDataDeserializationSchema reads them.

    Tombstones are left out.  An empty cell is None, unless its type is a text, since None is
    written so; in Flink it is an error.
    """

    def decode(self, record: bytes | None) -> list[Any]:
        """The row; no element for a tombstone."""
        return [] if record is None else super().decode(record)

    def __reduce__(self) -> tuple[Any, ...]:
        return _csv, self._arguments

    def _value(self, type_: TypeInformation) -> Read:
        if isinstance(type_, TimestampTypeInfo) and not type_.wall_clock:
            read: Read = _csv_moment
        elif isinstance(type_, TimeTypeInfo):
            read = iso_time
        else:
            read = super()._value(type_)
        if type_ == Types.STRING():
            return read
        return lambda cell: read(cell) if cell.strip(BLANKS) else None


def _csv(produced: RowTypeInfo, settings: CsvSettings, ignores: bool) -> CsvTableDecoder:
    return CsvTableDecoder(produced, settings, ignores=ignores)


def _csv_moment(cell: str) -> datetime:
    """A point in time: in UTC with a Z, and else in the session's zone, as a naive datetime."""
    text = cell.strip(BLANKS)
    value = jdbc_timestamp(text.removesuffix("Z"))
    return value.replace(tzinfo=timezone.utc) if text.endswith("Z") else value
