"""The threads that run functions of users which nobody waits for on a thread of his own.

These are the functions that a ``ScheduledExecutor`` was given, and decoders of results.  Such a
function may block for as long as it likes.  So it runs neither on the timer thread, which ends the
asks of the service, nor on the I/O thread, nor after another one, as long as threads are left.

Invariants:
    S1  A function that is due begins at once if a thread is idle or fewer than ``MOST`` run.
    S2  Functions begin in the order in which they came.
    S3  A thread that has had nothing to do for a while ends; a forked child has none.

Threading: all methods are for all threads.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from functools import partial

from flinkish.rpc.log_thread import LateLogger

__all__ = ["FUNCTIONS", "MOST", "FunctionThreads"]

MOST = 64
IDLE = 0.5  # seconds after which a thread ends
_LOG = LateLogger("flinkish.rpc")


class FunctionThreads:
    """Runs functions beside one another."""

    def __init__(self) -> None:
        self.forked()

    def forked(self) -> None:
        """Begin anew; in the child none of the threads are."""
        self._changed = threading.Condition(threading.Lock())
        self._calls: deque[Callable[[], object]] = deque()
        self._idle = self._threads = 0

    def put(self, call: Callable[..., object], *arguments: object) -> None:
        """Make this call soon; it raises nothing."""
        with self._changed:
            self._calls.append(partial(call, *arguments))
            self._changed.notify()
            if self._idle >= len(self._calls) or self._threads >= MOST:
                return
            self._threads += 1
        try:
            threading.Thread(target=self._work, name="flinkish-rpc-functions", daemon=True).start()
        except RuntimeError:  # no thread can be had: those that there are go on
            with self._changed:
                self._threads -= 1
            _LOG.exception("no thread for functions could be started")

    def _work(self) -> None:
        while (call := self._next()) is not None:
            call()
            del call

    def _next(self) -> Callable[[], object] | None:
        with self._changed:
            self._idle += 1
            try:
                while not self._calls:
                    if not self._changed.wait(IDLE) and not self._calls:
                        self._threads -= 1
                        return None
                return self._calls.popleft()
            finally:
                self._idle -= 1


FUNCTIONS = FunctionThreads()
os.register_at_fork(after_in_child=FUNCTIONS.forked)
