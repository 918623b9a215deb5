"""Records of CSV as rows, by the rules of Flink's CsvRowDeserializationSchema."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from flinkish.common._composite_types import _ElementsTypeInfo
from flinkish.common.row_formats.csv_cells import CsvDialect, text_of_csv
from flinkish.common.row_formats.decoder import RecordDecoder
from flinkish.common.row_formats.errors import RecordError
from flinkish.common.row_formats.json_nodes import clean_text
from flinkish.common.row_formats.json_values import unreadable
from flinkish.common.row_formats.numbers import (
    BLANKS,
    decimal_of,
    double_of,
    fitted,
    float_of,
    integer_of,
    truth_of,
)
from flinkish.common.row_formats.times import instant_of, jdbc_date, jdbc_time, jdbc_timestamp
from flinkish.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    DecimalTypeInfo,
    InstantTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
    Types,
)

__all__ = ["CsvRecordDecoder", "CsvSettings"]

Read = Callable[[str], Any]


@dataclass(frozen=True)
class CsvSettings:
    """How rows are written as CSV.

    ``between`` separates elements within a cell, ``null`` is written for None.
    """

    dialect: CsvDialect = field(default_factory=CsvDialect)
    between: str = ";"
    null: str | None = None


class CsvRecordDecoder(RecordDecoder):
    """One line of cells per record.

    With ``ignores``, a cell that cannot be read and a cell that is missing are None, and a line
    that cannot be cut into cells, or has too many, is left out.
    """

    def __init__(self, produced: RowTypeInfo, settings: CsvSettings, *, ignores: bool) -> None:
        super().__init__(produced)
        self._arguments = (produced, settings, ignores)
        self._settings, self._ignores = settings, ignores
        self._names = produced.get_field_names()
        self._readers = [self._cell(type_) for type_ in produced.field_types]

    def __reduce__(self) -> tuple[Any, ...]:
        return _decoder, self._arguments

    def decode(self, record: bytes | None) -> list[Any]:
        """The row of the first line."""
        try:
            if record is None:
                raise RecordError("the record has no value (a tombstone)")
            cells = self._settings.dialect.first_line(text_of_csv(record))
            self._check_size(cells)
            return [self._row(cells)]
        except RecordError:
            if self._ignores:
                return []
            raise

    def _check_size(self, cells: list[str]) -> None:
        size = len(self._readers)
        if not size and self._ignores:
            return
        if size and len(cells) == size + 1 and not cells[-1].strip(BLANKS):
            cells.pop()  # a separator at the end of the line
        if len(cells) > size or (len(cells) < size and not self._ignores):
            raise RecordError(f"the line has {_cells(len(cells))}, and the row {size} fields")

    def _row(self, cells: list[str]) -> tuple[Any, ...]:
        values = []
        try:
            for read, cell in zip(self._readers, cells):  # noqa: B905
                values.append(read(cell))
        except RecordError as error:
            raise error.within(self._names[len(values)]) from None
        return tuple(values + [None] * (len(self._readers) - len(values)))

    def _cell(self, type_: TypeInformation) -> Read:
        """The function for a cell, which may hold several values."""
        if isinstance(type_, RowTypeInfo):
            return self._nullable_parts([self._item(field) for field in type_.field_types])
        if isinstance(type_, _ElementsTypeInfo) and type_ != Types.PRIMITIVE_ARRAY(Types.BYTE()):
            if isinstance(type_, PrimitiveArrayTypeInfo):
                raise unreadable(type_, "CSV")
            item = self._item(type_.elem_type)
            return lambda cell: [item(part) for part in self._split(cell)]
        return self._item(type_)

    def _split(self, cell: str) -> list[str]:
        if not cell.strip(BLANKS):
            return []
        return cell.split(self._settings.between) if self._settings.between else [cell]

    def _nullable_parts(self, items: list[Read]) -> Read:
        ignores = self._ignores

        def row(cell: str) -> tuple[Any, ...] | None:
            parts = self._split(cell)
            if not parts:
                return None
            if len(parts) != len(items) and not ignores:
                raise RecordError(
                    f"the cell has {len(parts)} values, and the row {len(items)} fields"
                )
            values = [read(part) for read, part in zip(items, parts)]  # noqa: B905
            return tuple(values + [None] * (len(items) - len(values)))

        return row

    def _item(self, type_: TypeInformation) -> Read:
        """The function for one value, which may be the text that stands for None."""
        read, null = self._value(type_), self._settings.null
        if not self._ignores:
            return read if null is None else lambda cell: None if cell == null else read(cell)

        def lenient(cell: str) -> Any:
            try:
                return None if cell == null else read(cell)
            except RecordError:
                return None

        return lenient

    def _value(self, type_: TypeInformation) -> Read:
        """The function for the text of one value."""
        return _reader(type_)


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"


def _decoder(produced: RowTypeInfo, settings: CsvSettings, ignores: bool) -> CsvRecordDecoder:
    return CsvRecordDecoder(produced, settings, ignores=ignores)


def _bytes(cell: str) -> bytes:
    try:
        return base64.b64decode(cell.replace("\r", "").replace("\n", ""), validate=True)
    except (binascii.Error, ValueError) as error:
        raise RecordError(f"{cell!r} is not Base64: {error}") from error


_BASIC: dict[BasicType, Read] = {
    BasicType.STRING: clean_text,
    BasicType.BOOLEAN: truth_of,
    BasicType.BYTE: lambda cell: integer_of(cell.strip(BLANKS), 8),
    BasicType.SHORT: lambda cell: integer_of(cell.strip(BLANKS), 16),
    BasicType.INT: lambda cell: integer_of(cell.strip(BLANKS), 32),
    BasicType.LONG: lambda cell: integer_of(cell.strip(BLANKS), 64),
    BasicType.FLOAT: float_of,
    BasicType.DOUBLE: double_of,
    BasicType.BIG_INT: lambda cell: integer_of(cell.strip(BLANKS), None),
    BasicType.BIG_DEC: lambda cell: decimal_of(cell.strip(BLANKS)),
}
_TIMES: dict[type[TypeInformation], Read] = {
    InstantTypeInfo: instant_of,
    DateTypeInfo: jdbc_date,
    TimeTypeInfo: jdbc_time,
    TimestampTypeInfo: jdbc_timestamp,
}


def _reader(type_: TypeInformation) -> Read:
    if isinstance(type_, BasicTypeInfo) and type_.basic_type in _BASIC:
        return _BASIC[type_.basic_type]
    if isinstance(type_, DecimalTypeInfo):
        precision, scale = type_.precision, type_.scale
        return lambda cell: fitted(decimal_of(cell.strip(BLANKS)), precision, scale)
    if type_ == Types.PRIMITIVE_ARRAY(Types.BYTE()):
        return _bytes
    for class_, read in _TIMES.items():
        if isinstance(type_, class_):
            return read
    raise unreadable(type_, "CSV")
