"""Those that have connected and not proved themselves yet: how many, how long, and what is logged.

A peer that has connected holds one of ``STRANGERS`` places, those of unix sockets apart from those
of TCP.  When all are taken, the next one gets the place of another: of the source that holds most
of them, the one whose time is over for longest.  One that has said nothing yet has little time,
since the side that dials speaks first, and who has said something has as much as a handshake
needs.  As long as nobody's time is over, nobody else is accepted: in a storm the others wait in
the kernel's queue.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Protocol

from flinkish.common.errors import RpcError

__all__ = ["STRANGERS", "Stranger", "Strangers", "Throttle", "shown"]

STRANGERS = 256
SILENT_S = 0.1  # how long the place of one that has said nothing is safe
SPEAKING_S = 1.0  # and of one that has
LINES, PERIOD_S = 10, 60.0  # log lines of a kind, in so many seconds


class Stranger(Protocol):
    """A connection whose other side has not proved itself."""

    address: str

    def begin_handshake(self) -> None:
        """Hear what it says."""

    def give_up(self, error: RpcError) -> None:
        """End it."""

    @property
    def received_bytes(self) -> int:
        """The bytes that it has sent."""


class Strangers:
    """The places of one kind of sockets; for the I/O thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._came: dict[Stranger, tuple[str, float]] = {}
        self._sources: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._came)

    def add(self, stranger: Stranger, source: str) -> None:
        """It has connected from there."""
        self._came[stranger] = source, self._clock()
        self._sources[source] += 1

    def remove(self, stranger: Stranger) -> bool:
        """It has proved itself, or is gone; False if it had no place."""
        source, _ = self._came.pop(stranger, (None, 0.0))
        if source is None:
            return False
        self._sources[source] -= 1
        if not self._sources[source]:
            del self._sources[source]
        return True

    def next_to_go(self) -> tuple[Stranger, float]:
        """Who loses its place if another one needs it, and in how many seconds."""
        crowd, _ = self._sources.most_common(1)[0]
        until, _, stranger = min(
            (came + (SPEAKING_S if stranger.received_bytes else SILENT_S), number, stranger)
            for number, (stranger, (source, came)) in enumerate(self._came.items())
            if source == crowd
        )
        return stranger, until - self._clock()


class Throttle:
    """Lets a few log lines through in a while, and counts the others.

    ``log`` gets a line; ``flush`` is to be called from time to time, and tells of those left out.
    """

    def __init__(
        self, log: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._log = log
        self._clock = clock
        self._begun = clock()
        self._lines = 0

    def say(self, line: str) -> None:
        """Log a line, or count it."""
        self.flush()
        self._lines += 1
        if self._lines <= LINES:
            self._log(line)

    def flush(self) -> None:
        """Begin anew if the time is over."""
        now = self._clock()
        if now - self._begun < PERIOD_S:
            return
        left_out = self._lines - LINES
        self._begun, self._lines = now, 0
        if left_out > 0:
            self._log(f"{left_out} more lines like those before were left out")


def shown(text: str, limit: int = 200) -> str:
    """Text of a peer for a log line or an error: printable, in one line, and not long."""
    safe = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[:limit])
    return safe if len(text) <= limit else f"{safe}… ({len(text)} characters)"
