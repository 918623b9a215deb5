"""The event loop of an endpoint: its ``async def`` methods, run in its main thread.

Invariants:
    C1  The loop runs in turns of the endpoint's inbox only, whichever thread has the turn.  So
        coroutines, their callbacks, calls and functions of the endpoint run one at a time, and a
        coroutine gives way to others at an ``await`` that has to wait, nowhere else.
    C2  A coroutine runs up to its first such ``await`` within the letter that started it: the
        beginnings of calls keep the order of the calls.
    C3  No wake-up is lost.  A round of the loop that finds nothing ready leaves ``wish``, the time
        of its next timer.  After it a letter is under way, or the I/O thread watches the loop's
        epoll and a timer of the service stands at ``wish``.  The epoll is level-triggered: what
        became ready before the watch began ends it at once, and so does ``call_soon_threadsafe``,
        which writes to a socket in it.  What plain methods give the loop, by ``set`` of an Event
        or a ``call_later``, posts a letter.
    C4  ``_watched`` changes on the I/O thread only.  A turn that reads True while the watch is
        about to end need not begin another one: the letter which that end posts does.
    C5  An ending endpoint cancels its tasks, and is gone when they have ended, as `asyncio.run`
        does; coroutines that come later are refused.  One that fails is gone at once.
    C6  The I/O thread forgets the epoll before it closes it: no other file gets its number first.
"""

from __future__ import annotations

import asyncio
import math
import selectors
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from contextvars import Context
from typing import TYPE_CHECKING, Any

from flinkish._core.rpc.calls import Task
from flinkish._core.rpc.future import Prompt, RpcFuture
from flinkish._core.rpc.inbox import Inbox
from flinkish.common.errors import RecipientUnreachableError
from flinkish.rpc.futures import end
from flinkish.rpc.io_thread import EPOLLIN, IoThread
from flinkish.rpc.log_thread import LateLogger
from flinkish.time import ScheduledFuture

if TYPE_CHECKING:
    from typing_extensions import TypeVarTuple, Unpack

    _Ts = TypeVarTuple("_Ts")

__all__ = ["EndpointLoop", "start_coroutine"]

_LOG = LateLogger("flinkish.rpc")
ROUNDS = 16  # of the loop in one letter: then other letters have their turn


class _Selector(selectors.EpollSelector):
    """Never waits: it stops the loop when that wants to, and remembers until when.

    ``wish`` is in seconds: 0 if there is more to do now, None if only files are waited for.
    """

    loop: asyncio.AbstractEventLoop

    def __init__(self) -> None:
        super().__init__()
        self.rounds = 0
        self.wish: float | None = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        self.rounds += 1
        if found or (timeout is not None and timeout <= 0):
            if self.rounds >= ROUNDS:
                self.wish = 0.0
                self.loop.stop()
        else:
            self.wish = timeout
            self.loop.stop()
        return found


class _Loop(asyncio.SelectorEventLoop):
    """Tells when it is given something to do while it does not run."""

    def __init__(self, selector: _Selector, woken: Callable[[], None]) -> None:
        self._woken = woken
        super().__init__(selector)

    def call_soon(
        self,
        callback: Callable[[Unpack[_Ts]], object],
        *args: Unpack[_Ts],
        context: Context | None = None,
    ) -> asyncio.Handle:
        handle = super().call_soon(callback, *args, context=context)
        self._tell()
        return handle

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[_Ts]], object],
        *args: Unpack[_Ts],
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = super().call_at(when, callback, *args, context=context)
        self._tell()
        return handle

    def _tell(self) -> None:
        if not self.is_running():
            self._woken()


