"""A mailbox in a forked child: an error that says so, never a hang."""

import os
import signal
import threading
import warnings
from collections.abc import Callable

import pytest

from flinkish.common.errors import IllegalStateError
from flinkish.mailbox import Mail, MailboxProcessor, TaskMailbox

mailbox = TaskMailbox()
mail = Mail(lambda: None, 0, "a mail")
mailbox.put(mail)
processor = MailboxProcessor(lambda controller: None)
executor = processor.main_mailbox_executor
executor.execute(lambda: None)
stop = threading.Event()


def hammer() -> None:
    """Be within the lock as often as possible, so that a fork finds it held."""
    while not stop.is_set():
        for _ in range(100):
            mailbox.put(mail)
        mailbox.drain()


def refused(call: Callable[[], object]) -> None:
    with pytest.raises(IllegalStateError, match=r"before a fork.*make a new mailbox in this"):
        call()


def child() -> None:
    signal.alarm(20)
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


# Python 3.12 and later warn about what this script is about.
warnings.filterwarnings("ignore", message=".*multi-threaded.*fork", category=DeprecationWarning)
threads = [threading.Thread(target=hammer) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        try:
            child()
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert status == 0, f"the child ended with {status}"
stop.set()
for thread in threads:
    thread.join()
mailbox._check()
mailbox.put(mail)
assert mailbox.close() == [mail], "the parent goes on"
