"""Mails and their priorities."""

from __future__ import annotations

from typing import Final

from flinkish._core.mailbox.mailbox import Mail, MailOptions

__all__ = ["MAX_PRIORITY", "MIN_PRIORITY", "Mail", "MailOptions"]

MIN_PRIORITY: Final = -1
"""Of mail that belongs to no operator; a take with it sees all mail (Flink: TaskMailboxImpl)."""

MAX_PRIORITY: Final = 2**31 - 1
"""Seen by every take."""
