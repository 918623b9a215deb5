"""Delayed operations."""

from collections.abc import Callable
from typing import Any, final

from typing_extensions import disjoint_base

from flinkish._core.wheel.timer_tasks import TimerTask

@final
class Parker:
    """One thread's place in the queue."""

@disjoint_base
class LockedTask(TimerTask):
    """A timer task with a re-entrant, fair lock that is part of no deadlock."""

    @property
    def _waiters(self) -> int: ...

@disjoint_base
class OperationHome:
    """The purgatory as its operations see it.

    The wall provides `_report(operation, error)` for errors that reach no caller of their own
    (it returns one that the caller of a check should get after all, or None),
    `_untrue(operation)`, which raises for a `try_complete` that claims what is not so, and
    `_deadlock(operation, thread, circle)` for a request that was left with another thread.
    """

    patience_ms: int
    """How long a thread waits for an operation that another thread works on, in ms.

    After that it leaves its request with the other thread and goes on.
    """
    @property
    def completed(self) -> int:
        """How many of its operations were completed, whatever completed them."""

    @property
    def expired(self) -> int:
        """How many of its operations were completed by the end of their time."""

@disjoint_base
class DelayedOperation(LockedTask):
    """An operation that waits for its condition, at most `delay_ms`.

    Subclasses override `try_complete`, `on_complete` and `on_expiration`.
    """

    @property
    def _home(self) -> Any: ...
    def force_complete(self) -> bool:
        """Complete it, whatever its condition: True for the one caller that did.

        As in Kafka's DelayedOperation.  That caller runs `on_complete`, and gets what it raises;
        the timer and all watches are gone before.
        """

    def safe_try_complete(self) -> bool:
        """Call `try_complete` under the lock, unless it is completed: whether this completed it."""

    def safe_try_complete_or_else(self, action: Callable[[], object]) -> bool:
        """Try; if that fails run `action()` and try again, all under the lock."""

    def is_completed(self) -> bool:
        """Whether somebody completed it; `on_complete` may still be running."""

    def try_complete(self) -> bool:
        """Complete it if its condition holds: ``return self.force_complete()``; else False."""

    def on_complete(self) -> None:
        """The action of its completion; runs once."""

    def on_expiration(self) -> None:
        """The action of its expiry, after `on_complete`."""

    def run(self) -> None:
        """Expire it: what its timer does."""
