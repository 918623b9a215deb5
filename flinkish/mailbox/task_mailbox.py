"""The mailbox of a task."""

from __future__ import annotations

from time import monotonic_ns

from flinkish._core.mailbox.mailbox import Mail, MailboxQueue, MailboxState
from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import (
    IllegalStateError,
    MailboxClosedError,
    MailboxTimeoutError,
)
from flinkish.mailbox.mails import MIN_PRIORITY

__all__ = ["MailboxState", "TaskMailbox"]

_NANOS = 1_000_000


class TaskMailbox(MailboxQueue):
    """Mails for one thread, from any thread.

    The mailbox belongs to the thread that makes it; ``adopt`` hands it to another one.

    Ordering: a priority is a filter, not an order: ``take(p)`` gets the oldest mail of priority p
    or more (Flink: TaskMailboxImpl).  What was ``put_first`` comes before urgent mails, these
    before all others, also before those of the batch (Flink: MailboxExecutor.MailOptions).

    Life cycle: OPEN; QUIESCED refuses new mail; CLOSED gives out none either, and ``close``
    returned what was left.

    Threading: ``put``, ``put_first``, ``size``, ``state``, ``drain``, ``run_exclusively``,
    ``is_mailbox_thread`` are for all threads, the rest for the mailbox thread: others get an
    IllegalStateError.  So does everybody in a forked child.

    Complexity: put and take cost the number of distinct priorities that are queued, however
    many mails there are.  A put wakes the mailbox thread only if that waits for such a mail.
    """

    __slots__ = ()

    illegal_state = IllegalStateError
    closed_error = MailboxClosedError

    def take(self, priority: int = MIN_PRIORITY, timeout: DurationLike | None = None) -> Mail:
        """The next mail of ``priority`` or more; waits for it, for ``timeout`` at most.

        Ctrl-C ends the wait.  MailboxTimeoutError when the time is over; MailboxClosedError when
        the mailbox is closed, or is quiesced and has no such mail: none could come.
        """
        if timeout is None:
            mail = super().take(priority)
            assert mail is not None
            return mail
        until = monotonic_ns() + to_millis(timeout, "timeout", minimum=0) * _NANOS
        while (mail := super().take(priority, max(until - monotonic_ns(), 0))) is None:
            if monotonic_ns() >= until:
                raise MailboxTimeoutError(
                    f"no mail of priority {priority} or more came within {timeout!r}; "
                    f"{self.size()} of other priorities are queued"
                )
        return mail
