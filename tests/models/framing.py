"""The obvious frames: all bytes in one string, cut from the front."""

import struct
from dataclasses import dataclass, field

HEADER = struct.Struct("<IBBHIQ")
CONTROL, LAST, CONTROL_LIMIT = 64, 79, 8192
OPEN, OPEN_LIMIT = 1, 65536


class Damaged(Exception):
    pass


class TooLarge(Exception):
    pass


def pack(kind: int, flags: int, method: int, endpoint: int, call: int, payload: bytes) -> bytes:
    return HEADER.pack(16 + len(payload), kind, flags, method, endpoint, call) + payload


@dataclass
class ModelCutter:
    limit: int
    authenticated: bool = True
    held: bytes = b""
    left: bytes = b""
    frames: list[tuple[int, int, int, int, int, bytes]] = field(default_factory=list)
    control: list[tuple[int, int, bytes]] = field(default_factory=list)

    def cut(self, data: bytes) -> None:
        self.held += data
        self.left = b""
        while len(self.held) >= 4:
            length = 4 + int.from_bytes(self.held[:4], "little")
            if length < HEADER.size or (not self.authenticated and length > CONTROL_LIMIT):
                raise Damaged
            if length > self.limit:
                raise TooLarge
            if len(self.held) < 5:
                return
            kind = self.held[4]
            if not 0 < kind <= LAST or (kind < CONTROL and not self.authenticated):
                raise Damaged
            if kind == OPEN and length > OPEN_LIMIT:
                raise Damaged
            if kind >= CONTROL and length > CONTROL_LIMIT:
                raise Damaged
            if len(self.held) < length:
                return
            _, _, flags, method, endpoint, call = HEADER.unpack(self.held[: HEADER.size])
            payload = self.held[HEADER.size : length]
            self.held = self.held[length:]
            if kind < CONTROL:
                self.frames.append((kind, flags, method, endpoint, call, payload))
            else:
                self.control.append((kind, call, payload))
                if not self.authenticated:
                    self.left, self.held = self.held, b""
                    return
