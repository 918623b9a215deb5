"""A mailbox in a forked child: an error that says so, never a hang."""

from collections.abc import Callable

import pytest

from flinkish.common.errors import IllegalStateError
from flinkish.mailbox import Mail, MailboxProcessor, TaskMailbox
from tests.forking import in_a_fork
from tests.racing import meanwhile

mailbox = TaskMailbox()
mail = Mail(lambda: None, 0, "a mail")
mailbox.put(mail)
processor = MailboxProcessor(lambda controller: None)
executor = processor.main_mailbox_executor
executor.execute(lambda: None)


def hammer() -> None:
    """Be within the lock as often as possible, so that a fork finds it held."""
    for _ in range(100):
        mailbox.put(mail)
    mailbox.drain()


def refused(call: Callable[[], object]) -> None:
    with pytest.raises(IllegalStateError, match=r"before a fork.*make a new mailbox in this"):
        call()


def child() -> None:
    for call in (
        *(mailbox.take, mailbox.try_take, mailbox.try_take_from_batch, mailbox.create_batch),
        *(mailbox.quiesce, mailbox.close, mailbox.drain, mailbox.adopt),
        *(processor.run_mailbox_loop, processor.run_mailbox_step, processor.close),
        *(executor.yield_, executor.try_yield),
        lambda: mailbox.put(mail),
        lambda: mailbox.put_first(mail),
        lambda: mailbox.run_exclusively(lambda: None),
        lambda: mailbox.state,
        lambda: executor.execute(lambda: None),
        lambda: processor.report_throwable(KeyError()),
    ):
        refused(call)
    fresh = TaskMailbox()
    fresh.put(mail)
    assert fresh.take() is mail
    fresh._check()


with meanwhile(hammer):
    for _ in range(20):
        in_a_fork(child)
mailbox._check()
mailbox.put(mail)
assert mailbox.close() == [mail], "the parent goes on"
