"""PyFlink's module of the class `TypeSerializer`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, Protocol

from flinkish.common.pyflink_names import pyflink_names
from flinkish.common.type_variables import T

if not TYPE_CHECKING:
    __getattr__ = pyflink_names(__name__)

__all__ = ["Readable", "TypeSerializer", "Writable"]


class Writable(Protocol):
    """A stream to write bytes to."""

    def write(self, data: bytes, /) -> object:
        """Append the bytes."""


class Readable(Protocol):
    """A stream to read bytes from."""

    def read(self, size: int, /) -> bytes:
        """Return at most so many of the next bytes."""


class TypeSerializer(ABC, Generic[T]):
    """Turns one type of window into bytes and back; equal windows have equal bytes.

    Streams have ``write(bytes)`` and ``read(size)``, like ``io.BytesIO``.
    """

    @abstractmethod
    def serialize(self, element: T, stream: Writable) -> None:
        """Write the bytes of ``element`` to ``stream``."""

    @abstractmethod
    def deserialize(self, stream: Readable) -> T:
        """Read what ``serialize`` wrote."""
