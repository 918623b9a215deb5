"""Unions whose members look alike as MessagePack: two dataclasses, a UUID and a str.

msgspec refuses these, since the bytes do not tell which it is.  Here such a value travels as a pair
of the member's number and the value.  This is done wherever a type is a union or holds one in a
list, tuple, set or dict; not within fields of records, where a Struct's ``tag`` does the same.
"""

from __future__ import annotations

import collections.abc
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin, is_typeddict

import msgspec

__all__ = ["Plan", "plan_of"]

Change = Callable[[Any], Any]
Compile = Callable[[Any], Change]
"""Makes a decoder of a type; TypeError for one that cannot be decoded."""

_UNIONS = (Union, types.UnionType)
_SETS = (set, frozenset, collections.abc.Set, collections.abc.MutableSet)
_MAPS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_BARE: dict[Any, Any] = {
    list: list[Any],
    dict: dict[Any, Any],
    tuple: tuple[Any, ...],
    set: set[Any],
    frozenset: frozenset[Any],
}


@dataclass(frozen=True)
class Plan:
    """How values of a type travel: as values of ``kind``, changed before and after.

    ``pack`` and ``unpack`` are None where nothing needs to be changed, which is the rule.
    """

    kind: Any
    pack: Change | None = None
    unpack: Change | None = None


def plan_of(kind: Any, compile: Compile, pack_any: Change | None = None) -> Plan:
    """The plan for a type; most types travel as they are, values of Any as ``pack_any`` says."""
    if kind is Any and pack_any is not None:
        return Plan(Any, pack_any, _same)
    if pack_any is not None:
        kind = _BARE.get(kind, kind) if isinstance(kind, type) else kind
    origin, args = get_origin(kind), get_args(kind)
    if origin in _UNIONS:
        return _union(kind, args, compile, pack_any)
    if origin is Annotated or not args or origin is Literal:
        return Plan(kind)
    if origin is tuple and args[-1:] != (...,):
        return _tuple(kind, [plan_of(arg, compile, pack_any) for arg in args])
    if origin in _MAPS:
        return _map(kind, args[0], plan_of(args[1], compile, pack_any))
    inner = plan_of(args[0], compile, pack_any)
    if inner.pack is None or inner.unpack is None:
        return Plan(kind)
    pack, unpack = inner.pack, inner.unpack
    make: Callable[[Any], Any] = list
    if origin is tuple:
        make = tuple
    elif origin in _SETS:
        make = frozenset if origin is frozenset else set
    return Plan(
        list[inner.kind],  # type: ignore[name-defined]
        lambda values: [*map(pack, values)],
        lambda values: make(map(unpack, values)),
    )


def _tuple(kind: Any, plans: list[Plan]) -> Plan:
    if all(plan.pack is None for plan in plans):
        return Plan(kind)
    packs = [plan.pack or _same for plan in plans]
    unpacks = [plan.unpack or _same for plan in plans]
    kinds = tuple(plan.kind for plan in plans)
    return Plan(
        tuple[kinds],  # type: ignore[valid-type]
        lambda values: tuple(pack(v) for pack, v in zip(packs, values, strict=True)),
        lambda values: tuple(unpack(v) for unpack, v in zip(unpacks, values, strict=True)),
    )


def _map(kind: Any, key: Any, value: Plan) -> Plan:
    if value.pack is None or value.unpack is None:
        return Plan(kind)
    pack, unpack = value.pack, value.unpack
    return Plan(
        dict[key, value.kind],  # type: ignore[name-defined]
        lambda values: {k: pack(v) for k, v in values.items()},
        lambda values: {k: unpack(v) for k, v in values.items()},
    )


def _union(kind: Any, members: tuple[Any, ...], compile: Compile, pack_any: Change | None) -> Plan:
    plans = [plan_of(member, compile, pack_any) for member in members]
    if all(plan.pack is None for plan in plans):
        try:
            compile(kind)
        except TypeError:
            pass
        else:
            return Plan(kind)
    classes = [_class_of(member) for member in members]
    if len({*classes}) != len(classes):
        raise TypeError(f"members of {kind} are of the same class, so nothing tells them apart")
    decoders = [compile(plan.kind) for plan in plans]

    def pack(value: Any) -> tuple[int, Any]:
        number = _member(value, classes)
        change = plans[number].pack
        return number, value if change is None else change(value)

    def unpack(pair: tuple[int, msgspec.Raw]) -> Any:
        number, raw = pair
        if not 0 <= number < len(decoders):
            raise msgspec.ValidationError(f"Expected a member of {kind}, got number {number}")
        value = decoders[number](raw)
        change = plans[number].unpack
        return value if change is None else change(value)

    return Plan(tuple[int, msgspec.Raw], pack, unpack)


def _same(value: Any) -> Any:
    return value


def _class_of(kind: Any) -> Any:
    """The class of the values of a type."""
    while hasattr(kind, "__supertype__"):
        kind = kind.__supertype__
    if get_origin(kind) is Annotated:
        return _class_of(get_args(kind)[0])
    if get_origin(kind) is Literal:
        return type(get_args(kind)[0])
    if is_typeddict(kind):
        return dict
    return get_origin(kind) or kind


def _member(value: Any, classes: list[Any]) -> int:
    """The number of the member that a value is of."""
    if type(value) in classes:
        return classes.index(type(value))
    for number, kind in enumerate(classes):
        if kind is Any or isinstance(value, kind) or (kind is float and type(value) is int):
            return number
    names = ", ".join(getattr(kind, "__qualname__", str(kind)) for kind in classes)
    raise TypeError(f"Expected one of {names}, got {type(value).__qualname__}")
