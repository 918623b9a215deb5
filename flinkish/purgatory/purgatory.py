"""Delayed operations, watched by key."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import NoReturn

from flinkish._core.purgatory import delayed, watch_lists
from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import (
    ArgumentTypeError,
    DeadlockError,
    IllegalArgumentError,
    IllegalStateError,
    RejectedExecutionError,
)
from flinkish.common.forks import AFTER_FORK, call_in_children
from flinkish.common.stacks import stack_of
from flinkish.purgatory.later import CompletesLater
from flinkish.purgatory.system_timer import SystemTimer
from flinkish.purgatory.timer import Timer

__all__ = ["DelayedOperationPurgatory", "PurgatoryStatistics"]

log = logging.getLogger("flinkish.purgatory")

PATIENCE_MS = 10_000  # to wait for the lock of an operation
PATIENCE_IN_DEBUG_MS = 500


@dataclass(frozen=True)
class PurgatoryStatistics:
    """Numbers of operations; the last six since the purgatory was made."""

    watched: int  # watches: an operation counts once for each of its keys
    keys: int  # that are watched
    delayed: int  # with a timer running
    entered: int  # were watched
    completed: int  # in whatever way
    expired: int  # of those, by time
    completed_by_shutdown: int  # of those, by shutdown
    errors: int  # raised by operations where no caller of theirs could get them; logged
    deadlocks: int  # avoided: requests that were left with another thread


class DelayedOperationPurgatory(watch_lists.WatchLists, CompletesLater):
    """Holds operations until something completes them, or their time is over.

    `name` is for logs and threads.  `timer` is whose time counts, and stays the caller's to
    close; by default a SystemTimer of the purgatory's own.  Every `purge_interval` completions
    the memory of watch lists that are no longer needed is given back; completed operations
    themselves leave at once (Kafka: DelayedOperationPurgatory).  With `reaper_enabled` the timer's
    own thread moves it; without, `advance_clock` does.  In `debug` (on under ``python -X dev``) a
    thread that waits too long for an operation gets a DeadlockError; otherwise that is logged and
    counted.  Either way the request is not lost.

    Use it in a ``with`` statement, or `shutdown` it.

    Threading: any method from any thread, operations' own methods included.  Do not hold a lock
    that a completion wants while calling `check_and_complete`.
    """

    def __init__(
        self,
        name: str,
        *,
        purge_interval: int = 1000,
        reaper_enabled: bool = True,
        timer: Timer | None = None,
        debug: bool | None = None,
    ) -> None:
        if not isinstance(purge_interval, int) or purge_interval < 1:
            raise IllegalArgumentError(
                f"purge_interval is {purge_interval!r}: a number of operations, at least 1, is "
                "needed"
            )
        if timer is not None and reaper_enabled and not timer.drives_itself:
            raise IllegalArgumentError(
                f"{timer!r} has no reaper, it is moved by hand: pass reaper_enabled=False"
            )
        self._own_timer = timer is None
        self._timer = SystemTimer(name, reaper_enabled=reaper_enabled) if timer is None else timer
        watch_lists.WatchLists.__init__(self, self._timer)
        CompletesLater.__init__(self, name)
        self.name = name
        self.purge_interval = purge_interval
        self._debug = sys.flags.dev_mode if debug is None else debug
        self.patience_ms = PATIENCE_IN_DEBUG_MS if self._debug else PATIENCE_MS
        self._count = threading.RLock()
        self._errors = 0
        self._deadlocks = 0
        self._completed_by_shutdown = 0
        self._left_at_purge = 0
        if reaper_enabled:
            self._timer._add_chore(self._purge)
        self._in_child = False
        call_in_children(self)

    # --- time

    def advance_clock(self, timeout_ms: DurationLike = 0) -> bool:
        """Expire what is due, waiting at most ``timeout_ms`` for the first of it; whether any was.

        With a ManualTimer the clock moves by that much; with a reaper this only waits for it.
        """
        any_due = self._timer.advance_clock(to_millis(timeout_ms, "timeout_ms", minimum=0))
        self._purge()
        return any_due

    def _purge(self) -> None:
        left = self.left
        if left - self._left_at_purge > self.purge_interval:
            self._left_at_purge = left
            self._trim()

    # --- the end

    def shutdown(self) -> None:
        """Refuse operations from now on, and complete those that are watched.

        Their `on_complete` runs here, so that a caller that waits for one gets an answer, and not
        their `on_expiration`.  (Kafka: DelayedOperationPurgatory, where they are forgotten, and
        later ones too.)
        """
        watched = self._close_watches()
        if watched is None:
            return
        for operation in watched:
            try:
                done = operation.force_complete()
            except Exception as error:
                done = True
                self._report(operation, error)
            self._completed_by_shutdown += done
        self._stop_completer()
        self._timer._remove_chore(self._purge)
        if self._own_timer:
            self._timer.close()
        self._trim()

    def __enter__(self) -> DelayedOperationPurgatory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.shutdown()

    def statistics(self) -> PurgatoryStatistics:
        """Counts so far."""
        return PurgatoryStatistics(
            watched=self.watched(),
            keys=self._keys_watched(),
            delayed=self.num_delayed(),
            entered=self.entered,
            completed=self.completed,
            expired=self.expired,
            completed_by_shutdown=self._completed_by_shutdown,
            errors=self._errors,
            deadlocks=self._deadlocks,
        )

    def __repr__(self) -> str:
        state = "shut down" if self.closed else f"{self.watched()} watches"
        return f"<{type(self).__name__} {self.name!r}: {state}>"

    # --- what the floor calls

    def _keys(self, keys: Iterable[Hashable]) -> tuple[Hashable, ...]:
        if isinstance(keys, (str, bytes)) or not isinstance(keys, Iterable):
            raise ArgumentTypeError(
                f"keys must be a list of keys, not {keys!r}: for one key write [{keys!r}]"
            )
        found = tuple(keys)
        if not found:
            raise IllegalArgumentError(
                "an operation without keys would be found by nobody: watch it under at least one"
            )
        return found

    def _forked(self) -> None:
        """In a forked child: refuse operations, unless none was ever watched."""
        self._count = threading.RLock()
        self._forget_completer()
        if self.entered:
            self._in_child = True
            self._close_watches()

    def _refused(self, operation: delayed.DelayedOperation) -> NoReturn:
        if self._in_child:
            raise RejectedExecutionError(f"purgatory {self.name!r} {AFTER_FORK}")
        raise RejectedExecutionError(
            f"purgatory {self.name!r} is shut down and takes no {type(operation).__name__}"
        )

    def _foreign(self, operation: delayed.DelayedOperation, home: object) -> NoReturn:
        raise IllegalStateError(
            f"{operation!r} belongs to {home!r}, not to {self.name!r}: an operation is watched "
            "by one purgatory"
        )

    def _report(
        self, operation: delayed.DelayedOperation, error: BaseException
    ) -> BaseException | None:
        if isinstance(error, DeadlockError):  # it was logged and counted when it was found
            return error
        with self._count:
            self._errors += 1
        log.error("purgatory %s: %r raised %r", self.name, operation, error, exc_info=error)
        return None

    def _deadlock(self, operation: delayed.DelayedOperation, thread: int, circle: bool) -> None:
        with self._count:
            self._deadlocks += 1
        found = (
            "and that thread waits for an operation that is held here"
            if circle
            else f"and has not given it back for {self.patience_ms} ms"
        )
        stack = stack_of(thread) or "  it has ended\n"
        message = (
            f"purgatory {self.name!r}: {operation!r} is held by thread {thread}, {found}. The "
            "request was left with that thread, which serves it before it lets go. Do not hold "
            "a lock that a completion wants while checking, forcing or watching operations"
        )
        log.warning("%s. It is at:\n%s", message, stack)
        if self._debug:
            raise DeadlockError(f"{message}. It is at:\n{stack}")
