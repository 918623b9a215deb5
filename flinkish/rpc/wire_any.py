"""Values of ``Any``: they arrive unchanged, or are refused.

MessagePack turns a date into text and a tuple into a list, and without a declared type the
receiver cannot restore them.  So values of ``Any`` are inspected before they are sent, also in
lists, tuples, sets and dicts: MessagePack's types are sent as they are, Python's other values with
their class, and anything else is refused.  That costs a step for each value; declared types cost
nothing.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.msgpack import Ext

__all__ = ["VALUE", "pack_any", "unpack_value"]

VALUE = 5
"""The extension type of a value with its class."""

_NATIVE = frozenset({type(None), bool, float, str, bytes})


def _time(value: datetime.time | datetime.datetime) -> list[Any]:
    zone = value.utcoffset()
    if value.tzinfo is not None and (zone is None or zone.microseconds or zone.seconds % 60):
        raise TypeError(f"{value!r} has an offset from UTC that cannot be sent")
    return [value.isoformat(), value.fold]


_LISTED: dict[type, tuple[str, Callable[[Any], Any]]] = {
    tuple: ("tuple", tuple),
    set: ("set", set),
    frozenset: ("frozenset", frozenset),
}
_PLAIN: dict[type, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    bytearray: ("bytearray", bytes, bytearray),
    complex: ("complex", lambda value: [value.real, value.imag], lambda parts: complex(*parts)),
    datetime.date: ("date", datetime.date.isoformat, datetime.date.fromisoformat),
    datetime.time: (
        "time",
        _time,
        lambda parts: datetime.time.fromisoformat(parts[0]).replace(fold=parts[1]),
    ),
    datetime.datetime: (
        "datetime",
        _time,
        lambda parts: datetime.datetime.fromisoformat(parts[0]).replace(fold=parts[1]),
    ),
    datetime.timedelta: (
        "timedelta",
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda parts: datetime.timedelta(*parts),
    ),
    decimal.Decimal: ("decimal", str, decimal.Decimal),
    uuid.UUID: ("uuid", lambda value: value.bytes, lambda data: uuid.UUID(bytes=data)),
}
_MADE: dict[str, Callable[[Any], Any]] = {
    **dict(_LISTED.values()),
    **{name: make for name, _, make in _PLAIN.values()},
    "int": int,  # of more than 64 bits
}


def pack_any(encode: Callable[[Any], bytes]) -> Callable[[Any], Any]:
    """Turns a value into a form that arrives unchanged; ``encode`` turns its parts into bytes.

    TypeError for a value that has no such form.
    """

    def pack(value: Any) -> Any:
        kind = type(value)
        if kind in _NATIVE:
            return value
        if kind is int:
            if -(1 << 63) <= value < 1 << 64:
                return value
            return Ext(VALUE, encode(["int", str(value)]))
        if kind is list:
            return [pack(item) for item in value]
        if kind is dict:
            return {_key(key): pack(item) for key, item in value.items()}
        if kind in _LISTED:
            return Ext(VALUE, encode([_LISTED[kind][0], [pack(item) for item in value]]))
        if kind in _PLAIN:
            name, parts, _ = _PLAIN[kind]
            return Ext(VALUE, encode([name, parts(value)]))
        if kind.__module__.partition(".")[0] in ("numpy", "pyarrow"):
            return value  # which the encoder knows, or refuses
        raise TypeError(
            f"a {kind.__module__}.{kind.__qualname__} does not arrive unchanged where Any is "
            "declared: declare its type"
        )

    return pack


def _key(key: Any) -> Any:
    if type(key) in (str, int, float, bool, type(None), bytes):
        return key
    raise TypeError(
        f"the key {key!r} of a dict does not arrive unchanged where Any is declared: declare "
        "the type of the dict, or use str, bytes or numbers"
    )


def unpack_value(decode: Callable[[Any], Any], data: memoryview) -> Any:
    """The value that ``pack_any`` packed into an extension; ValidationError if there is none."""
    try:
        name, parts = decode(data)
        return _MADE[name](parts)
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise msgspec.ValidationError(f"received a value of an unknown class: {error}") from error
