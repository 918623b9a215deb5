"""The processor of a mailbox: its loop, its executors, its end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from flinkish._core.mailbox.mailbox import MailboxController, MailboxLoop, Suspension
from flinkish.common.errors import ArgumentTypeError
from flinkish.common.notes import add_note
from flinkish.mailbox.action_executor import StreamTaskActionExecutor
from flinkish.mailbox.executor import MailboxExecutor
from flinkish.mailbox.mails import MIN_PRIORITY
from flinkish.mailbox.metrics import MailboxMetrics
from flinkish.mailbox.task_mailbox import MailboxState, TaskMailbox
from flinkish.metrics import MetricGroup

__all__ = ["MailboxController", "MailboxProcessor", "MailboxStatistics", "Suspension"]


@dataclass(frozen=True)
class MailboxStatistics:
    """A processor at one moment: mails queued, run by its loop, and dropped by its ``close``."""

    state: MailboxState
    mails_queued: int
    mails_run: int
    mails_dropped: int


class MailboxProcessor(MailboxLoop):
    """Runs mails and, between them, ``default_action(controller)``, all on one thread.

    ``mailbox`` is a new one of the calling thread where none is given.  ``action_executor`` calls
    the commands of mails (not the default action).  ``metrics`` gets what ``MailboxMetrics``
    counts.

    Life cycle: run; ``prepare_close`` (no new mail); ``drain`` (run what is left); ``close``.

    Threading: ``suspend``, ``all_actions_completed``, ``report_throwable``, ``statistics``,
    ``get_mailbox_executor`` are for any thread, the rest for the mailbox thread.
    """

    def __init__(
        self,
        default_action: Callable[[MailboxController], object],
        mailbox: TaskMailbox | None = None,
        action_executor: StreamTaskActionExecutor | None = None,
        *,
        metrics: MetricGroup | None = None,
    ) -> None:
        if mailbox is None:
            mailbox = TaskMailbox()
        if not isinstance(mailbox, TaskMailbox):
            raise ArgumentTypeError(
                f"mailbox must be a TaskMailbox or None, not {type(mailbox).__name__}"
            )
        if not isinstance(action_executor, StreamTaskActionExecutor | None):
            raise ArgumentTypeError(
                "action_executor must be a StreamTaskActionExecutor or None, not "
                f"{type(action_executor).__name__}"
            )
        super().__init__(default_action, mailbox)
        self._action_executor = action_executor
        self._main_executor = self.get_mailbox_executor(MIN_PRIORITY)
        self._dropped = 0
        self.metrics = MailboxMetrics(self, metrics)

    @property
    def main_mailbox_executor(self) -> MailboxExecutor:
        """The executor of mail that belongs to no operator; its yields take all mail."""
        return self._main_executor

    def get_mailbox_executor(self, priority: int) -> MailboxExecutor:
        """An executor whose mails have ``priority``: that of an operator is its place in its chain.

        Its yields take mails of that priority or more.
        """
        return MailboxExecutor(self.mailbox, priority, self._action_executor, self)

    def statistics(self) -> MailboxStatistics:
        """The processor at this moment."""
        return MailboxStatistics(
            self.mailbox.state, self.mailbox.size(), self.mails_run, self._dropped
        )

    def prepare_close(self) -> None:
        """Take in no more mail; what is queued stays (Flink: MailboxProcessor)."""
        self.mailbox.quiesce()

    def close(self) -> None:
        """Close the mailbox, cancel the futures in it and drop the other mails.

        A callback of a cancelled future that raises keeps no other future from being cancelled;
        the first such error is raised in the end, with notes about the others.
        """
        errors: list[BaseException] = []
        mails = self.mailbox.close()
        for mail in mails:
            try:
                if isinstance(mail.command, Future) and mail.command.cancel():
                    mail.command.set_running_or_notify_cancel()
            except BaseException as error:
                errors.append(error)
        self._dropped += len(mails)
        if errors:
            for other in errors[1:]:
                add_note(errors[0], f"suppressed: {other!r}")
            raise errors[0]

    def __enter__(self) -> MailboxProcessor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
