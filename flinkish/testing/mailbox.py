"""A mailbox that runs by hand."""

from __future__ import annotations

from collections.abc import Callable

from flinkish.common.errors import DeadlockError, IllegalStateError
from flinkish.mailbox import (
    MIN_PRIORITY,
    MailboxController,
    MailboxExecutor,
    MailboxProcessor,
    StreamTaskActionExecutor,
)

__all__ = ["SteppingMailbox"]


class _SteppingExecutor(MailboxExecutor):
    """Refuses to wait."""

    def yield_(self) -> None:
        """Run the next mail of this priority or more, which must be there."""
        if not self.try_yield():
            raise DeadlockError(
                f"yield_ would wait for ever: no mail of priority {self.priority} or more is "
                f"queued ({self.mailbox.size()} others are), and a stepping mailbox has one thread"
            )


class _SteppingProcessor(MailboxProcessor):
    def get_mailbox_executor(self, priority: int) -> MailboxExecutor:
        return _SteppingExecutor(self.mailbox, priority, self._action_executor, self)


class SteppingMailbox:
    """Mails run one at a time, when the test says so, on the thread of the test.

    Nothing waits: a ``yield_`` without mail is a DeadlockError, and the default action runs only
    by ``run_default_action``.  ``trace`` has the description of every mail that was run by it.

    Threading: the thread that made it; others may use its executors.
    """

    def __init__(
        self,
        default_action: Callable[[MailboxController], object] = lambda _: None,
        action_executor: StreamTaskActionExecutor | None = None,
    ) -> None:
        self.processor: MailboxProcessor = _SteppingProcessor(
            default_action, action_executor=action_executor
        )
        self.mailbox = self.processor.mailbox
        self.trace: list[str] = []

    @property
    def main_executor(self) -> MailboxExecutor:
        """The executor of priority -1."""
        return self.processor.main_mailbox_executor

    def executor(self, priority: int) -> MailboxExecutor:
        """An executor of a priority."""
        return self.processor.get_mailbox_executor(priority)

    def step(self, priority: int = MIN_PRIORITY) -> bool:
        """Run the next mail of ``priority`` or more; whether there was one."""
        mail = self.mailbox.try_take(priority)
        if mail is None:
            return False
        self.trace.append(mail.description)
        mail.run()
        return True

    def run_until_idle(self, limit: int = 10_000) -> int:
        """Run mails until there is none; how many ran.

        IllegalStateError when there is still mail after ``limit`` of them.
        """
        for done in range(limit):
            if not self.step():
                return done
        if self.mailbox.has_mail():
            last = ", ".join(self.trace[-3:])
            raise IllegalStateError(
                f"there is still mail after {limit} mails, the last of them {last}: a mail puts "
                "itself again and again; raise limit if it will end"
            )
        return limit

    def run_default_action(self) -> bool:
        """Run mails until there is none, then the default action; whether it was available."""
        self.run_until_idle()
        if not self.is_default_action_available:
            return False
        return self.processor.run_mailbox_step()

    @property
    def is_default_action_available(self) -> bool:
        """Neither suspended nor completed."""
        return (
            self.processor.is_default_action_available() and self.processor.is_mailbox_loop_running
        )

    def close(self) -> None:
        """Close the processor."""
        self.processor.close()
