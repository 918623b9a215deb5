"""The future of a scheduled callback."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

__all__ = ["ScheduledFuture"]


class ScheduledFuture(Future[None]):
    """A callback that is to run; done when it ran, or was cancelled.

    The future of a periodic callback ends only by ``cancel``.  ``dequeue`` takes the callback
    out of its queue and says whether it was there.

    A million may be pending, and hardly any is waited for: the condition that makes up most of a
    `concurrent.futures.Future`, in time and memory, is made when it is first used.
    """

    def __init__(self, dequeue: Callable[[], bool] = lambda: True) -> None:
        # What Future's own __init__ does, but for the condition.
        self._state = "PENDING"
        self._result: None = None
        self._exception: BaseException | None = None
        self._waiters = []
        self._done_callbacks: list[Callable[[Future[None]], object]] = []
        self._dequeue = dequeue
        self._unnotified = iter((True,))

    @property
    def _condition(self) -> threading.Condition:  # type: ignore[override]
        made: threading.Condition | None = self.__dict__.get("_made")
        # Several threads may come here at once: one of theirs is taken by all.
        made = made or self.__dict__.setdefault("_made", threading.Condition())
        return made

    def cancel(self) -> bool:
        """Take the callback out of the queue at once; False if it runs or ran.

        As in Flink's SystemProcessingTimeService.
        """
        if self.cancelled():
            return True
        if not super().cancel():
            return False
        if self._dequeue():
            self.notify_cancel()
        return True

    def notify_cancel(self) -> None:
        """Wake who waits for the cancelled future; the caller has taken it out of the queue."""
        if next(self._unnotified, False):
            self.set_running_or_notify_cancel()
