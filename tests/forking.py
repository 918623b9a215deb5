"""Children of a fork: they do something and end, well or with an error that is shown."""

import os
import signal
import traceback
import warnings
from collections.abc import Callable

from tests.waiting import PATIENCE


def in_a_fork(work: Callable[[], object], seconds: int = 5 * int(PATIENCE)) -> None:
    """Do it in a forked child, which must come to its end and is killed if it takes longer."""
    with warnings.catch_warnings():
        # Python 3.12 and later warn of threads, which is what tests of forks are about.
        warnings.filterwarnings("ignore", ".*multi-threaded.*fork", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        signal.alarm(seconds)
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert status == 0, f"the child ended with {status}"
