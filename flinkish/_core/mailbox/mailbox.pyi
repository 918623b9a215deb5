"""The queue of a mailbox."""

from typing import ClassVar

from typing_extensions import disjoint_base

from flinkish._core.mailbox.lock import MailboxLock
from flinkish._core.mailbox.mail import Mail, MailboxState

URGENT_BURST: int

@disjoint_base
class MailboxQueue(MailboxLock):
    """Mails on their way to the thread that made this queue.

    Ordering: a take gets, of the mails with its priority or more, the oldest (Flink: A.1); before
    these come urgent mails in their own order, and before them what was put first, latest first.
    When urgent mail keeps coming, then after ``URGENT_BURST`` times the oldest other mail has
    its turn, so nothing waits for ever.

    Life cycle: OPEN, then maybe QUIESCED, then CLOSED (A.16 - A.18).

    Threading: any thread may put; takes, batches, ``quiesce`` and ``close`` belong to the owner,
    others get an error.  In a forked process whatever touches the mails is an error.

    Complexity: put and take cost the number of distinct priorities that are queued, not the
    number of mails.

    Errors are of the classes ``illegal_state`` and ``closed_error``.
    """

    closed_error: ClassVar[type[Exception]]

    def put(self, mail: Mail) -> None:
        """Put a mail: behind the others, or ahead of those that are not urgent."""

    def put_first(self, mail: Mail) -> None:
        """Put a mail before all others, urgent ones and earlier ``put_first`` included."""

    def take(self, priority: int = -1, nanos: int | None = None) -> Mail | None:
        """The next mail with ``priority`` or more, waiting for it (Flink: A.3).

        None when ``nanos`` ns are over, or earlier if a signal came.  Signals are served while it
        waits, so Ctrl-C ends it.  On a quiesced mailbox without such a mail, where Flink would
        wait for ever, this is a ``closed_error``.
        """

    def try_take(self, priority: int = -1) -> Mail | None:
        """The next mail with ``priority`` or more, or None (Flink: A.3)."""

    def try_take_ignoring_deferrable(self, priority: int = -1) -> Mail | None:
        """The same, but deferrable mails count by their original priority (Flink: A.26)."""

    def create_batch(self) -> bool:
        """Make a batch of all that is queued; whether there is any (Flink: A.6).  O(1)."""

    def try_take_from_batch(self) -> Mail | None:
        """The next mail of the batch, or an urgent one, or None (Flink: A.7, A.11 - A.15).

        An urgent mail that came after the batch brings everything into it that is queued then.
        """

    def has_mail(self) -> bool:
        """Whether there is any mail, of whatever priority (Flink: A.2)."""

    def size(self) -> int:
        """How many mails there are (Flink: A.10); from any thread."""

    @property
    def state(self) -> MailboxState:
        """A MailboxState; from any thread."""

    @property
    def awaits_mail(self) -> bool:
        """Whether the owner waits for mail just now; from any thread."""

    def adopt(self) -> None:
        """Make the calling thread the owner; not while the owner waits for mail.

        Whoever hands a mailbox over sees to it that only one thread works with it at a time.
        """

    def drain(self) -> list[Mail]:
        """Take out all mails, in the order in which takes would get them (Flink: A.9)."""

    def quiesce(self) -> None:
        """Take in no more mail; nothing happens on a quiesced or closed one (A.16, A.18)."""

    def close(self) -> list[Mail]:
        """Take in and give out no more; the mails that nobody took.  A second time: [] (A.17)."""

    def _check(self) -> None: ...
