"""Millions of mails through one mailbox leave nothing behind, however they leave it."""

import contextlib
import resource
from pathlib import Path

from flinkish.common.errors import FlinkishError
from flinkish.mailbox import Mail, MailboxProcessor, MailOptions, TaskMailbox

MIB = 2**20


def resident() -> int:
    """Bytes of this process that are in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def fail() -> None:
    raise KeyError("expected")


processor = MailboxProcessor(lambda controller: controller.suspend_default_action().resume())
executor = processor.get_mailbox_executor(3)


def deep() -> None:
    for number in range(50_000):
        executor.execute(lambda: None, "mail %d", description_args=(number,))
    processor.suspend()
    while processor.mailbox.size():
        processor.run_mailbox_step()


def ends() -> None:
    """Closed, drained, dropped, refused and failing mails."""
    for _ in range(300):
        mailbox = TaskMailbox()
        for number in range(20):
            mailbox.put(Mail(lambda: None, number % 3, options=MailOptions.URGENT))
        mailbox.try_take(2)
        mailbox.close()
        with contextlib.suppress(FlinkishError):
            mailbox.put(Mail(lambda: None, 0))
        dropped = TaskMailbox()
        dropped.put_first(Mail(lambda: None, 0))
        executor.submit(fail)
        executor.try_yield()
        executor.execute(fail)
        with contextlib.suppress(KeyError):
            executor.try_yield()
        with contextlib.suppress(TypeError):
            mailbox.put(7)  # type: ignore[arg-type]


for _ in range(3):
    deep()
    ends()
before = resident()
for _ in range(15):
    deep()
    ends()
grown = resident() - before
assert grown < 4 * MIB, f"{grown / MIB:.1f} MiB more after as much work again"
processor.mailbox._check()
