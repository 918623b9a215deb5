"""The one thread of the process that waits for sockets.

Invariants:
    I1  It runs while somebody uses it: ``acquire`` starts it with the first user, ``release``
        ends it with the last.
    I2  Whatever is registered, and every callback, is touched by this thread alone, but for what
        ``reading.pxd`` lets others do with a socket.  They append to ``_calls`` and ring.
    I3  No ring is lost, and a burst rings once.  A caller appends, then looks at ``_asleep``; the
        thread sets ``_asleep``, then looks at ``_calls``.  So either the thread finds the call
        before it sleeps, or the caller sees that it sleeps and writes to the eventfd, which ends
        its next wait.  The first who rings clears ``_asleep``.
    I4  No callback of a user runs here (F5 of ``rpc/future.pxd``), and no decoder of one
        (``foreign_result`` of ``rpc/calls.pxd``): others would wait for it.
    I5  A forked child has none of this: what it inherits is closed, without a word to the peers,
        and the next ``acquire`` starts a thread of its own.
"""

from __future__ import annotations

import heapq
import math
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar, Protocol

from flinkish._core.rpc.future import leave_callbacks
from flinkish.common.errors import RpcConnectionError
from flinkish.rpc.log_thread import LateLogger
from flinkish.rpc.scarcity import lacking

__all__ = ["IoThread", "Reader", "TimerHandle"]

logger = LateLogger(__name__)

EPOLLIN, EPOLLOUT = select.EPOLLIN, select.EPOLLOUT
RECEIVE_BUFFER = 256 * 1024
BATCH = 256  # events of one wait: a bounded round, in which everybody has a turn


class Reader(Protocol):
    """Something with a file descriptor that the I/O thread waits for."""

    def on_ready(self, events: int) -> None:
        """Some of the epoll ``events`` that were asked for, EPOLLERR or EPOLLHUP happened."""


class TimerHandle:
    """A call in the future, which may be cancelled."""

    __slots__ = ("call", "when")

    def __init__(self, when: float, call: Callable[[], None]) -> None:
        self.when = when
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        """Do not make the call; on the I/O thread."""
        self.call = None

    def __lt__(self, other: TimerHandle) -> bool:
        return self.when < other.when


class IoThread:
    """Waits for sockets, timers and what other threads want of it.

    Threading: ``post``, ``acquire`` and ``release`` are for all, the rest is for callbacks, which
    run on the thread itself and must not block.
    """

    _guard = threading.Lock()
    _current: IoThread | None = None
    _heirs: ClassVar[list[Callable[[], None]]] = []  # called in a forked child

    def __init__(self) -> None:
        self._users = 0
        self._epoll = select.epoll()
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._epoll.register(self._bell, EPOLLIN)
        self._readers: dict[int, Reader] = {}
        self._calls: deque[Callable[[], None]] = deque()
        self._timers: list[TimerHandle] = []
        self._due = 0.0  # when the next timer is, as of the last wait
        self._asleep = False
        self._ended = False
        self.buffer = bytearray(RECEIVE_BUFFER)
        self._thread = threading.Thread(target=self._run, name="flinkish-rpc-io", daemon=True)

    @classmethod
    def acquire(cls) -> IoThread:
        """The thread of this process, started if need be; give it back with ``release``."""
        with cls._guard:
            current = cls._current
            if current is None:
                try:
                    current = cls._started()
                except (OSError, RuntimeError) as error:
                    raise RpcConnectionError(
                        f"the I/O thread of this process cannot start: {lacking(error)}"
                    ) from error
                cls._current = current
            current._users += 1
            return current

    @classmethod
    def _started(cls) -> IoThread:
        made = cls()
        try:
            made._thread.start()
        except RuntimeError:
            made._close()
            raise
        return made

    def release(self) -> None:
        """One user less; with the last one the thread ends when its calls are made."""
        with self._guard:
            self._users -= 1
            if self._users or IoThread._current is not self:
                return
            IoThread._current = None
        self.post(self._end)

    @classmethod
    def on_fork(cls, call: Callable[[], None]) -> None:
        """Call this in every forked child, before anything else runs there."""
        cls._heirs.append(call)

    # --- for all threads

    def is_current(self) -> bool:
        """Whether the caller is the I/O thread."""
        return threading.get_ident() == self._thread.ident

    def post(self, call: Callable[[], None]) -> None:
        """Let the thread make this call soon."""
        self._calls.append(call)
        if self._asleep:
            self._asleep = False
            with suppress(OSError):  # it ended meanwhile, with nothing left to do
                os.eventfd_write(self._bell, 1)

    @property
    def epoll(self) -> int:
        """The descriptor of the epoll that it waits with."""
        return self._epoll.fileno()

    # --- for callbacks

    def register(self, fd: int, reader: Reader, events: int) -> None:
        """Wait for these epoll events of ``fd``."""
        self._epoll.register(fd, events)
        self._readers[fd] = reader

    def modify(self, fd: int, events: int) -> None:
        """Wait for other events of ``fd``."""
        self._epoll.modify(fd, events)

    def unregister(self, fd: int) -> None:
        """Wait for ``fd`` no more; before it is closed."""
        if self._readers.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def call_later(self, seconds: float, call: Callable[[], None]) -> TimerHandle:
        """Make this call in so many seconds."""
        handle = TimerHandle(time.monotonic() + seconds, call)
        heapq.heappush(self._timers, handle)
        return handle

    # --- the thread

    def _run(self) -> None:
        leave_callbacks(True)
        epoll, readers, calls = self._epoll, self._readers, self._calls
        while not self._ended:
            self._asleep = True
            timeout = self._until_timer()
            if calls:
                timeout = 0.0
            try:
                ready = epoll.poll(timeout, BATCH)
            finally:
                self._asleep = False
            for fd, events in ready:
                reader = readers.get(fd)
                if reader is not None:
                    try:
                        reader.on_ready(events)
                    except Exception:
                        logger.exception("a reader of the I/O thread failed")
                elif fd == self._bell:
                    with suppress(BlockingIOError):
                        os.eventfd_read(fd)
            if calls:
                for _ in range(len(calls)):
                    self._guarded(calls.popleft())
            if not ready or time.monotonic() >= self._due:
                self._run_timers()
        self._close()

    def _close(self) -> None:
        self._epoll.close()
        os.close(self._bell)

    def _guarded(self, call: Callable[[], None]) -> None:
        """A callback that fails must not take all connections of the process with it."""
        try:
            call()
        except Exception:
            logger.exception("a callback of the I/O thread failed")

    def _until_timer(self) -> float:
        timers = self._timers
        while timers and timers[0].call is None:
            heapq.heappop(timers)
        if not timers:
            self._due = math.inf
            return -1.0
        self._due = timers[0].when
        return max(0.0, self._due - time.monotonic())

    def _run_timers(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0].when <= now:
            call = heapq.heappop(self._timers).call
            if call is not None:
                self._guarded(call)

    def _end(self) -> None:
        self._ended = True

    @classmethod
    def _forked(cls) -> None:
        """In the child: the parent's thread is not here, and its files are the parent's."""
        inherited, cls._current, cls._guard = cls._current, None, threading.Lock()
        if inherited is not None:
            with suppress(OSError):
                inherited._epoll.close()
            with suppress(OSError):
                os.close(inherited._bell)
        for call in cls._heirs:
            call()


os.register_at_fork(after_in_child=IoThread._forked)
