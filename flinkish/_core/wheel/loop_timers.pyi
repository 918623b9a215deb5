"""Timers of an event loop: one wheel for all of them."""

from collections.abc import Callable
from contextvars import Context
from typing import final

from typing_extensions import TypeVarTuple, Unpack, disjoint_base

_Ts = TypeVarTuple("_Ts")

@final
class WheelHandle:
    """A callback that is to be called."""

    def cancel(self) -> None: ...
    def cancelled(self) -> bool: ...
    def when(self) -> float: ...

@disjoint_base
class LoopTimers:
    """The timers; a subclass has ``_wake()``, called when `next_time` is earlier than was armed.

    And ``_refuse()``, which raises if ``in_child`` is true.
    """

    in_child: bool
    """Whether this is a forked child, where the loop does not run: then no timer is taken."""
    scheduled: int
    """How many timers were taken since it was made."""
    cancelled: int
    """How many of the timers were cancelled before they fired."""
    fired: int
    """How many of the timers fired."""

    def __init__(self, clock: Callable[[], float]) -> None: ...
    def __len__(self) -> int: ...
    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[_Ts]], object],
        *args: Unpack[_Ts],
        context: Context | None = None,
    ) -> WheelHandle:
        """Call ``callback(*args)`` in ``delay`` seconds, on the loop; see `call_at`."""

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[_Ts]], object],
        *args: Unpack[_Ts],
        context: Context | None = None,
    ) -> WheelHandle:
        """Call ``callback(*args)`` at ``when`` on the loop's clock; a `WheelHandle` to cancel it.

        Never early and about a millisecond late at most, if the loop is not busy.  The calls of
        one millisecond come in the order in which they were asked for.  It runs in ``context``,
        by default a copy of the caller's.
        """

    def next_time(self) -> float | None:
        """A time by which to call `fire`, in seconds, or None."""

    def armed(self, seconds: float | None) -> None:
        """`fire` will be called at ``seconds``, or not at all: call ``_wake`` for less only."""

    def fire(self, limit: int) -> None:
        """Call at most ``limit`` callbacks that are due.

        ``_failed(error, handle)`` gets what they raise, except what ends the program: that is
        raised here, and the callbacks after it are due again.
        """
