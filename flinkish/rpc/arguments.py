"""Checks by the caller of arguments, as the receiver will check them.

A receiver in another process refuses arguments that are not of the declared types, but the caller
of a tell would never learn of that, and the caller of an ask late.  So the caller checks them
first: it compares the class of a scalar, an array or a table, and decodes all else after encoding.
"""

from __future__ import annotations

import datetime
import decimal
import re
import uuid
from collections.abc import Callable
from enum import Enum
from typing import Any, get_origin

import msgspec

from flinkish.rpc.wire_types import fields_of, parts, runs_user_code

__all__ = ["checked"]

_EXACT = frozenset({int, float, bool, str, bytes, type(None)})
# These are sent as texts, so the receiver could not tell them from a text.
_AS_TEXT = frozenset(
    {
        *(datetime.datetime, datetime.date, datetime.time, datetime.timedelta),
        *(decimal.Decimal, uuid.UUID),
    }
)
_DECODED = frozenset({str, bytes, int, float, list, dict})  # of Any
_PLACE = re.compile(r" - at `\$\[(\d+)\]([^`]*)`$")
_WHOLE = ("numpy", "pyarrow")


def checked(
    parameters: tuple[tuple[str, Any], ...],
    encode: Callable[[Any], bytes],
    decode: Callable[[Any], Any],
) -> Callable[[Any], bytes]:
    """``encode`` for arguments of these names and types; TypeError names the one that is wrong."""
    kinds = [type(None) if kind is None else kind for _, kind in parameters]
    exact = [kind if kind in _EXACT else None for kind in kinds]
    by_user = any(runs_user_code(kind) for kind in kinds)
    open_records = [_has_open_record(kind) for kind in kinds]

    def check(values: tuple[Any, ...]) -> bytes:
        seen = [*map(type, values)]
        if seen == exact:
            return encode(values)
        is_known = True
        for (name, _), kind, value in zip(parameters, kinds, values, strict=True):
            base = get_origin(kind) or kind
            is_whole = getattr(base, "__module__", "").startswith(_WHOLE)
            is_known &= is_whole or type(value) is base in _EXACT
            if (is_whole or base in _AS_TEXT) and not isinstance(value, base):
                raise _wrong(name, value, f"expected `{base.__qualname__}`")
        payload = encode(values)
        if is_known or by_user:
            return payload  # users' own functions decode only at the receiver
        try:
            decoded = decode(payload)
        except msgspec.ValidationError as error:
            place = _PLACE.search(str(error))
            if place is None:
                raise
            name, value = parameters[int(place[1])][0], values[int(place[1])]
            raise _wrong(name, value, f"{str(error)[: place.start()]}{place[2]}") from error
        for (name, _), is_open, value, back in zip(
            parameters, open_records, values, decoded, strict=True
        ):
            if is_open and (lost := _changed(value, back)) is not None:
                raise TypeError(
                    f"parameter {name!r} holds {lost[0]!r} where Any is declared, which would come "
                    f"to the other process as {lost[1]!r}: declare the type of that field"
                )
        return payload

    return check


def _wrong(name: str, value: Any, why: str) -> TypeError:
    text = repr(value)
    shown = text if len(text) <= 100 else f"{text[:100]}..."
    return TypeError(f"parameter {name!r} is {shown} ({type(value).__qualname__}): {why}")


def _has_open_record(kind: Any) -> bool:
    """Whether a record in it has a field of Any, whose values are sent without their class."""
    return any(
        Any in parts(hint) for part in parts(kind) for hint in (fields_of(part) or {}).values()
    )


def _changed(value: Any, back: Any) -> tuple[Any, Any] | None:
    """A part that decoding changed, before and after."""
    kind = type(value)
    if kind is not type(back) and type(back) in _DECODED:
        is_number = isinstance(value, (int, float)) and not isinstance(value, Enum)
        return None if is_number or kind.__module__ == "numpy" else (value, back)
    if isinstance(value, dict) and isinstance(back, dict):
        pairs = [*zip(value, back, strict=False), *zip(value.values(), back.values(), strict=False)]
    elif isinstance(value, (list, tuple)) and isinstance(back, (list, tuple)):
        pairs = [*zip(value, back, strict=False)]
    elif kind is type(back) and (fields := fields_of(kind)) is not None:
        pairs = [(getattr(value, name), getattr(back, name)) for name in fields]
    else:
        pairs = []
    return next((lost for pair in pairs if (lost := _changed(*pair)) is not None), None)
