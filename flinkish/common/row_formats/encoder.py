"""Rows as records of JSON and CSV, as Flink's serialization schemas write them."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from typing import Any

from flinkish.common._composite_types import _ElementsTypeInfo
from flinkish.common.durations import Instant
from flinkish.common.row_formats.csv_records import CsvSettings
from flinkish.common.row_formats.errors import RecordError
from flinkish.common.row_formats.json_nodes import clean_text, node_text
from flinkish.common.row_formats.json_values import unreadable
from flinkish.common.row_formats.numbers import double_text, float_text
from flinkish.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)

__all__ = ["CsvEncoder", "JsonEncoder"]

Write = Callable[[Any], str]
_BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())
_LONGEST_PLAIN = 24  # Jackson quotes texts with more characters, whatever they are
# Jackson escapes surrogate pairs, which one character is here, and unpaired surrogates.
_OUTSIDE = re.compile("[\ud800-\udfff\U00010000-\U0010ffff]")
_EPOCH = datetime(1970, 1, 1)


def values_of(row: Any, row_type: RowTypeInfo | TupleTypeInfo) -> Sequence[Any]:
    """The values of a row's fields in their order."""
    if isinstance(row, dict) and isinstance(row_type, RowTypeInfo):
        return [row[name] for name in row_type.get_field_names()]
    values = list(row)
    if len(values) != len(row_type.field_types):
        raise RecordError(
            f"the format has {len(row_type.field_types)} fields, and {row!r} has {len(values)}"
        )
    return values


class JsonEncoder:
    """Writes a row as a JSON object with all fields: None is ``null``."""

    def __init__(self, row_type: RowTypeInfo) -> None:
        self._row_type = row_type
        self._write = _json_writer(row_type)

    def __reduce__(self) -> tuple[Any, ...]:
        return JsonEncoder, (self._row_type,)

    def __call__(self, row: Any) -> bytes:
        """The bytes of a record."""
        return _OUTSIDE.sub(_escaped, self._write(row)).encode()


def _escaped(char: re.Match[str]) -> str:
    units = char[0].encode("utf-16-be", "surrogatepass").hex().upper()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def _json_writer(type_: TypeInformation) -> Write:
    write = _json_value(type_)
    return lambda value: "null" if value is None else write(value)


def _json_value(type_: TypeInformation) -> Write:
    if isinstance(type_, (RowTypeInfo, TupleTypeInfo)):
        return _json_object(type_)
    if isinstance(type_, MapTypeInfo):
        item = _json_writer(type_.value_type_info)
        return lambda value: (
            f"{{{','.join(f'{node_text(str(name))}:{item(one)}' for name, one in value.items())}}}"
        )
    if isinstance(type_, _ElementsTypeInfo) and type_ != _BYTES:
        element = _json_writer(type_.elem_type)
        return lambda value: f"[{','.join(map(element, value))}]"
    if isinstance(type_, BasicTypeInfo) and type_.basic_type not in _TEXTS:
        number = _number(type_)
        return lambda value: number(value) if _is_finite(value) else node_text(number(value))
    text = _text_writer(type_, _JSON_TIMES, "JSON")
    return lambda value: node_text(text(value))


def _json_object(type_: RowTypeInfo | TupleTypeInfo) -> Write:
    if isinstance(type_, RowTypeInfo):
        names = type_.get_field_names()
    else:
        names = [f"f{index}" for index in range(len(type_.field_types))]
    heads = [f"{node_text(name)}:" for name in names]
    writers = [_json_writer(field_type) for field_type in type_.field_types]

    def write(row: Any) -> str:
        parts = zip(heads, writers, values_of(row, type_), strict=True)
        return f"{{{','.join(f'{head}{write(value)}' for head, write, value in parts)}}}"

    return write


def _is_finite(value: Any) -> bool:
    return not isinstance(value, float) or value - value == 0


def _number(type_: BasicTypeInfo) -> Write:
    """The text of a number or a truth value."""
    basic = type_.basic_type
    if basic is BasicType.BOOLEAN:
        return lambda value: "true" if value else "false"
    if basic is BasicType.FLOAT:
        return lambda value: float_text(float(value))
    if basic is BasicType.DOUBLE:
        return lambda value: double_text(float(value))
    return str


_TEXTS = (BasicType.STRING, BasicType.CHAR, BasicType.INSTANT)


def _fraction(micros: int) -> str:
    return f".{micros:06d}".rstrip("0") if micros else ""


def _clock(value: time | datetime) -> str:
    return f"{value:%H:%M:%S}"


def _day(value: date) -> str:
    return f"{value.year:04d}-{value:%m-%d}"


def _moment(value: Instant) -> datetime:
    return _EPOCH + timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)


