"""Frames of the wire, and the cutter that finds them in a stream of bytes."""

import enum
from collections.abc import Callable
from typing import ClassVar

from typing_extensions import Buffer, Self, disjoint_base

RECORD_OVERHEAD: int
RECORD_PAYLOAD: int

def siphash(key: bytes, data: bytes) -> bytes: ...
def lanes(key: bytes, data: bytes, *, plain: bool = False) -> bytes: ...

@disjoint_base
class RecordSealer:
    """Makes records of a stream that goes out."""

    def __new__(cls, key: bytes) -> Self: ...
    def seal(self, data: bytes) -> bytes: ...

@disjoint_base
class RecordOpener:
    """Finds the records in a stream that comes in, and checks them."""

    def __new__(cls, key: bytes) -> Self: ...

FRAME_HEADER_SIZE: int
CONTROL_LIMIT: int
OPEN_LIMIT: int

class FrameKind(enum.IntEnum):
    """The kind of a frame; those from HELLO on are for the connection itself."""

    OPEN = 1
    OPENED = 2
    REFUSED = 3
    TELL = 4
    ASK = 5
    REPLY = 6
    ERROR = 7
    HELLO = 64
    CHALLENGE = 65
    PROOF = 66
    WELCOME = 67
    CREDIT = 68
    PING = 69
    PONG = 70
    GOODBYE = 71

def pack_frame(
    kind: int,
    payload: bytes = b"",
    *,
    flags: int = 0,
    method: int = 0,
    endpoint: int = 0,
    call: int = 0,
) -> bytes: ...

@disjoint_base
class FrameSink:
    """Receives the frames of the application; this one keeps them."""

    @property
    def frames(self) -> list[tuple[int, int, int, int, int, bytes]]: ...

@disjoint_base
class Allowance:
    """Bytes of requests that a peer may send before it hears of more."""

@disjoint_base
class FrameCutter:
    """Cuts a stream of bytes into frames."""

    frame_error: ClassVar[Callable[[str], Exception]]
    @staticmethod
    def large_error(message: str, size: int, limit: int) -> Exception: ...
    def __new__(cls, limit: int, *args: object, **kwargs: object) -> Self: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    @property
    def limit(self) -> int: ...
    @property
    def authenticated(self) -> bool: ...
    @property
    def broken(self) -> bool: ...
    @property
    def frames(self) -> int: ...
    @property
    def left(self) -> int: ...
    @property
    def missing(self) -> int: ...
    def authenticate(self) -> None: ...
    def allow(self, allowance: Allowance) -> None: ...
    def seal(self, key: bytes) -> None: ...
    def take_control(self) -> list[tuple[int, int, bytes]]: ...
    def cut(self, data: Buffer, sink: FrameSink) -> int: ...
    def cut_front(self, data: Buffer, size: int, sink: FrameSink) -> int: ...
    def filled(self, size: int, sink: FrameSink) -> int: ...
    def trim(self) -> None: ...
    def _check(self) -> None: ...
