"""Ctrl-C ends what waits for mail on the main thread: a take, a loop, a yield."""

import subprocess
import sys
import time

PRELUDE = """
import sys
from flinkish.mailbox import *
mailbox = TaskMailbox()
processor = MailboxProcessor(lambda controller: controller.suspend_default_action())
def wait(call):
    try:
        print("waiting", flush=True)
        call()
    except KeyboardInterrupt:
        assert not mailbox.awaits_mail
        mailbox.put(Mail(print, 0))
        assert mailbox.try_take(0) is not None
        mailbox._check()
        print("interrupted", flush=True)
        sys.exit(7)
"""
CALLS = [
    "mailbox.take",
    "lambda: mailbox.take(0, '1 hour')",
    "processor.run_mailbox_loop",
    "processor.main_mailbox_executor.yield_",
    "MailboxProcessor(type).run_mailbox_loop",  # an action in C
]

for call in CALLS:
    process = subprocess.Popen(
        [sys.executable, "-c", f"{PRELUDE}\nwait({call})"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        time.sleep(0.1)
        process.send_signal(2)
        out, _ = process.communicate(timeout=60)
        assert (process.returncode, out) == (7, "interrupted\n"), (call, process.returncode, out)
    finally:
        process.kill()
        process.communicate()
