"""Namespaces of timers: how a window, or nothing, becomes part of a key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

__all__ = ["PLAIN_NAMESPACE", "VOID_NAMESPACE", "NamespaceSerializer"]


class NamespaceSerializer(ABC):
    """Turns namespaces into what a key may be, and back.  Equal ones have equal names."""

    name: str
    """Kept with the timers, so that a restart with another serializer is noticed.

    As in Flink's InternalTimerServiceImpl.
    """

    @abstractmethod
    def to_key(self, namespace: Any) -> Any:
        """A bool, int, float, str, bytes or tuple of these that stands for the namespace."""

    @abstractmethod
    def from_key(self, key: Any) -> Any:
        """The namespace that ``to_key`` made ``key`` of."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamespaceSerializer) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


class _Plain(NamespaceSerializer):
    name = "plain"

    def to_key(self, namespace: Any) -> Any:
        return namespace

    def from_key(self, key: Any) -> Any:
        return key


class _Void(NamespaceSerializer):
    name = "void"

    def to_key(self, namespace: Any) -> None:
        return None

    def from_key(self, key: Any) -> None:
        return None


PLAIN_NAMESPACE = _Plain()
"""Namespaces that are keys themselves: ints, strings, tuples; None is the void one."""

VOID_NAMESPACE = _Void()
"""No namespaces: whatever is given stands for the one and only."""