def _plain(value: datetime) -> datetime:
    """A datetime without a zone; an aware datetime is converted to UTC first."""
    return value if value.tzinfo is None else value.astimezone(timezone.utc).replace(tzinfo=None)


def _iso(value: datetime) -> str:
    return f"{_day(value)}T{_clock(value)}{_fraction(value.microsecond)}Z"


def _instant(value: datetime) -> str:
    """A point in time with no, three or six digits of its second, as Instant.toString writes it."""
    digits = 3 if value.microsecond % 1000 == 0 else 6
    fraction = f".{value.microsecond:06d}"[: digits + 1] if value.microsecond else ""
    return f"{_day(value)}T{_clock(value)}{fraction}Z"


_JSON_TIMES: dict[type[TypeInformation], Write] = {
    DateTypeInfo: _day,
    TimeTypeInfo: lambda value: f"{_clock(value)}{_fraction(value.microsecond)}Z",
    TimestampTypeInfo: lambda value: _iso(_plain(value)),
    InstantTypeInfo: lambda value: _instant(_moment(value)),
}
_CSV_TIMES: dict[type[TypeInformation], Write] = {
    DateTypeInfo: _day,
    TimeTypeInfo: _clock,
    TimestampTypeInfo: lambda value: (
        f"{_day(_plain(value))} {_clock(_plain(value))}{_fraction(value.microsecond) or '.0'}"
    ),
    InstantTypeInfo: lambda value: (
        f"{_day(_moment(value))} {_clock(_moment(value))}{_fraction(value.nanos // 1000)}Z"
    ),
}


def _text_writer(
    type_: TypeInformation, times: dict[type[TypeInformation], Write], format_: str
) -> Write:
    """The function for values that are texts in a record."""
    if isinstance(type_, BasicTypeInfo) and (format_ == "JSON" or type_ == Types.STRING()):
        return str
    if type_ == _BYTES:
        return lambda value: base64.b64encode(bytes(value)).decode()
    for class_, write in times.items():
        if isinstance(type_, class_):
            return write
    raise unreadable(type_, format_)


@dataclass(frozen=True)
class CsvEncoder:
    """Writes a row as a line that ends with ``end``.

    As in Jackson, a text is quoted if it has more than 24 characters, or a character that is not
    above both the separator and the quote in Unicode.
    """

    row_type: RowTypeInfo
    settings: CsvSettings
    end: str = "\n"
    _writers: list[Callable[[Any], str]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        writers = [self._cell(type_) for type_ in self.row_type.field_types]
        object.__setattr__(self, "_writers", writers)

    def __reduce__(self) -> tuple[Any, ...]:
        return CsvEncoder, (self.row_type, self.settings, self.end)

    def __call__(self, row: Any) -> bytes:
        """The bytes of a record."""
        cells = zip(self._writers, values_of(row, self.row_type), strict=True)
        line = self.settings.dialect.separator.join(write(value) for write, value in cells)
        return clean_text(f"{line}{self.end}").encode()

    def _cell(self, type_: TypeInformation) -> Write:
        null = self.settings.null or ""
        if isinstance(type_, BasicTypeInfo) and type_.basic_type not in _TEXTS:
            number = _number(type_)
            return lambda value: null if value is None else number(value)
        write = self._text(type_)
        return lambda value: null if value is None else self._quoted(write(value))

    def _text(self, type_: TypeInformation) -> Write:
        """The function for the text of a cell, before it is quoted."""
        null = self.settings.null or ""
        if isinstance(type_, RowTypeInfo):
            parts = [self._part(one) for one in type_.field_types]
            return lambda row: self._joined(
                [
                    null if value is None else part(value)
                    for part, value in zip(parts, values_of(row, type_), strict=True)
                ]
            )
        if isinstance(type_, _ElementsTypeInfo) and type_ != _BYTES:
            if isinstance(type_, (PrimitiveArrayTypeInfo, ListTypeInfo)):
                raise unreadable(type_, "CSV")
            part = self._part(type_.elem_type)
            return lambda items: self._joined(
                [null if value is None else part(value) for value in items]
            )
        return self._part(type_)

    def _joined(self, parts: list[str]) -> str:
        return self.settings.between.join(parts)

    def _part(self, type_: TypeInformation) -> Write:
        if isinstance(type_, BasicTypeInfo) and type_.basic_type not in _TEXTS:
            return _number(type_)
        return _text_writer(type_, _CSV_TIMES, "CSV")

    def _quoted(self, text: str) -> str:
        dialect = self.settings.dialect
        quote, escape = dialect.quote, dialect.escape
        if quote is None or not text:
            return text
        least = max(dialect.separator, quote, "\r")
        if len(text) <= _LONGEST_PLAIN and min(text) > least and (escape or "\\") not in text:
            return text
        if escape:
            text = text.replace(escape, 2 * escape)
        return f"{quote}{text.replace(quote, 2 * quote)}{quote}"
