"""Elements as Flink's print shows them.

A value of a declared type is Java's by the time that Flink prints it, so its text is Java's; an
element of no declared type is printed by Python.  These texts are for both, by the value alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np

from flinkish.common._composite_types import _ElementsTypeInfo
from flinkish.common.row import Row
from flinkish.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation, Types

__all__ = ["print_prefix", "printed", "text_of"]

# Double.toString writes numbers outside of these with an exponent.
_LEAST, _MOST = 1e-3, 1e7


def printed(value: Any) -> str:
    """The text of an element.

    Rows are ``+I[a, 1]`` with the short text of their kind (Row.toString), tuples ``(a,1)``
    (Tuple.toString), lists ``[a, b]`` and maps ``{a=1}`` (java.util), truth values ``true``, and
    None is ``null``; a float is written as by Double.toString, a datetime as by java.sql.Timestamp,
    and bytes as a list of Java's signed bytes.
    """
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _double(value)
    if isinstance(value, Row):
        fields = ", ".join(printed(one) for one in value)
        return f"{_kind_of(value)}[{fields}]"
    if isinstance(value, tuple):
        return f"({','.join(printed(one) for one in value)})"
    if isinstance(value, list):
        return f"[{', '.join(printed(one) for one in value)}]"
    if isinstance(value, bytes):
        return str([byte - 256 if byte > 127 else byte for byte in value])
    if isinstance(value, datetime) and value.tzinfo is None:
        fraction = f"{value.microsecond:06}".rstrip("0") or "0"
        return f"{value:%Y-%m-%d %H:%M:%S}.{fraction}"
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{printed(key)}={printed(one)}" for key, one in value.items())
        return f"{{{pairs}}}"
    return str(value)


def text_of(kind: TypeInformation) -> Callable[[Any], str]:
    """The function that gives the texts of elements of a type; a FLOAT has fewer digits."""
    narrow = _narrowing(kind)
    return printed if narrow is None else lambda value: printed(narrow(value))


def _narrowing(kind: TypeInformation) -> Callable[[Any], Any] | None:
    """A function that rounds each FLOAT to the digits that identify it; None without a FLOAT."""
    if kind == Types.FLOAT():
        return lambda value: None if value is None else float(str(np.float32(value)))
    if isinstance(kind, _ElementsTypeInfo) and (item := _narrowing(kind.elem_type)):
        return lambda values: None if values is None else [item(value) for value in values]
    if not isinstance(kind, (RowTypeInfo, TupleTypeInfo)):
        return None
    parts = [_narrowing(one) for one in kind.get_field_types()]
    if not any(parts):
        return None

    def narrow(value: Any) -> Any:
        if value is None:
            return None
        fields = [
            one if part is None else part(one) for one, part in zip(value, parts, strict=True)
        ]
        if isinstance(value, Row):
            return Row.of_kind(value.get_row_kind(), *fields)
        return tuple(fields)

    return narrow


def print_prefix(identifier: str | None, subtask: int, parallelism: int) -> str:
    """The text before each element: ``id:1> ``, counted from 1; nothing for one task without id."""
    if parallelism > 1:
        return f"{identifier}:{subtask + 1}> " if identifier else f"{subtask + 1}> "
    return f"{identifier}> " if identifier else ""


def _kind_of(row: Row) -> str:
    return str(row.get_row_kind())


def _double(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or _LEAST <= abs(value) < _MOST:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    first, *others = map(str, digits)
    power = len(others) + int(exponent)
    return f"{'-' if sign else ''}{first}.{''.join(others) or '0'}E{power}"