class EndpointLoop:
    """Runs coroutines in the main thread of one endpoint, on an asyncio loop of their own.

    Threading: all but ``on_ready`` is called in the main thread.

    It holds three file descriptors until ``close``.
    """

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._posted = False
        self._watched = False
        self._timer: ScheduledFuture | None = None
        self._ending = False
        self._closed = False
        # asyncio refers weakly to tasks, and what a task waits for may be its own.
        self._tasks: set[asyncio.Task[Any]] = set()
        with ExitStack() as undo:
            self._io = IoThread.acquire()
            undo.callback(self._io.release)
            self._selector = _Selector()
            undo.callback(self._selector.close)
            self._loop = self._selector.loop = _Loop(self._selector, self._post)
            undo.pop_all()

    def start(
        self, coroutine: Coroutine[Any, Any, Any], refused: Callable[[], Exception]
    ) -> RpcFuture[Any]:
        """Run it up to its first wait; the future gets what becomes of it.

        ``refused`` makes the error for one that the end of the endpoint came before.
        """
        future: RpcFuture[Any] = RpcFuture()
        if self._ending:
            coroutine.close()
            future.set_exception(refused())
            return future
        task = self._create(coroutine)
        self._tasks.add(task)

        def ended(task: asyncio.Task[Any]) -> None:
            self._tasks.discard(task)
            if not task.cancelled():
                error = task.exception()
                end(future, None if error is not None else task.result(), error)
            elif self._ending:
                end(future, error=refused())
            else:
                future.cancel()

        task.add_done_callback(ended)
        self._turn()
        return future

    def wind_up(self, then: Callable[[], object]) -> None:
        """Cancel all tasks; call ``then`` in the main thread when they have ended."""
        self._ending = True
        over = self._create(self._wind_up())
        over.add_done_callback(lambda _: self._inbox.post(Task(then, None, True)))
        self._turn()

    def _create(self, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """A task, without the letter of which the turn that is about to come makes no use."""
        posted, self._posted = self._posted, True
        try:
            return self._loop.create_task(coroutine)
        finally:
            self._posted = posted

    async def _wind_up(self) -> None:
        me = asyncio.current_task()
        while others := asyncio.all_tasks() - {me}:
            for task in others:
                task.cancel()
            await asyncio.wait(others)
        await self._loop.shutdown_asyncgens()
        await self._loop.shutdown_default_executor()

    def close(self) -> None:
        """Give up its files; tasks that are left are cancelled and get one turn."""
        if self._closed:
            return
        self._ending = True
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._turn()
        self._closed = True
        self._cancel_timer()
        self._io.post(self._dismiss)

    # --- turns

    def _letter(self) -> None:
        self._posted = False
        self._turn()

    def _turn(self) -> None:
        if self._closed:
            return
        self._cancel_timer()
        self._selector.rounds = 0
        self._selector.wish = 0.0
        try:
            self._loop.run_forever()
        except (SystemExit, KeyboardInterrupt) as error:
            # A task of it has this error, too, and gives it to its asker.
            _LOG.error("a coroutine of endpoint %r raised", self._inbox.name, exc_info=error)
        self._wait()

    def _wait(self) -> None:
        wish = self._selector.wish
        if wish is not None and wish <= 0:
            self._post()
            return
        if wish is not None:
            timers = self._inbox.home.timers
            at = timers.get_current_processing_time() + math.ceil(wish * 1000)
            self._timer = timers.register_timer(at, lambda _: self._post())
        if not self._watched:
            self._io.post(self._watch)

    def _post(self) -> None:
        if not self._posted:  # else there is a letter whose turn is still to come
            self._posted = True
            self._inbox.post(Task(self._letter, None, True))

    def _cancel_timer(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    # --- on the I/O thread

    def _watch(self) -> None:
        if not self._watched and not self._closed:
            self._watched = True
            self._io.register(self._selector.fileno(), self, EPOLLIN)

    def on_ready(self, _: int) -> None:
        """A file of the loop is ready: it wants a turn."""
        self._unwatch()
        self._post()

    def _unwatch(self) -> None:
        if self._watched:
            self._watched = False
            self._io.unregister(self._selector.fileno())

    def _dismiss(self) -> None:
        self._unwatch()
        self._loop.close()
        self._io.release()


def start_coroutine(
    inbox: Inbox, name: str, coroutine: Coroutine[Any, Any, Any], told: bool
) -> RpcFuture[Any]:
    """An ``async def`` was called in a turn: the future of its result."""

    def log(future: RpcFuture[Any]) -> None:
        error = None if future.cancelled() else future.exception()
        if error is not None and not isinstance(error, RecipientUnreachableError):
            _LOG.error("%s of endpoint %r raised", name, inbox.name, exc_info=error)

    future: RpcFuture[Any] = inbox.target._start_coroutine(name, coroutine)
    if told:
        future.add_done_callback(Prompt(log))
    return future
