"""The queue of a mailbox."""

from collections.abc import Callable, Iterable
from enum import Enum, IntEnum
from typing import Any, ClassVar, Protocol, TypeVar, final

from typing_extensions import disjoint_base

class MailboxState(Enum):
    """``OPEN`` takes in and gives out, ``QUIESCED`` gives out only, ``CLOSED`` neither."""

    OPEN = 0
    QUIESCED = 1
    CLOSED = 2

class MailOptions(IntEnum):
    """How a mail is treated among others (Flink: MailboxExecutor.MailOptions).

    ``URGENT`` passes every mail that is not, also in the batch; urgent mails keep their order.
    ``DEFERRABLE`` shows as ``MIN_PRIORITY``, so only the main loop takes it, no yielding operator.
    """

    DEFAULT = 0
    URGENT = 1
    DEFERRABLE = 2

@disjoint_base
class Mail:
    """``command()`` to be run by the thread of a mailbox.

    ``description`` is text, or a %-format for ``description_args``; it is formatted only when
    somebody reads it (Flink: Mail).  ``action_executor.run_throwing(command)`` runs the command,
    if one is given.

    Threading: immutable; ``run`` belongs to the thread of the mailbox.
    """

    @property
    def command(self) -> Callable[[], object]:
        """The function that the mail runs."""

    def __init__(
        self,
        command: Callable[[], object],
        priority: int,
        description: object = None,
        *,
        options: MailOptions | None = None,
        description_args: Iterable[object] | None = None,
        action_executor: Any = None,
    ) -> None: ...
    @property
    def priority(self) -> int:
        """The priority that a take compares: -1 for a deferrable mail."""

    @property
    def original_priority(self) -> int:
        """The priority it was given."""

    @property
    def options(self) -> MailOptions:
        """One of MailOptions."""

    @property
    def description(self) -> str:
        """The text, formatted now; the command's name where none was given."""

    def run(self) -> None:
        """Run the command here; what it raises goes to the caller."""

_T = TypeVar("_T")

@disjoint_base
class MailboxLock:
    """The lock that guards a MailboxQueue; errors are of the class ``illegal_state``."""

    illegal_state: ClassVar[type[Exception]]

    def is_mailbox_thread(self) -> bool:
        """Whether the caller is the owner."""

    def run_exclusively(self, runnable: Callable[[], _T]) -> _T:
        """Call ``runnable()`` while no other thread can put, take or close.

        As in Flink's TaskMailboxImpl.  It may use the mailbox, and call this again.  It should be
        short: others wait meanwhile.
        """

class _PeriodTimer(Protocol):
    def mark_start(self) -> object: ...
    def mark_end(self) -> object: ...

@disjoint_base
class MailboxLoop:
    """Runs the mails of a mailbox and, between them, ``default_action(controller)``.

    Starvation: a turn runs the mails that are there when it begins (and urgent ones that come
    meanwhile, as ``MailboxQueue`` limits them), then one default action (Flink: MailboxProcessor).

    Life cycle: ``run_mailbox_loop`` returns after ``suspend`` and may be called again; after
    ``all_actions_completed`` it never runs anything again.  It also returns when
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
        """Call ``callback()`` once, after the next mail that does not end the loop.

        As in Flink's MailboxMetricsController.
        """

    def run_mailbox_loop(self) -> None:
        """Run mails and default actions until suspended or completed.

        What a mail or the default action raises comes out unchanged; the loop may then be
        run again.
        """

    def run_mailbox_step(self) -> bool:
        """Run one mail or, where there is none, one default action; whether either ran."""

    def run_single_mailbox_loop(self) -> bool:
        """Run one mail, if there is one, and one default action, if available."""

    def drain(self) -> None:
        """Run the mails that are there, also of a quiesced mailbox.

        Where one raises, those after it stay in the mailbox; a further call goes on.
        """

    def suspend(self) -> None:
        """Let the loop return at its next look; mails stay queued.

        Nothing happens when the mailbox is closed.
        """

    def all_actions_completed(self) -> None:
        """Let the loop return for good; nothing happens on a closed mailbox."""

    def report_throwable(self, error: BaseException) -> None:
        """Let the loop raise ``error``, before anything else that waits."""

@final
class MailboxController:
    """The handle by which the default action controls its own loop."""

    def suspend_default_action(self, timer: _PeriodTimer | None = None) -> Suspension:
        """Do not call the default action until ``resume`` of the Suspension returned.

        As in Flink's MailboxProcessor.  ``timer.mark_end()`` and ``timer.mark_start()`` are called
        around mails that run meanwhile.  On the mailbox thread, and not while it is suspended.
        """

    def all_actions_completed(self) -> None:
        """There is no more to do: the loop returns for good, when it looks at its mail next."""

@final
class Suspension:
    """One suspension of the default action."""

    def resume(self) -> None:
        """End it; from any thread, any number of times (Flink: MailboxProcessor).

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
        """Let the mailbox thread call ``command()``; what it raises comes out of the loop.

        As in Flink's MailboxProcessor.  ``description`` is text, or a %-format for
        ``description_args``, formatted only when it is read.  A mailbox that takes in no mail is a
        ``rejected_error`` (Flink: MailboxExecutorImpl), and a function by ``async def``, whose
        coroutine nobody would await, is an ``async_error``.
        """

    def yield_(self) -> None:
        """Run the next mail of this priority or more, waiting for one.

        What it raises comes out unchanged.  Only within a mail or the default action.
        """

    def try_yield(self) -> bool:
        """The same without waiting: whether a mail ran."""

    def try_yield_ignoring_deferrable(self) -> bool:
        """The same, also for deferrable mails of this priority or more."""

    def should_interrupt(self) -> bool:
        """Whether mail waits, so that something long should stop and go on later."""

    def is_idle(self) -> bool:
        """Nothing to do: the default action suspended, no mail, but open to some."""

