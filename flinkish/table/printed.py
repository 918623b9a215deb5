"""Rows of results as Flink's ``TableResult.print`` shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from flinkish.common.row import Row
from flinkish.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    DecimalTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)
from flinkish.environment.texts import text_of

__all__ = ["print_known_rows", "print_rows"]

_MOST = 30
_NULL = "<NULL>"
_OP = "op"
_WIDTHS = {
    BasicType.BOOLEAN: 5,
    BasicType.BYTE: 4,
    BasicType.SHORT: 6,
    BasicType.INT: 11,
    BasicType.LONG: 20,
}


def print_rows(kind: RowTypeInfo, rows: Iterable[Row]) -> None:
    """Print rows as they come, in columns whose widths are of their types, and count them.

    The widths are those of Flink's TableauStyle: a type's longest text, 30 for one without a
    longest text; longer texts are cut.
    """
    names = kind.get_field_names()
    kinds = list(kind.field_types)
    widths = [max(_width(one), len(name)) for name, one in zip(names, kinds, strict=True)]
    line = "+".join(["", "-" * (len(_OP) + 2), *("-" * (width + 2) for width in widths), ""])
    count = 0
    for row in rows:
        if not count:
            print(line, _line(_OP, names, widths), line, sep="\n", flush=True)
        count += 1
        texts = [_text(value, one) for value, one in zip(row, kinds, strict=True)]
        print(_line(str(row.get_row_kind()), texts, widths), flush=True)
    if count:
        print(line)
    print(_count(count), flush=True)


def print_known_rows(kind: RowTypeInfo, rows: Iterable[Row]) -> None:
    """Print rows that are known, in columns as wide as their texts, without kinds of changes."""
    names = kind.get_field_names()
    texts = [["" if value is None else _cast(value) for value in row] for row in rows]
    widths = [max(map(len, map(_cut, column))) for column in zip(names, *texts, strict=True)]
    line = "+".join(["", *("-" * (width + 2) for width in widths), ""])
    print(line, _line(None, names, widths), line, sep="\n")
    for row in texts:
        print(_line(None, row, widths))
    print(line)
    print(_count(len(texts)), flush=True)


def _count(rows: int) -> str:
    return f"{rows} {'row' if rows == 1 else 'rows'} in set" if rows else "Empty set"


def _line(first: str | None, texts: Iterable[str], widths: Iterable[int]) -> str:
    cells = [text.rjust(width) for text, width in zip(map(_cut, texts), widths, strict=True)]
    return f"| {' | '.join(cells if first is None else [first, *cells])} |"


def _cut(text: str) -> str:
    return text if len(text) <= _MOST else f"{text[: _MOST - 3]}..."


def _width(kind: TypeInformation) -> int:
    """The length of the longest text of a type, and at least that of a null."""
    width = _MOST
    if isinstance(kind, BasicTypeInfo):
        width = _WIDTHS.get(kind.basic_type, _MOST)
    elif isinstance(kind, DecimalTypeInfo):
        width = kind.precision + 2
    elif isinstance(kind, DateTypeInfo):
        width = 10
    elif isinstance(kind, TimeTypeInfo):
        width = 8
    elif isinstance(kind, TimestampTypeInfo):
        width = 26
    return min(_MOST, max(width, len(_NULL)))


def _text(value: Any, kind: TypeInformation) -> str:
    """A value as Flink casts it to text."""
    if isinstance(value, float):
        return text_of(kind)(value)
    return _cast(value)


def _cast(value: Any) -> str:
    if value is None:
        return _NULL
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (bytes, bytearray)):
        return f"x'{value.hex()}'"
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, (Row, tuple)):
        return f"({', '.join(_inner(one) for one in value)})"
    if isinstance(value, list):
        return f"[{', '.join(_inner(one) for one in value)}]"
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_inner(key)}={_inner(one)}" for key, one in value.items())
        return f"{{{pairs}}}"
    return str(value)


def _inner(value: Any) -> str:
    return "NULL" if value is None else _cast(value)
