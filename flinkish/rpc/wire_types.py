"""Which types can travel, decided when a gateway is defined."""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import datetime
import decimal
import enum
import types
import typing
import uuid
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError

__all__ = ["Opaque", "codec_of", "has_opaque", "register_codec", "why_not"]

_SCALARS = frozenset(
    {
        *(type(None), bool, int, float, str, bytes, bytearray, Any),
        *(datetime.datetime, datetime.date, datetime.time, datetime.timedelta),
        *(decimal.Decimal, uuid.UUID),
    }
)
_CONTAINERS = frozenset(
    {
        *(list, tuple, dict, set, frozenset),
        *(collections.abc.Sequence, collections.abc.MutableSequence, collections.abc.Collection),
        *(collections.abc.Set, collections.abc.MutableSet),
        *(collections.abc.Mapping, collections.abc.MutableMapping),
    }
)
_TABLES = frozenset(
    {("numpy", "ndarray"), ("pyarrow.lib", "RecordBatch"), ("pyarrow.lib", "Table")}
)
_KNOWN = (
    "numbers, str, bytes, bool, None, lists, tuples, dicts, sets, datetimes, Decimal, UUID, Enum, "
    "dataclasses, NamedTuples, TypedDicts, msgspec Structs, NumPy arrays, Arrow record batches and "
    "tables, and Optional or Union of them"
)


class Opaque:
    """Marks a type that travels as bytes of a codec the user trusts: ``Annotated[T, Opaque]``.

    The codec is registered by :func:`register_codec` in every process, before the gateway is
    defined.  What it decodes comes from the wire: a codec that can be made to run code by its
    bytes, as pickle can, gives that power to every holder of the service's secret.
    """


@dataclasses.dataclass(frozen=True)
class Codec:
    """How values of an opaque type become bytes and come back."""

    name: str
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


_codecs: dict[type, Codec] = {}


def register_codec(
    kind: type,
    encode: Callable[[Any], bytes],
    decode: Callable[[bytes], Any],
    *,
    name: str | None = None,
) -> None:
    """Let values of exactly this class travel where they are marked :class:`Opaque`.

    ``name`` has to be the same in all processes; by default it is the class's qualified name.
    Registering a class again replaces its codec.
    """
    if not isinstance(kind, type) or not callable(encode) or not callable(decode):
        raise ArgumentTypeError(
            "register_codec takes a class and two functions, value -> bytes and bytes -> value, "
            f"not {kind!r}, {encode!r}, {decode!r}"
        )
    label = name or f"{kind.__module__}.{kind.__qualname__}"
    if any(codec.name == label and other is not kind for other, codec in _codecs.items()):
        raise IllegalArgumentError(f"another class has a codec with the name {label!r} already")
    _codecs[kind] = Codec(label, encode, decode)


def codec_of(kind: object) -> Codec | None:
    """The codec of a class, None without one."""
    return _codecs.get(kind) if isinstance(kind, type) else None


def _is_mark(mark: object) -> bool:
    return mark is Opaque or isinstance(mark, Opaque)


def fields_of(kind: object) -> dict[str, Any] | None:
    """Types of the fields of a record class; None for a class that is none."""
    if not isinstance(kind, type):
        return None
    if (
        dataclasses.is_dataclass(kind)
        or issubclass(kind, msgspec.Struct)
        or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
        or typing.is_typeddict(kind)
        or hasattr(kind, "__attrs_attrs__")
    ):
        hints = get_type_hints(kind, include_extras=True)
        return {
            name: hint for name, hint in hints.items() if get_origin(hint) is not typing.ClassVar
        }
    return None


def why_not(kind: Any, seen: frozenset[Any] = frozenset()) -> str | None:
    """Why values of a type cannot travel, as a sentence; None if they can."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is None and (kind is None or kind in _SCALARS):
        return None
    if origin is Annotated:
        if any(map(_is_mark, args[1:])):
            if codec_of(args[0]) is None:
                return (
                    f"{_name(args[0])} is marked Opaque and has no codec: call "
                    "register_codec(type, encode, decode) before the gateway is defined"
                )
            return None
        return why_not(args[0], seen)
    if origin is Literal:
        return None
    if origin in (Union, types.UnionType):
        return _first(args, seen)
    if (origin or kind) in _CONTAINERS:
        return _first([arg for arg in args if arg is not ...], seen)
    if isinstance(kind, TypeVar):
        return None if kind.__bound__ is None else why_not(kind.__bound__, seen)
    if hasattr(kind, "__supertype__"):
        return why_not(kind.__supertype__, seen)
    base = origin or kind
    if (getattr(base, "__module__", ""), getattr(base, "__qualname__", "")) in _TABLES:
        return None
    if isinstance(base, type) and issubclass(base, enum.Enum):
        return None
    fields = fields_of(base)
    if fields is not None:
        if base in seen:
            return None
        for name, hint in fields.items():
            reason = why_not(hint, seen | {base})
            if reason is not None:
                return f"its field {_name(base)}.{name} cannot: {reason}"
        return None
    if codec_of(base) is not None:
        return f"{_name(base)} has a codec and no mark: write Annotated[{_name(base)}, Opaque]"
    return (
        f"{_name(base)} is no type that travels, which are {_KNOWN}; others need Annotated[..., "
        "Opaque] and a codec"
    )


def _first(kinds: typing.Iterable[Any], seen: frozenset[Any]) -> str | None:
    return next((reason for kind in kinds if (reason := why_not(kind, seen)) is not None), None)


def _name(kind: object) -> str:
    return getattr(kind, "__qualname__", None) or repr(kind)


def parts(kind: Any, seen: frozenset[Any] = frozenset()) -> Iterator[Any]:
    """The type and all types within it, Annotated ones as they stand."""
    yield kind
    base = get_origin(kind) or kind
    if base is Annotated:
        yield from parts(get_args(kind)[0], seen)
        return
    inner: list[Any] = [arg for arg in get_args(kind) if arg is not ...]
    if isinstance(base, type) and base not in seen:
        inner += (fields_of(base) or {}).values()
        seen = seen | {base}
    if base is not Literal:
        for part in inner:
            yield from parts(part, seen)


def runs_user_code(kind: Any) -> bool:
    """Whether decoding a value of the type calls functions of users.

    These are codecs, ``__post_init__`` of records and ``_missing_`` of enums.
    """
    return has_opaque(kind) or any(map(_has_hooks, parts(kind)))


def _has_hooks(part: Any) -> bool:
    base = get_origin(part) or part
    if not isinstance(base, type) or base.__module__ == "builtins":
        return False
    if issubclass(base, enum.Enum):
        return base._missing_.__func__ is not enum.Enum._missing_.__func__  # type: ignore[attr-defined]
    return any(hasattr(base, name) for name in ("__post_init__", "__attrs_post_init__"))


def has_opaque(kind: Any) -> bool:
    """Whether a value of the type may have opaque parts."""
    return any(
        get_origin(part) is Annotated and any(map(_is_mark, get_args(part)[1:]))
        for part in parts(kind)
    )