URGENT_BURST: int

@disjoint_base
class MailboxQueue(MailboxLock):
    """Mails on their way to the thread that made this queue.

    Ordering, as in Flink's TaskMailboxImpl: a take gets, of the mails with its priority or more,
    the oldest; before these come urgent mails in their own order, and before them what was put
    first, latest first.  When urgent mail keeps coming, then after ``URGENT_BURST`` times the
    oldest other mail has its turn, so nothing waits for ever.

    Life cycle: OPEN, then maybe QUIESCED, then CLOSED.

    Threading: any thread may put; takes, batches, ``quiesce`` and ``close`` belong to the owner,
    others get an error.  In a forked process whatever touches the mails is an error.

    Complexity: put and take cost the number of distinct priorities that are queued, not the
    number of mails.

    Errors are of the classes ``illegal_state`` and ``closed_error``.
    """

    closed_error: ClassVar[type[Exception]]

    def put(self, mail: Mail) -> None:
        """Put a mail: after the others, or ahead of those that are not urgent."""

    def put_first(self, mail: Mail) -> None:
        """Put a mail before all others, urgent ones and earlier ``put_first`` included."""

    def take(self, priority: int = -1, nanos: int | None = None) -> Mail | None:
        """The next mail with ``priority`` or more, waiting for it.

        None when ``nanos`` ns are over, or earlier if a signal came.  Signals are served while it
        waits, so Ctrl-C ends it.  On a quiesced mailbox without such a mail, where Flink would
        wait for ever, this is a ``closed_error``.
        """

    def try_take(self, priority: int = -1) -> Mail | None:
        """The next mail with ``priority`` or more, or None."""

    def try_take_ignoring_deferrable(self, priority: int = -1) -> Mail | None:
        """The same, but deferrable mails count by their original priority.

        As in Flink's MailboxExecutorImpl.
        """

    def create_batch(self) -> bool:
        """Make a batch of all that is queued; whether there is any.  O(1)."""

    def try_take_from_batch(self) -> Mail | None:
        """The next mail of the batch, or an urgent one, or None.

        As in Flink's MailboxExecutor.MailOptions.  An urgent mail that came after the batch brings
        everything into it that is queued then.
        """

    def has_mail(self) -> bool:
        """Whether there is any mail, of whatever priority."""

    def size(self) -> int:
        """How many mails there are; from any thread."""

    @property
    def state(self) -> MailboxState:
        """A MailboxState; from any thread."""

    @property
    def awaits_mail(self) -> bool:
        """Whether the owner waits for mail just now; from any thread."""

    def adopt(self) -> None:
        """Make the calling thread the owner; not while the owner waits for mail.

        The code that hands a mailbox over sees to it that only one thread works with it at a time.
        """

    def drain(self) -> list[Mail]:
        """Take out all mails, in the order in which takes would get them."""

    def quiesce(self) -> None:
        """Take in no more mail; nothing happens on a quiesced or closed one."""

    def close(self) -> list[Mail]:
        """Take in and give out no more; the mails that nobody took.  A second time: []."""

    def _check(self) -> None: ...
