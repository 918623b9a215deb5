"""What could not be delivered."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["DeadLetter", "DeadLetters"]


@dataclass(frozen=True)
class DeadLetter:
    """A call that reached no endpoint: ``method`` at ``endpoint``, and why.

    ``told`` is true for a tell, whose sender knows nothing of it; an asker gets the error.
    """

    endpoint: str
    method: str
    reason: str
    told: bool


class DeadLetters:
    """Counts all and keeps the last ones.

    ``len()`` is the number of all since the service was made; iterating gives those that are kept,
    oldest first.  Threading: safe from any thread.
    """

    def __init__(self, keep: int = 256) -> None:
        self._kept: deque[DeadLetter] = deque(maxlen=keep)
        self._count = 0
        self._lock = threading.Lock()

    def add(self, letter: DeadLetter) -> None:
        """Count one."""
        with self._lock:
            self._count += 1
            self._kept.append(letter)

    @property
    def count(self) -> int:
        """How many there were."""
        return self._count

    def list(self) -> list[DeadLetter]:
        """The last ones, oldest first."""
        with self._lock:
            return [*self._kept]

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[DeadLetter]:
        return iter(self.list())
