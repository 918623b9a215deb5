"""Children of a fork: they do something and end, well or with an error that is shown."""

import os
import signal
import time
import traceback
import warnings
from collections.abc import Callable

from tests.waiting import PATIENCE

# AddressSanitizer's allocator does not take its locks before a fork.  If another thread allocates
# in that moment, the child finds a lock held by nobody and stands still, sometimes before its
# first line of Python.  So a child that does not end under it is killed and another one forked.
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
TRIES = 4 if SANITIZED else 1


def in_a_fork(work: Callable[[], object], seconds: float = 5 * PATIENCE) -> None:
    """Do it in a forked child, which must come to its end; one that takes longer is killed."""
    for _ in range(TRIES):
        status = _status(_forked(work), seconds / TRIES)
        if status is not None:
            assert status == 0, f"the child ended with {status}"
            return
    raise AssertionError(f"the child did not end in {seconds / TRIES:g} s: killed, {TRIES} times")


def _forked(work: Callable[[], object]) -> int:
    with warnings.catch_warnings():
        # Python 3.12 and later warn of threads, which is what tests of forks are about.
        warnings.filterwarnings("ignore", ".*multi-threaded.*fork", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return pid


def _status(pid: int, seconds: float) -> int | None:
    """How the child ended, or None if it did not; the parent alone looks at the clock."""
    deadline = time.monotonic() + seconds
    pause = 0.0005
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        if time.monotonic() >= deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return None
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)
