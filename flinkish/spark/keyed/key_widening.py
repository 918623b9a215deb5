"""Types of key columns as state knows them, and keys that are read as a wider type than before.

Byte, Short and Integer of Java hash to their value, Long to its two halves: the same for what is
not negative, another number for what is.  A column that became bigint while there is state of int
keys therefore hashes as int what an int holds, and only what is wider as a bigint, for good.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flinkish.common.errors import IllegalArgumentError

__all__ = [
    "KEY_FUNCTION",
    "WIDENED_INT",
    "described_keys",
    "same_keys",
    "shown_keys",
    "shown_types",
    "widened_columns",
    "widening",
]

# How such a column hashes, for `flinkish.time.assign_to_key_groups`.
WIDENED_INT = "int|long"

# Keys that a function of the row gives.
KEY_FUNCTION = "a function of the row"

_NARROW = ("tinyint", "smallint", "int")
_WIDE = "bigint"
_WIDENED = "int widened to bigint"


def widened_columns(
    keys: Sequence[str], types: Sequence[str], widened_from: str | Mapping[str, str] | None
) -> tuple[str, ...]:
    """The names of key columns that are widened; IllegalArgumentError for what cannot be."""
    if widened_from is None:
        return ()
    if isinstance(widened_from, str):
        if len(keys) != 1:
            raise IllegalArgumentError(
                f"widened_from={widened_from!r} does not say which of the columns "
                f"{', '.join(keys) or 'of a key function'} it means; give {{'column': 'int'}}; a "
                "key function needs none, its ints hash by their size"
            )
        widened_from = {keys[0]: widened_from}
    found = dict(zip(keys, types, strict=True))
    for name, was in widened_from.items():
        if name not in found:
            raise IllegalArgumentError(
                f"widened_from names {name!r}, which is no key column; those are {', '.join(keys)}"
            )
        if was not in _NARROW or found[name] != _WIDE:
            raise IllegalArgumentError(
                f"widened_from says that {name!r} was {was!r}, and it is {found[name]}; a key can "
                f"be widened from {', '.join(_NARROW)} to {_WIDE}"
            )
    return tuple(widened_from)


def described_keys(
    keys: Sequence[str], types: Sequence[str], widened: Sequence[str]
) -> list[dict[str, str]]:
    """Key columns as plain data: names, types, and ``form``, which is equal where bytes are."""
    return [
        {"name": name, "type": kind, "form": _WIDENED if name in widened else _form(kind)}
        for name, kind in zip(keys, types, strict=True)
    ]


def _form(kind: str) -> str:
    if kind in _NARROW:
        return "int"
    if kind.startswith("decimal("):
        # Numbers of one scale are equal however many digits there may be.
        return f"decimal of scale {kind.rstrip(')').split(',')[1]}"
    return kind


def shown_types(keys: Sequence[Mapping[str, str]]) -> str:
    """The types of described keys, as an error shows them."""
    return ", ".join(map(_shown_type, keys))


def shown_keys(keys: Sequence[Mapping[str, str]]) -> str:
    """Described keys as an error shows them."""
    return "(" + ", ".join(f"{one['name']} {_shown_type(one)}" for one in keys) + ")"


def _shown_type(key: Mapping[str, str]) -> str:
    return key["type"] + (" widened from int" if key["form"] == _WIDENED else "")


def same_keys(was: Any, now: Any) -> bool:
    """Whether state of these keys is found under those, which may be wider."""
    if not isinstance(was, list) or not isinstance(now, list) or len(was) != len(now):
        return bool(was == now)
    return all(
        one["name"] == other["name"]
        and (one["form"] == other["form"] or (one["form"] == "int" and other["form"] == _WIDENED))
        for one, other in zip(was, now, strict=True)
    )


def widening(was: Any, now: Any) -> str | None:
    """Advice for keys that only became wider; None if they differ otherwise."""
    if not isinstance(was, list) or not isinstance(now, list) or len(was) != len(now):
        return None
    wider = {
        other["name"]: "int"
        for one, other in zip(was, now, strict=True)
        if one["form"] in ("int", _WIDENED) and other["form"] == _WIDE
    }
    retold = [
        other | {"form": _WIDENED if other["name"] in wider else other["form"]} for other in now
    ]
    if not wider or not same_keys(was, retold):
        return None
    given = repr("int") if len(now) == 1 else repr(wider)
    return f"call key_by(..., widened_from={given}), with which the state of these keys is found"
