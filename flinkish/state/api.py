"""The states of a key, as user functions see them.

These classes only say what there is.  The states that functions get are compiled and are
registered with them, so ``isinstance(state, ValueState)`` holds.  A state always stands for
the current key; reading one while there is none is an IllegalStateError.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

__all__ = [
    "AggregatingState",
    "AppendingState",
    "BroadcastState",
    "ListState",
    "MapState",
    "MergingState",
    "ReadOnlyBroadcastState",
    "ReducingState",
    "State",
    "ValueState",
]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")
OUT = TypeVar("OUT")


class State(ABC):
    """Something kept for the current key."""

    @abstractmethod
    def clear(self) -> None:
        """Forget what is kept for the current key."""


class ValueState(State, Generic[T]):
    """State that holds one value for each key, or none."""

    @abstractmethod
    def value(self) -> T | None:
        """The value, or None while there is none."""

    @abstractmethod
    def update(self, value: T | None) -> None:
        """Keep ``value``; None clears, as in Flink."""


class AppendingState(State, Generic[IN, OUT]):
    """Takes values one by one, gives what became of them."""

    @abstractmethod
    def get(self) -> OUT | None:
        """The result of the values so far."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Take one more value."""


class MergingState(AppendingState[IN, OUT], Generic[IN, OUT]):
    """An appending state of which two can be made one, as merging windows do."""


class ListState(MergingState[T, Iterable[T]], Generic[T]):
    """Values in the order in which they came."""

    @abstractmethod
    def get(self) -> Iterable[T]:
        """The values; empty while there are none."""

    @abstractmethod
    def update(self, values: Iterable[T]) -> None:
        """Keep these values in place of the ones so far; none clears."""

    @abstractmethod
    def add_all(self, values: Iterable[T]) -> None:
        """Add values at the end."""

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())


class _Readable(State, Generic[K, V]):
    """Values by keys of their own, to read."""

    @abstractmethod
    def get(self, key: K) -> V | None:
        """The value of ``key``, or None."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Whether there is a value for ``key``."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """Keys with their values."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """The keys that have a value."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """The values without their keys."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether there is no key."""

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class _Writable(_Readable[K, V], Generic[K, V]):
    """The same, to write as well."""

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Keep ``value`` under ``key``."""

    @abstractmethod
    def put_all(self, dict_value: dict[K, V]) -> None:
        """Keep all values of a dict under their keys."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Forget ``key``; nothing happens if it is not there."""

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)


class MapState(_Writable[K, V], Generic[K, V]):
    """Values by keys of their own."""


class ReadOnlyBroadcastState(_Readable[K, V], Generic[K, V]):
    """A map that all keys share, to read."""


class BroadcastState(_Writable[K, V], ReadOnlyBroadcastState[K, V], Generic[K, V]):
    """A map that all keys share, to read and to write."""


class ReducingState(MergingState[T, T], Generic[T]):
    """One value, into which a ReduceFunction folds each value that is added."""


class AggregatingState(MergingState[IN, OUT], Generic[IN, OUT]):
    """The accumulator of an AggregateFunction; ``get`` gives the function's result."""
