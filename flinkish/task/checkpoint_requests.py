"""Checkpoints that were asked for and not begun, and those that are under way."""

from __future__ import annotations

from bisect import insort
from concurrent.futures import Future
from dataclasses import dataclass, field

from flinkish.task.checkpoint_storage import CheckpointStorage
from flinkish.task.checkpoint_types import CompletedCheckpoint
from flinkish.time.processing_time_service import ScheduledFuture

__all__ = ["MAX_QUEUED", "CheckpointRequest", "CheckpointRequests", "PendingCheckpoint"]

MAX_QUEUED = 1000


@dataclass(eq=False)
class CheckpointRequest:
    """Somebody wants a checkpoint; ``savepoint`` is where to keep it, None for the usual place."""

    timestamp: int
    number: int
    periodic: bool = False
    forced: bool = False
    savepoint: CheckpointStorage | None = None
    future: Future[CompletedCheckpoint] = field(default_factory=Future)

    @property
    def order(self) -> tuple[bool, bool, bool, int, int]:
        """Savepoints first, then forced ones, then what somebody asked for.

        As in Flink's CheckpointRequestDecider.
        """
        return self.savepoint is None, not self.forced, self.periodic, self.timestamp, self.number


@dataclass(eq=False)
class PendingCheckpoint:
    """A checkpoint under way: which tasks have given their state, and whether it is over.

    ``is_full`` once all have; ``saving`` while a storage has it; ``disposed`` once it is complete
    or aborted, and that happens once.
    """

    checkpoint_id: int
    timestamp: int
    request: CheckpointRequest
    missing: set[str]
    states: dict[str, bytes] = field(default_factory=dict)
    disposed: bool = False
    saving: bool = False
    canceller: ScheduledFuture | None = None

    @property
    def is_full(self) -> bool:
        """Whether no task's state is missing."""
        return not self.missing

    def is_subsumed_by(self, other: PendingCheckpoint) -> bool:
        """Whether it is not wanted any more when the other is complete."""
        return self.checkpoint_id < other.checkpoint_id and self.request.savepoint is None

    def dispose(self) -> bool:
        """It is over; False if it was already."""
        before, self.disposed = self.disposed, True
        return not before

    def stop_canceller(self) -> None:
        """It cannot expire any more."""
        if self.canceller is not None:
            self.canceller.cancel()


class CheckpointRequests:
    """The queue of requests, and which of them may begin (Flink: CheckpointRequestDecider).

    Threading: under the lock of its coordinator.
    """

    def __init__(self, max_concurrent: int, min_pause: int) -> None:
        self._max_concurrent = max_concurrent
        self._min_pause = min_pause
        self._queue: list[CheckpointRequest] = []

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, request: CheckpointRequest) -> CheckpointRequest | None:
        """Queue a request; the one that has no room any more, periodic ones first."""
        insort(self._queue, request, key=lambda one: one.order)
        return self._queue.pop() if len(self._queue) > MAX_QUEUED else None

    def choose(
        self, now: int, pending: int, last_completion: int | None
    ) -> tuple[CheckpointRequest, int] | None:
        """Take out the next request, and the ms that it is too early; None if it has to wait.

        Only a periodic one can be too early: it is refused.  One that nobody forces waits
        while as many are pending as may be.  A clock that was set back since the last one
        makes nobody wait for longer than the pause.
        """
        if not self._queue:
            return None
        first = self._queue[0]
        if not first.forced and pending >= self._max_concurrent:
            return None
        del self._queue[0]
        early = 0
        if first.periodic and not first.forced and last_completion is not None:
            early = min(max(last_completion + self._min_pause - now, 0), self._min_pause)
        return first, early

    def clear(self) -> list[CheckpointRequest]:
        """Take out all."""
        queue, self._queue = self._queue, []
        return queue
