"""What Python processes of the tests do first: look past the zip that Spark puts before all else.

It has pyspark's sources alone, so every process compiles what it imports from there, which takes a
second; the installed pyspark is the same and compiled.  Of that second there is one for each start
of a query with state, which Spark gives 10 s, however busy the machine is.

Spark's daemon ignores its workers' ends; here it notes them, so that their CPU time counts as its
own, which cpu.py sums up.
"""

import os
import signal
import sys

sys.path[:] = [path for path in sys.path if not path.endswith(("pyspark.zip", "-src.zip"))]


def _wait_for_workers(*_):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


if "pyspark.daemon" in sys.orig_argv:
    _signal = signal.signal

    def _signal_unless_ignored(number, action):
        ignored = (number, action) == (signal.SIGCHLD, signal.SIG_IGN)
        return _signal(number, _wait_for_workers if ignored else action)

    signal.signal = _signal_unless_ignored
