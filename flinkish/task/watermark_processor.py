"""Watermarks that let mails through between two timers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from flinkish.common.elements import Watermark
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.mailbox import MailboxExecutor, MailOptions

__all__ = ["InterruptibleTimers", "MailboxWatermarkProcessor"]


class InterruptibleTimers(Protocol):
    """An operator, or its timers, that can stop between two of them."""

    def try_advance_watermark(self, watermark: int, should_stop: Callable[[], bool]) -> bool:
        """Fire what is due, asking after each timer; False if some are left."""
        ...

    def next_event_time_timer(self) -> int | None:
        """The time (ms) of the earliest event-time timer; None without one."""
        ...


class MailboxWatermarkProcessor:
    """Advances event time in steps, so that a checkpoint need not wait for a million timers.

    After each timer, so at least one a step, it looks for mail; if there is any it puts one
    deferrable mail to go on with and returns (Flink: MailboxWatermarkProcessor).  Operators that
    yield do not see that mail.  A watermark goes out once all its timers have fired; those that
    came meanwhile are one.  Records may be processed between the timers of one watermark.

    With ``intermediate`` an interruption emits how far it got, if that is farther than what was
    emitted: the millisecond before the next timer.

    Threading: the mailbox thread.
    """

    def __init__(
        self,
        timers: InterruptibleTimers,
        emit: Callable[[Watermark], object],
        executor: MailboxExecutor,
        *,
        intermediate: bool = False,
    ) -> None:
        self._timers = timers
        self._emit = emit
        self._executor = executor
        self._intermediate = intermediate
        self._reached = MIN_TIMESTAMP  # the greatest watermark that came in
        self._emitted = MIN_TIMESTAMP
        self._scheduled = False

    def process_watermark(self, watermark: Watermark) -> None:
        """Take a watermark; timers that are left fire in mails to come."""
        self._reached = max(self._reached, watermark.timestamp)
        if not self._scheduled:
            self._advance(self._executor.should_interrupt)

    def finish(self) -> None:
        """Fire everything that is left, without looking for mail."""
        self._advance(lambda: False)

    def _go_on(self) -> None:
        self._scheduled = False
        self._advance(self._executor.should_interrupt)

    def _advance(self, should_stop: Callable[[], bool]) -> None:
        reached = self._reached
        if reached <= self._emitted:
            return
        if self._timers.try_advance_watermark(reached, should_stop):
            self._pass_on(reached)
            return
        following = self._timers.next_event_time_timer()
        if self._intermediate and following is not None:
            self._pass_on(min(following - 1, reached))
        if not self._scheduled:
            self._scheduled = True
            self._executor.execute(
                self._go_on, "go on with the watermark", options=MailOptions.DEFERRABLE
            )

    def _pass_on(self, watermark: int) -> None:
        if watermark > self._emitted:
            self._emitted = watermark
            self._emit(Watermark(watermark))
