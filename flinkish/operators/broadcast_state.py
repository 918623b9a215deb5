"""Broadcast state: a map that all keys share, in as many copies as there are key groups.

Every key group holds a copy, in a row of its own (its number within the namespace
``broadcast-state``), so that it is kept, restored and moved with the key group's keys.  All copies
are alike, since every broadcast element writes to all of them; reading one is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from flinkish._core.state.key_rows import at_row
from flinkish._core.state.keyed_state import MapCell
from flinkish._core.state.table import StateTable
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.names import did_you_mean
from flinkish.state.api import BroadcastState, ReadOnlyBroadcastState
from flinkish.state.backend import KeyedStateBackend
from flinkish.state.descriptors import MapStateDescriptor

__all__ = ["BroadcastCopies", "check_descriptors"]

_NAMESPACE = "broadcast-state"


class _Copies:
    """The copies of one broadcast state in the key groups of a table."""

    def __init__(self, table: StateTable, cell: MapCell) -> None:
        self._table, self._cell = table, cell
        self.groups: Sequence[int] = ()

    def read(self, method: str, *args: Any) -> Any:
        call = getattr(self._cell, method)
        return at_row(self._table, self.groups[0], self.groups[0], _NAMESPACE, call, *args)

    def write(self, method: str, *args: Any) -> None:
        call = getattr(self._cell, method)
        for group in self.groups:
            at_row(self._table, group, group, _NAMESPACE, call, *args)


class _Readable(ReadOnlyBroadcastState[Any, Any]):
    """The read-only view that keyed elements and timers get."""

    def __init__(self, copies: _Copies) -> None:
        self._copies = copies

    def get(self, key: Any) -> Any:
        return self._copies.read("get", key)

    def contains(self, key: Any) -> bool:
        found: bool = self._copies.read("contains", key)
        return found

    def items(self) -> Iterable[tuple[Any, Any]]:
        pairs: Iterable[tuple[Any, Any]] = self._copies.read("items")
        return pairs

    def keys(self) -> Iterable[Any]:
        keys: Iterable[Any] = self._copies.read("keys")
        return keys

    def values(self) -> Iterable[Any]:
        values: Iterable[Any] = self._copies.read("values")
        return values

    def is_empty(self) -> bool:
        empty: bool = self._copies.read("is_empty")
        return empty

    def clear(self) -> None:
        raise UnsupportedOperationError(
            "broadcast state can only be changed in process_broadcast_element, where every key "
            "group sees the same change"
        )


class _Writable(_Readable, BroadcastState[Any, Any]):
    """The writable view that broadcast elements get."""

    def put(self, key: Any, value: Any) -> None:
        self._copies.write("put", key, value)

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        self._copies.write("put_all", dict_value)

    def remove(self, key: Any) -> None:
        self._copies.write("remove", key)

    def clear(self) -> None:
        self._copies.write("clear")


class BroadcastCopies:
    """The broadcast states that were declared, in the key groups that a table holds."""

    def __init__(
        self, descriptors: Sequence[MapStateDescriptor], backend: KeyedStateBackend
    ) -> None:
        self._table = backend.table
        self._descriptors = {one.get_name(): one for one in descriptors}
        self._copies = {
            name: _Copies(backend.table, backend.state(_kept(one)))
            for name, one in self._descriptors.items()
        }

    def move(self, groups: Sequence[int]) -> None:
        """Say which key groups the table holds now."""
        for copies in self._copies.values():
            copies.groups = groups
        self._first = groups[0]

    def use_row(self) -> None:
        """Make a row current in whose name elements without a key are handed over."""
        self._table.set_current_key(self._first, self._first, _NAMESPACE)

    def readable(self, descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState[Any, Any]:
        """A state to read; IllegalArgumentError for one that was not declared."""
        return _Readable(self._of(descriptor))

    def writable(self, descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        """A state to read and to write, likewise."""
        return _Writable(self._of(descriptor))

    def _of(self, descriptor: MapStateDescriptor) -> _Copies:
        if self._descriptors.get(descriptor.get_name()) != descriptor:
            raise IllegalArgumentError(
                f"there is no broadcast state {descriptor!r}; broadcast was called with "
                + ", ".join(map(repr, self._descriptors.values()))
                + did_you_mean(descriptor.get_name(), self._descriptors)
            )
        return self._copies[descriptor.get_name()]


def check_descriptors(descriptors: Sequence[Any]) -> Sequence[MapStateDescriptor]:
    """Refuse what cannot be broadcast state."""
    for one in descriptors:
        if not isinstance(one, MapStateDescriptor):
            raise ArgumentTypeError(f"broadcast state needs a MapStateDescriptor, not {one!r}")
        if one.ttl_config is not None:
            raise UnsupportedOperationError(f"broadcast state has no time to live: {one!r}")
    names = [one.get_name() for one in descriptors]
    if not names or len(set(names)) < len(names):
        raise IllegalArgumentError(
            f"broadcast needs at least one MapStateDescriptor, each of another name; it got {names}"
        )
    return descriptors


def _kept(descriptor: MapStateDescriptor) -> MapStateDescriptor:
    """The descriptor of a copy; a keyed state may have the same name."""
    return MapStateDescriptor(
        f"{_NAMESPACE}:{descriptor.get_name()}",
        descriptor.key_type_info,
        descriptor.value_type_info,
    )
