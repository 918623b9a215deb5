"""The loop of the mailbox thread, and the executors that hand work to it."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Protocol, final

from typing_extensions import disjoint_base

from flinkish._core.mailbox.mail import MailOptions
from flinkish._core.mailbox.mailbox import MailboxQueue

class _PeriodTimer(Protocol):
    def mark_start(self) -> object: ...
    def mark_end(self) -> object: ...

@disjoint_base
class MailboxLoop:
    """Runs the mails of a mailbox and, between them, ``default_action(controller)``.

    Starvation: a turn runs the mails that are there when it begins (and urgent ones that come
    meanwhile, as ``MailboxQueue`` limits them), then one default action (Flink: A.30, A.31).

    Life cycle: ``run_mailbox_loop`` returns after ``suspend`` and may be called again; after
    ``all_actions_completed`` it never runs anything again (A.35, A.36).  It also returns when
    the mailbox is closed.

    Threading: ``suspend``, ``all_actions_completed``, ``report_throwable`` and
    ``Suspension.resume`` are for any thread, the rest for that of the mailbox.
    """

    @property
    def mailbox(self) -> Any:
        """The mailbox whose mails it runs."""

    def __init__(
        self, default_action: Callable[[MailboxController], object], mailbox: MailboxQueue
    ) -> None: ...
    @property
    def is_mailbox_loop_running(self) -> bool:
        """False once all actions are completed, else True, also while the loop is suspended."""

    @property
    def mails_run(self) -> int:
        """How many mails the loop has run."""

    def is_default_action_available(self) -> bool:
        """Whether the default action is not suspended."""

    def call_after_mail(self, callback: Callable[[], object] | None) -> None:
        """Call ``callback()`` once, after the next mail that does not end the loop (A.44)."""

    def run_mailbox_loop(self) -> None:
        """Run mails and default actions until suspended or completed (Flink: A.30).

        What a mail or the default action raises comes out unchanged (A.22); the loop may then be
        run again.
        """

    def run_mailbox_step(self) -> bool:
        """Run one mail or, where there is none, one default action; whether either ran (A.41)."""

    def run_single_mailbox_loop(self) -> bool:
        """Run one mail, if there is one, and one default action, if available (A.41)."""

    def drain(self) -> None:
        """Run the mails that are there, also of a quiesced mailbox (A.39).

        Where one raises, those behind it stay in the mailbox; a further call goes on.
        """

    def suspend(self) -> None:
        """Let the loop return at its next look; mails stay queued (Flink: A.35).

        Nothing happens when the mailbox is closed (A.37).
        """

    def all_actions_completed(self) -> None:
        """Let the loop return for good (Flink: A.36); nothing happens on a closed mailbox."""

    def report_throwable(self, error: BaseException) -> None:
        """Let the loop raise ``error``, before anything else that waits (Flink: A.40)."""

@final
class MailboxController:
    """What the default action may do to its own loop."""

    def suspend_default_action(self, timer: _PeriodTimer | None = None) -> Suspension:
        """Do not call the default action until ``resume`` of the Suspension returned (A.33).

        ``timer.mark_end()`` and ``timer.mark_start()`` are called around mails that run
        meanwhile (A.43).  On the mailbox thread, and not while it is suspended (A.34).
        """

    def all_actions_completed(self) -> None:
        """There is no more to do: the loop returns for good, when it looks at its mail next."""

@final
class Suspension:
    """One suspension of the default action."""

    def resume(self) -> None:
        """End it; from any thread, any number of times (Flink: A.33).

        At once on the mailbox thread, else by a control mail.  It never ends another suspension,
        and nothing happens once the mailbox takes in no mail.
        """

@disjoint_base
class MailExecutor:
    """Hands work of one priority to the thread of a mailbox, and lets it run such work early.

    Threading: ``execute`` is for any thread, the rest for that of the mailbox.
    """

    rejected_error: ClassVar[type[Exception]]
    async_error: ClassVar[type[Exception]]

    @property
    def mailbox(self) -> Any:
        """The mailbox that its mails go to."""

    def __init__(
        self,
        mailbox: MailboxQueue,
        priority: int,
        action_executor: Any = None,
        loop: MailboxLoop | None = None,
    ) -> None: ...
    @property
    def priority(self) -> int:
        """The priority of its mails, and the least that it yields to."""

    def execute(
        self,
        command: Callable[[], object],
        description: object = None,
        *,
        options: MailOptions | None = None,
        description_args: Iterable[object] | None = None,
    ) -> None:
        """Let the mailbox thread call ``command()``; what it raises comes out of the loop (A.22).

        ``description`` is text, or a %-format for ``description_args``, formatted only when it is
        read.  A mailbox that takes in no mail is a ``rejected_error`` (Flink: A.21), and a function
        by ``async def``, whose coroutine nobody would await, is an ``async_error``.
        """

    def yield_(self) -> None:
        """Run the next mail of this priority or more, waiting for one (Flink: A.24).

        What it raises comes out unchanged.  Only within a mail or the default action.
        """

    def try_yield(self) -> bool:
        """The same without waiting: whether a mail ran (A.25)."""

    def try_yield_ignoring_deferrable(self) -> bool:
        """The same, also for deferrable mails of this priority or more (A.26)."""

    def should_interrupt(self) -> bool:
        """Whether mail waits, so that something long should stop and go on later (A.29)."""

    def is_idle(self) -> bool:
        """Nothing to do: the default action suspended, no mail, but open to some (A.28)."""
