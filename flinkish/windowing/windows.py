"""Windows, and how they become bytes."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from typing import Any

from flinkish._core.windows.time_window import TimeWindow
from flinkish.common.serializer import Readable, TypeSerializer, Writable
from flinkish.common.timestamps import MAX_TIMESTAMP
from flinkish.time.namespaces import NamespaceSerializer

__all__ = [
    "CountWindow",
    "CountWindowSerializer",
    "GlobalWindow",
    "GlobalWindowSerializer",
    "TimeWindow",
    "TimeWindowSerializer",
    "TypeSerializer",
    "Window",
    "namespaces_of",
]


class Window(ABC):
    """A group of elements of a key: equal windows must have equal hashes."""

    @abstractmethod
    def max_timestamp(self) -> int:
        """The last time (ms) that belongs to the window."""


Window.register(TimeWindow)


class GlobalWindow(Window):
    """The one window that holds everything; it never ends."""

    _only: GlobalWindow | None = None

    @staticmethod
    def get() -> GlobalWindow:
        """The one window that there is of this kind."""
        if GlobalWindow._only is None:
            GlobalWindow._only = GlobalWindow()
        return GlobalWindow._only

    def max_timestamp(self) -> int:
        """The end of time."""
        return MAX_TIMESTAMP

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobalWindow)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "GlobalWindow()"


class CountWindow(Window):
    """The window number ``id`` of windows that hold a number of elements."""

    def __init__(self, id: int) -> None:
        self.id = id

    def max_timestamp(self) -> int:
        """The end of time: only elements fill the window."""
        return MAX_TIMESTAMP

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CountWindow) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"CountWindow(id={self.id})"


class TimeWindowSerializer(TypeSerializer[TimeWindow]):
    """Start and end, eight bytes each."""

    def serialize(self, element: TimeWindow, stream: Writable) -> None:
        """Write start and end, in ms, as two integers of 8 bytes."""
        stream.write(struct.pack(">qq", element.start, element.end))

    def deserialize(self, stream: Readable) -> TimeWindow:
        """Read the window that ``serialize`` wrote."""
        return TimeWindow(*struct.unpack(">qq", stream.read(16)))


class CountWindowSerializer(TypeSerializer[CountWindow]):
    """The number, eight bytes."""

    def serialize(self, element: CountWindow, stream: Writable) -> None:
        """Write the number of the window as an integer of 8 bytes."""
        stream.write(struct.pack(">q", element.id))

    def deserialize(self, stream: Readable) -> CountWindow:
        """Read the window that ``serialize`` wrote."""
        return CountWindow(*struct.unpack(">q", stream.read(8)))


class GlobalWindowSerializer(TypeSerializer[GlobalWindow]):
    """One byte, since there is only one."""

    def serialize(self, element: GlobalWindow, stream: Writable) -> None:
        """Write one byte, since all such windows are the same."""
        stream.write(b"\0")

    def deserialize(self, stream: Readable) -> GlobalWindow:
        """Read the byte that ``serialize`` wrote, and give the window."""
        stream.read(1)
        return GlobalWindow.get()


class _TimeNamespaces(NamespaceSerializer):
    name = "time-window"

    def to_key(self, namespace: TimeWindow) -> tuple[int, int]:
        return namespace.start, namespace.end

    def from_key(self, key: tuple[int, int]) -> TimeWindow:
        return TimeWindow(*key)


class _CountNamespaces(NamespaceSerializer):
    name = "count-window"

    def to_key(self, namespace: CountWindow) -> int:
        return namespace.id

    def from_key(self, key: int) -> CountWindow:
        return CountWindow(key)


class _GlobalNamespaces(NamespaceSerializer):
    name = "global-window"

    def to_key(self, namespace: GlobalWindow) -> int:
        return 0

    def from_key(self, key: int) -> GlobalWindow:
        return GlobalWindow.get()


class _SerializedNamespaces(NamespaceSerializer):
    def __init__(self, serializer: Any) -> None:
        self._serializer = serializer
        self.name = f"{type(serializer).__module__}.{type(serializer).__qualname__}"

    def to_key(self, namespace: Any) -> bytes:
        stream = _Stream()
        self._serializer.serialize(namespace, stream)
        return b"".join(stream.parts)

    def from_key(self, key: bytes) -> Any:
        return self._serializer.deserialize(_Stream(key))


class _Stream:
    """Bytes to be written, or to be read from the front."""

    def __init__(self, data: bytes = b"") -> None:
        self.parts: list[bytes] = []
        self._data = data
        self._at = 0

    def write(self, data: bytes) -> None:
        self.parts.append(bytes(data))

    def read(self, size: int = -1) -> bytes:
        end = len(self._data) if size < 0 else self._at + size
        data = self._data[self._at : end]
        self._at = end
        return data


_KNOWN: dict[type, NamespaceSerializer] = {
    TimeWindowSerializer: _TimeNamespaces(),
    CountWindowSerializer: _CountNamespaces(),
    GlobalWindowSerializer: _GlobalNamespaces(),
}


def namespaces_of(serializer: Any) -> NamespaceSerializer:
    """How windows of this serializer become the namespaces of state and timers."""
    known = _KNOWN.get(type(serializer))
    return _SerializedNamespaces(serializer) if known is None else known
