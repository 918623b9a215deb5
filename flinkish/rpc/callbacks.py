"""The threads that run callbacks of futures which the I/O thread or a timer has ended.

Invariants:
    C1  Callbacks begin in the order in which their futures ended.
    C2  As long as there are callbacks, one worker is free for them: neither waits within a callback
        nor sleeps without having been woken.  So a callback may wait for whatever another one
        brings about.
    C3  ``_free`` counts the workers that do not wait within a callback.  ``put`` starts one when
        there is none, and so does a worker that is about to wait and has callbacks left.
        Surplus workers, and those that have had nothing to do for a while, end.
    C4  A forked child has none of the workers: it begins anew, without what was left to call.

Threading: all methods are for all threads.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable

from flinkish._core.rpc.future import serve_callbacks
from flinkish.rpc.log_thread import LateLogger

__all__ = ["CALLBACKS", "CallbackThreads"]

IDLE = 0.5  # seconds after which a worker ends
_LOG = LateLogger("flinkish.rpc")


class CallbackThreads:
    """Runs functions one after another, and beside one that waits for a future."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._calls: deque[Callable[[], object]] = deque()
        self._free = 0
        self._made = 0

    def put(self, call: Callable[[], object]) -> None:
        """Make this call soon, on another thread."""
        with self._changed:
            self._calls.append(call)
            if self._free:
                self._changed.notify()
                return
            self._free = 1
        try:
            self._start()
        except RuntimeError:  # no thread can be had: the next call tries again
            _LOG.exception("no thread for callbacks could be started")

    def _start(self) -> None:
        """Start the worker that was counted in ``_free``."""
        self._made += 1
        thread = threading.Thread(
            target=self._work, name=f"flinkish-rpc-callbacks-{self._made}", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:
            with self._changed:
                self._free -= 1
            raise

    def _work(self) -> None:
        serve_callbacks(True)
        while (call := self._next()) is not None:
            try:
                call()
            except BaseException:
                _LOG.exception("a call on a thread for callbacks raised")
            del call

    def _next(self) -> Callable[[], object] | None:
        with self._changed:
            while not self._calls:
                if self._free > 1 or (not self._changed.wait(IDLE) and not self._calls):
                    self._free -= 1
                    return None
            return self._calls.popleft()

    def waits(self, begins: bool) -> None:
        """The calling worker begins to wait within a callback, or has ended that."""
        with self._changed:
            if not begins:
                self._free += 1
                return
            starving = bool(self._calls) and self._free == 1
            self._free -= not starving  # else the new worker is free instead
        if starving:
            try:
                self._start()
            except RuntimeError:
                with self._changed:
                    self._free += 1  # the caller does not wait
                raise

    def forked(self) -> None:
        """In the child, whose only thread is no worker."""
        serve_callbacks(False)
        self._reset()


CALLBACKS = CallbackThreads()
os.register_at_fork(after_in_child=CALLBACKS.forked)
