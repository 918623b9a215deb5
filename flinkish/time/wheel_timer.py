"""Timeouts of an asyncio program: one timing wheel and one timer of the loop for all of them."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import NoReturn

from flinkish._core.wheel.loop_timers import LoopTimers, WheelHandle
from flinkish.common.errors import IllegalStateError, RejectedExecutionError
from flinkish.common.forks import AFTER_FORK, call_in_children

__all__ = ["WheelHandle", "WheelTimeout", "WheelTimer", "WheelTimerStatistics"]

_AT_ONCE = 1_000  # callbacks of one pass, so that the loop's other work is not held up


@dataclass(frozen=True)
class WheelTimerStatistics:
    """Counts of a `WheelTimer` since it was made; ``pending`` is of now."""

    pending: int
    scheduled: int
    fired: int
    cancelled: int


class WheelTimer(LoopTimers):
    """``call_later``, ``call_at`` and ``timeout`` for programs with a great many timeouts.

    The same as the loop's own, at a fraction of the cost: a timer that is cancelled is gone at
    once and leaves nothing in the loop's heap.  Times are seconds on the clock of ``loop``, by
    default the running one; callbacks come a millisecond late at most, never early.

    Threading: everything on the loop's thread.  Errors of callbacks go to the loop's exception
    handler, and the timers go on.  A child that is forked while the loop runs has no such loop, and
    is refused.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._loop = asyncio.get_running_loop() if loop is None else loop
        # asyncio's own `time` does nothing but this.
        plain = getattr(type(self._loop), "time", None) is asyncio.BaseEventLoop.time
        super().__init__(time.monotonic if plain else self._loop.time)
        self._timer: asyncio.TimerHandle | None = None
        self._arming = False
        call_in_children(self)

    def timeout(self, delay: float | None) -> WheelTimeout:
        """Like `asyncio.timeout`: ``async with timer.timeout(2):`` or `TimeoutError`."""
        return self.timeout_at(None if delay is None else self._loop.time() + delay)

    def timeout_at(self, when: float | None) -> WheelTimeout:
        """Like `asyncio.timeout_at`: ``when`` is on the loop's clock, None is never."""
        return WheelTimeout(self, when)

    def statistics(self) -> WheelTimerStatistics:
        """Counts of the work that was done."""
        return WheelTimerStatistics(len(self), self.scheduled, self.fired, self.cancelled)

    def _forked(self) -> None:
        """In a forked child, where no loop runs that ran in the parent process."""
        self.in_child = self.in_child or self._loop.is_running()

    def _refuse(self) -> NoReturn:
        raise RejectedExecutionError(f"a WheelTimer {AFTER_FORK}")

    def _wake(self) -> None:
        """Set the loop's timer at the end of this step, once for whatever is added until then."""
        if not self._arming:
            self._loop.call_soon(self._arm)
            self._arming = True

    def _arm(self) -> None:
        self._arming = False
        at = self.next_time()
        if self._timer is not None:
            if at is not None and at >= self._timer.when():
                self.armed(self._timer.when())
                return
            self._timer.cancel()
            self._timer = None
        self.armed(at)
        if at is not None:
            self._timer = self._loop.call_at(at, self._fire)

    def _fire(self) -> None:
        self._timer = None
        try:
            self.fire(_AT_ONCE)
        finally:
            self._wake()

    def _failed(self, error: BaseException, handle: WheelHandle) -> None:
        self._loop.call_exception_handler(
            {"message": f"Exception in callback {handle!r}", "exception": error}
        )


class _State(Enum):
    CREATED = "created"
    ENTERED = "active"
    EXPIRING = "expiring"
    EXPIRED = "expired"
    EXITED = "finished"


class WheelTimeout:
    """The object of ``async with`` of a `WheelTimer.timeout`: asyncio's ``Timeout`` on the wheel.

    Life cycle: created, active inside the block, then finished or expired.  On expiry the task
    is cancelled, and what leaves the block is a `TimeoutError`, unless somebody else cancelled
    the task, too: then the cancellation goes on (but on Python 3.10, which does not count
    cancellations, it is a `TimeoutError`).
    """

    __slots__ = ("_cancelling", "_handle", "_state", "_task", "_timer", "_when")

    def __init__(self, timer: WheelTimer, when: float | None) -> None:
        self._timer = timer
        self._when = when
        self._state = _State.CREATED
        self._task: asyncio.Task[object] | None = None
        self._handle: WheelHandle | None = None
        self._cancelling = 0

    def __repr__(self) -> str:
        return f"<WheelTimeout [{self._state.value}] when={self._when}>"

    def when(self) -> float | None:
        """The deadline, or None."""
        return self._when

    def expired(self) -> bool:
        """Whether the deadline passed inside the block."""
        return self._state in (_State.EXPIRING, _State.EXPIRED)

    def reschedule(self, when: float | None) -> None:
        """Move the deadline, None for never; only inside the block, before it passed."""
        if self._state is not _State.ENTERED:
            raise IllegalStateError(
                f"the deadline of a timeout that is {self._state.value} cannot be moved: call "
                "reschedule inside of its block, before it expires"
            )
        if self._handle is not None:
            self._handle.cancel()
        self._when = when
        self._handle = None if when is None else self._timer.call_at(when, self._expire)

    async def __aenter__(self) -> WheelTimeout:
        """Start: needs a task to cancel."""
        task = asyncio.current_task()
        if self._state is not _State.CREATED:
            raise IllegalStateError("a timeout has one block: make another for the next one")
        if task is None:
            raise IllegalStateError("a timeout cancels the task that it is in: use it inside one")
        self._task = task
        self._cancelling = task.cancelling() if hasattr(task, "cancelling") else 0
        self._state = _State.ENTERED
        self.reschedule(self._when)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End: a `TimeoutError` in place of the cancellation that was ours."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        task, self._task = self._task, None
        if self._state is _State.EXPIRING:
            self._state = _State.EXPIRED
            left = task.uncancel() if task is not None and hasattr(task, "uncancel") else 0
            ours = kind is not None and issubclass(kind, asyncio.CancelledError)
            if ours and left <= self._cancelling:
                raise TimeoutError from error
        else:
            self._state = _State.EXITED

    def _expire(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._state = _State.EXPIRING
        self._handle = None
