"""The mailbox of a task: what it adds to its queue."""

import pytest

from flinkish.common.durations import Duration
from flinkish.common.errors import (
    IllegalStateError,
    MailboxClosedError,
    MailboxTimeoutError,
)
from flinkish.mailbox import MAX_PRIORITY, MIN_PRIORITY, Mail, MailboxState, TaskMailbox
from tests.mailbox.rig import nothing


def test_time_runs_out() -> None:
    """A.3, with a bound."""
    mailbox = TaskMailbox()
    mailbox.put(Mail(nothing, 0))
    for timeout in (0, 3, "5 milliseconds", Duration.of_millis(1)):
        with pytest.raises(MailboxTimeoutError, match="no mail of priority 1 or more came") as e:
            mailbox.take(1, timeout)
        assert isinstance(e.value, TimeoutError)
    assert mailbox.take(0, 0).priority == 0
    with pytest.raises(ValueError, match="timeout"):
        mailbox.take(0, -1)


def test_errors_are_of_the_tree() -> None:
    """A.16: a closed mailbox is an illegal state."""
    mailbox = TaskMailbox()
    mailbox.close()
    assert mailbox.state is MailboxState.CLOSED
    with pytest.raises(MailboxClosedError) as raised:
        mailbox.put(Mail(nothing, 0))
    assert isinstance(raised.value, IllegalStateError)


def test_priorities_at_the_ends() -> None:
    """A.1."""
    assert (MIN_PRIORITY, MAX_PRIORITY) == (-1, 2**31 - 1)
    mailbox = TaskMailbox()
    mailbox.put(Mail(nothing, MIN_PRIORITY))
    mailbox.put(Mail(nothing, MAX_PRIORITY))
    assert mailbox.try_take(0) is not None
    assert mailbox.try_take(0) is None
    assert mailbox.take() is not None
    assert repr(mailbox) == "<TaskMailbox open, 0 mails>"
