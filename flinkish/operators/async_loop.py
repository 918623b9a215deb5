"""The event loop of the process: one, on a thread of its own, for all asynchronous functions.

Invariants:
  L1  A process has at most one loop, made when the first asks for it and ended when the last of
      its users has given it back.  A forked child makes its
      own: it forgets its parent's, and who still holds that one is refused before anything is
      written to the pipe that both would share.
  L2  Nothing runs on the loop but its callbacks: whatever thread asks for something hands it over
      by `call_soon_threadsafe`.  The loop is never nested in another that runs.
  L3  The watch never touches the loop's state.  It asks for a sign of life, and looks at the
      stack of the loop's thread when none has come within the threshold.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import selectors
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from types import FrameType
from typing import Any, TypeAlias, TypeVar

from flinkish.common.errors import DeadlockError, IllegalStateError

__all__ = [
    "BLOCKED_AFTER",
    "PATIENCE",
    "EventLoopThread",
    "LoopStatistics",
    "event_loop",
    "is_running",
]

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

_FD_SETSIZE = 1024  # numbers of files that `select` knows

BLOCKED_AFTER = 1.0
"""Seconds without a sign of life after which a loop counts as blocked."""

PATIENCE = 10.0
"""Seconds in which cancelled calls, and other tasks of functions, must end."""

Describe: TypeAlias = Callable[[FrameType], str | None]


def is_running(task: asyncio.Task[Any] | None) -> bool:
    """Whether the caller runs as a step of this task, not because a coroutine is closed."""
    try:
        return task is not None and asyncio.current_task() is task
    except RuntimeError:  # no loop runs on this thread
        return False


def _exact_selector() -> selectors.BaseSelector | None:
    """A selector that waits to the microsecond, where the system's rounds up to a millisecond.

    Calls of 10 ms that all end at the next full millisecond cost a tenth of the throughput, and
    then start together again.  An epoll is itself something that `select` can wait for.
    """
    if not hasattr(selectors, "EpollSelector"):
        return None

    class ExactSelector(selectors.EpollSelector):
        def select(self, timeout: float | None = None) -> Any:
            number = self.fileno()
            if timeout is not None and timeout > 0 and number < _FD_SETSIZE:
                select.select((number,), (), (), timeout)
                timeout = 0
            return super().select(timeout)

    return ExactSelector()


def _new_loop() -> asyncio.AbstractEventLoop:
    """A loop of uvloop where that is installed, else asyncio's."""
    try:
        uvloop = import_module("uvloop")
    except ImportError:
        selector = _exact_selector()
        return asyncio.new_event_loop() if selector is None else asyncio.SelectorEventLoop(selector)
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


@dataclass(frozen=True)
class LoopStatistics:
    """A loop at one moment: operators that use it, and how often it was found blocked."""

    users: int
    blocked: int
    last_blocked_by: str | None


class EventLoopThread:
    """An event loop that runs on a daemon thread; `event_loop` gives the one of the process.

    Threading: safe from any thread.
    """

    def __init__(self) -> None:
        self._pid = os.getpid()
        self.loop = _new_loop()
        self._blocked = 0
        self._last_blocked_by: str | None = None
        self._users: list[Describe] = []
        self._ended = threading.Event()
        self.thread = threading.Thread(target=self._run, name="flinkish-async", daemon=True)
        self._watcher = threading.Thread(
            target=self._watch, name="flinkish-async-watch", daemon=True
        )
        self.thread.start()
        self._watcher.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def call(self, function: Callable[..., object], *arguments: Any) -> None:
        """Call ``function(*arguments)`` on the loop, soon."""
        self._check_process()
        self.loop.call_soon_threadsafe(function, *arguments)

    def run(self, coroutine: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Run a coroutine on the loop and wait for what it returns or raises."""
        try:
            self._check_process()
            if threading.current_thread() is self.thread:
                raise DeadlockError("the thread of the event loop cannot wait for the event loop")
        except BaseException:
            coroutine.close()
            raise
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(timeout)

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise IllegalStateError(
                f"this event loop belongs to process {self._pid}, and process {os.getpid()} was "
                "forked from it: open the operator in the process that runs it"
            )

    def statistics(self) -> LoopStatistics:
        """The loop at this moment."""
        return LoopStatistics(len(self._users), self._blocked, self._last_blocked_by)

    def release(self, describe: Describe) -> None:
        """Give back what `event_loop` gave for ``describe``; the last who does ends the loop."""
        global _current
        with _lock:
            self._users.remove(describe)
            last = not self._users
            if last and _current is self:
                _current = None
        if last and os.getpid() == self._pid:
            self._end()

    # --- the end

    def _end(self) -> None:
        self._ended.set()
        try:
            self.run(self._wind_up(), 2 * PATIENCE)
        except FutureTimeoutError:
            _LOG.warning("the event loop is blocked, and is left behind with its thread")
            return
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self._watcher.join()
        self.loop.close()

    async def _wind_up(self) -> None:
        """Cancel what functions have left behind, as `asyncio.run` does at its end."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=PATIENCE)
        await self.loop.shutdown_asyncgens()
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.loop.shutdown_default_executor(), PATIENCE)

    # --- the watch

    def _watch(self) -> None:
        while not self._ended.wait(BLOCKED_AFTER / 4):
            alive = threading.Event()
            self.loop.call_soon_threadsafe(alive.set)
            if not alive.wait(BLOCKED_AFTER):
                self._report()
                while not alive.wait(BLOCKED_AFTER) and not self._ended.is_set():
                    pass

    def _report(self) -> None:
        """Say who keeps the loop from going on, if it still is."""
        frame = sys._current_frames().get(self.thread.ident or 0)
        if frame is None:
            return
        who = next((said for ask in list(self._users) if (said := ask(frame)) is not None), None)
        if who is None:
            return  # the loop waits for a processor, or for something that is not ours
        self._blocked += 1
        self._last_blocked_by = who
        _LOG.warning(
            "%s has blocked the event loop for %.1f s, and with it every other call of this "
            "process: await instead, or pass a plain function, which runs on a thread pool. It is "
            "here:\n%s",
            who,
            BLOCKED_AFTER,
            "".join(traceback.format_stack(frame)),
        )


_lock = threading.Lock()
_current: EventLoopThread | None = None


def event_loop(describe: Describe) -> EventLoopThread:
    """The event loop of this process, made if there is none; `release` it in the end.

    ``describe(frame)`` is asked who is to blame when the loop is blocked: it gets the innermost
    frame of the loop's thread, and says whose call that is, or None if it does not know.
    """
    global _current
    with _lock:
        if _current is None:
            _current = EventLoopThread()
        _current._users.append(describe)
        return _current


def _forget() -> None:
    """In a forked child: there is no such thread here, and its lock may be held for ever."""
    global _current, _lock
    _lock = threading.Lock()
    _current = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
