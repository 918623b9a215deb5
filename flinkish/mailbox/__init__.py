"""One thread owns the state; any other that wants to touch it sends a mail.

Owns: mailboxes, the loop of the mailbox thread, executors that hand work to it.
Uses: ``_core``, ``common``, ``metrics``.
Must not: start a thread, or know what the default action does.
"""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
    from flinkish.mailbox.action_executor import (
        StreamTaskActionExecutor,
        SynchronizedStreamTaskActionExecutor,
    )
    from flinkish.mailbox.executor import MailboxExecutor, MailboxFuture
    from flinkish.mailbox.mails import MAX_PRIORITY, MIN_PRIORITY, Mail, MailOptions
    from flinkish.mailbox.metrics import LatencyTimers, MailboxMetrics
    from flinkish.mailbox.processor import (
        MailboxController,
        MailboxProcessor,
        MailboxStatistics,
        Suspension,
    )
    from flinkish.mailbox.task_mailbox import MailboxState, TaskMailbox
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.mailbox.action_executor": (
                "StreamTaskActionExecutor",
                "SynchronizedStreamTaskActionExecutor",
            ),
            "flinkish.mailbox.executor": ("MailboxExecutor", "MailboxFuture"),
            "flinkish.mailbox.mails": ("MAX_PRIORITY", "MIN_PRIORITY", "Mail", "MailOptions"),
            "flinkish.mailbox.metrics": ("LatencyTimers", "MailboxMetrics"),
            "flinkish.mailbox.processor": (
                "MailboxController",
                "MailboxProcessor",
                "MailboxStatistics",
                "Suspension",
            ),
            "flinkish.mailbox.task_mailbox": ("MailboxState", "TaskMailbox"),
        },
    )

__all__ = [
    "MAX_PRIORITY",
    "MIN_PRIORITY",
    "LatencyTimers",
    "Mail",
    "MailOptions",
    "MailboxController",
    "MailboxExecutor",
    "MailboxFuture",
    "MailboxMetrics",
    "MailboxProcessor",
    "MailboxState",
    "MailboxStatistics",
    "StreamTaskActionExecutor",
    "Suspension",
    "SynchronizedStreamTaskActionExecutor",
    "TaskMailbox",
]
