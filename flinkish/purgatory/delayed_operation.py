"""The operations that the purgatory holds."""

from __future__ import annotations

from typing import NoReturn

from flinkish._core.purgatory import delayed
from flinkish.common.errors import IllegalStateError
from flinkish.purgatory.timer_task import TimerTask

__all__ = ["DelayedOperation"]


class DelayedOperation(delayed.DelayedOperation, TimerTask):
    """Something that is done once its condition holds, or when its time is over.

    ``delay_ms`` is how long it may wait: an int of milliseconds or any other duration; zero or
    less expires it at once.  Subclasses override

    - ``try_complete()``: look at the condition; if it holds ``return self.force_complete()``,
      else ``return False``.  Called any number of times.
    - ``on_complete()``: what to do then.  Called exactly once, whichever thread completes it.
    - ``on_expiration()``: what else to do if it was time that did, after ``on_complete``.

    and need not be afraid of threads: of one operation none of these runs beside another, but
    for ``on_expiration``.

    Ways to completion: ``force_complete()``, ``safe_try_complete()``,
    ``safe_try_complete_or_else(action)``, a purgatory's ``check_and_complete``, expiry.  The
    first one wins and returns True, the others False.

    Locking: ``try_complete`` and ``on_complete`` run under the operation's own lock, which is
    re-entrant and fair.  They may use the purgatory and other operations.  A thread that would
    wait for this lock in a circle with others does not: it leaves its request with the holder of
    the lock, who serves it before giving the lock back (see ``docs/guides/purgatory.md``).  Only
    then may an attempt return False although the operation is completed a moment later.

    Of the timer's part (``cancel``, ``state``): completing an operation cancels its timer, so
    its state is CANCELLED then; ``is_completed()`` tells more.
    """

    __slots__ = ()

    def _untrue(self) -> NoReturn:
        raise IllegalStateError(
            f"{type(self).__name__}.try_complete returned true, but the operation is not "
            "completed: it must return what self.force_complete() returned"
        )
