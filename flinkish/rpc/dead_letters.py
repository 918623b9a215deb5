"""Messages that could not be delivered."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from flinkish.rpc.log_thread import LateLogger

__all__ = ["DeadLetter", "DeadLetters", "LostTells"]

_LOG = LateLogger("flinkish.rpc")
INTERVAL = 10_000  # ms in which a peer gets one line of the log


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
        """Count a letter that was not delivered, and keep it among the last ones."""
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


class LostTells:
    """Logs tells that were not sent: one line a peer and interval, however many there are.

    The first one is told at once.  Those that follow are counted, and told together when the
    interval is over (``call_at(ms, call)`` sees to that) or the service closes.  Threading: safe
    from any thread.
    """

    def __init__(self, call_at: Callable[[int, Callable[[], object]], None]) -> None:
        self._call_at = call_at
        self._untold: dict[str, tuple[int, str, str]] = {}  # since the last line
        self._lock = threading.Lock()

    def add(self, peer: str, method: str, reason: str) -> None:
        """A tell to a method at ``peer`` was not sent."""
        with self._lock:
            before = self._untold.get(peer)
            self._untold[peer] = (0 if before is None else before[0] + 1, method, reason)
        if before is None:
            _LOG.warning("the tell %s to %s was not sent: %s", method, peer, reason)
            self._look_again(peer)

    def _look_again(self, peer: str) -> None:
        at = time.monotonic_ns() // 1_000_000 + INTERVAL
        self._call_at(at, lambda: self.tell(peer))

    def tell(self, peer: str) -> None:
        """The interval is over: say how many more there were."""
        with self._lock:
            count, method, reason = self._untold.pop(peer, (0, "", ""))
            if count:
                self._untold[peer] = (0, "", "")
        if count:
            self._log(peer, count, method, reason)
            self._look_again(peer)

    def tell_all(self) -> None:
        """The service closes."""
        with self._lock:
            untold, self._untold = self._untold, {}
        for peer, (count, method, reason) in untold.items():
            if count:
                self._log(peer, count, method, reason)

    @staticmethod
    def _log(peer: str, count: int, method: str, reason: str) -> None:
        _LOG.warning(
            "%d more tells to %s were not sent; the last one, %s: %s", count, peer, method, reason
        )
