"""The thread that does the arithmetic of TLS handshakes, so that strangers hold up nobody.

A handshake costs a good part of a millisecond, mostly without the GIL, and anybody may ask for one.
Here they wait for each other, in the order in which they came; a peer that has a connection
already waits for none of them.  The places of strangers bound how many wait (``strangers.py``).

Invariants:
    H1  While a step of a session is under way nobody else touches the session: its connection does
        not read its socket, and hears of the end on the I/O thread.
    H2  The thread runs while there are steps and for a while after; ``_working`` says whether it
        does, or will look once more.
    H3  A forked child has no such thread, and begins anew.

Threading: ``put`` is for all threads.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from flinkish.rpc.io_thread import IoThread
from flinkish.rpc.log_thread import LateLogger

__all__ = ["HANDSHAKES", "HandshakeThread"]

IDLE = 0.5  # seconds after which the thread ends
logger = LateLogger(__name__)


class HandshakeThread:
    """Makes calls one after another on a thread that comes and goes by itself."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Be as new; in a forked child."""
        self._changed = threading.Condition(threading.Lock())
        self._calls: deque[Callable[[], None]] = deque()
        self._working = False

    def put(self, call: Callable[[], None]) -> None:
        """Make this call soon, on the thread."""
        with self._changed:
            self._calls.append(call)
            self._changed.notify()
            if self._working:
                return
            self._working = True
        try:
            threading.Thread(target=self._run, name="flinkish-rpc-tls", daemon=True).start()
        except RuntimeError:
            with self._changed:
                self._working = False
            raise

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._calls and not self._changed.wait_for(lambda: self._calls, IDLE):
                    self._working = False
                    return
                call = self._calls.popleft()
            try:
                call()
            except Exception:
                logger.exception("a step of a TLS handshake failed")


HANDSHAKES = HandshakeThread()
IoThread.on_fork(HANDSHAKES.reset)
