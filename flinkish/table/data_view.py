"""PyFlink's collections for accumulators, as plain Python collections."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

__all__ = ["DataView", "ListView", "MapView"]

K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")


class DataView(ABC):
    """A collection in the accumulator of an AggregateFunction."""

    @abstractmethod
    def clear(self) -> None:
        """Remove all values."""


class ListView(DataView, Generic[T]):
    """A list of values."""

    def __init__(self) -> None:
        self._values: list[T] = []

    def get(self) -> Iterable[T]:
        """The values, in order."""
        return iter(self._values)

    def add(self, value: T) -> None:
        """Append a value."""
        self._values.append(value)

    def add_all(self, values: list[T]) -> None:
        """Append several values."""
        self._values.extend(values)

    def clear(self) -> None:
        """Remove all values."""
        self._values.clear()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListView) and other._values == self._values

    def __hash__(self) -> int:
        return hash(tuple(self._values))


class MapView(DataView, Generic[K, V]):
    """Values by key."""

    def __init__(self) -> None:
        self._values: dict[K, V] = {}

    def get(self, key: K) -> V:
        """The value of a key; KeyError without one."""
        return self._values[key]

    def put(self, key: K, value: V) -> None:
        """Set the value of a key."""
        self._values[key] = value

    def put_all(self, dict_value: Mapping[K, V]) -> None:
        """Set the values of several keys."""
        self._values.update(dict_value)

    def remove(self, key: K) -> None:
        """Remove a key; KeyError without one."""
        del self._values[key]

    def contains(self, key: K) -> bool:
        """Whether the key has a value."""
        return key in self._values

    def items(self) -> Iterable[tuple[K, V]]:
        """The pairs of keys and values."""
        return self._values.items()

    def keys(self) -> Iterable[K]:
        """The keys that have values."""
        return self._values.keys()

    def values(self) -> Iterable[V]:
        """The values of all keys."""
        return self._values.values()

    def is_empty(self) -> bool:
        """Whether no key has a value."""
        return not self._values

    def clear(self) -> None:
        """Remove all keys."""
        self._values.clear()
