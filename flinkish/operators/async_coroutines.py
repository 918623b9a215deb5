"""Coroutine functions, called on the event loop of the process.

A task costs ten times what an `await` does, and many calls never wait: their answer is cached, or
the value needs none.  So a task makes one call after another, as long as there are some.  The
first to be started, a turn, is alone: if its calls do not wait, it makes them all.  If one does,
it keeps the task to its end, and those after it get others.  Hence

  T1  a call has its task to itself from its beginning to its end: `asyncio.current_task`, timeouts
      and cancellation are what they are anywhere;
  T2  what was cancelled ends its task, which may still know of it: nobody else gets that;
  T3  each call runs in the context (`contextvars`) in which its element was processed, and sees
      nothing of what another one set: where that of the task is not, or no longer, the same, the
      call is made in a copy of its own (`_within`);
  T4  at most `_limit` calls run at once.  More may be at hand (read ahead): the task that ends a
      call takes the next without asking another thread.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextvars import Context, copy_context
from types import FrameType, coroutine
from typing import Any

from flinkish.common.errors import UserFunctionError
from flinkish.common.notes import shortened
from flinkish.functions.runtime_context import RuntimeContext
from flinkish.operators.async_calls import Arrivals, AsyncCall, results_of
from flinkish.operators.async_invokers import Invoker
from flinkish.operators.async_loop import PATIENCE, is_running

__all__ = ["CoroutineInvoker"]

_LOG = logging.getLogger(__name__)
_AT_ONCE = 256  # calls of one turn, so that the loop's other work has its turn


@coroutine
def _within(context: Context, steps: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Await ``steps``, each of them in ``context``; costs a tenth of what a task does."""
    step: Callable[[Any], Any] = steps.send
    given: Any = None
    while True:
        try:
            waits_for = context.run(step, given)
        except StopIteration as end:
            return end.value
        finally:
            given = None  # else an exception and this frame would keep each other
        try:
            given = yield waits_for
        except BaseException as error:  # of the task, mostly that it was cancelled
            step, given = steps.throw, error
        else:
            step = steps.send


class _Turn:
    """A task that is alone for one step; ``made`` calls so far."""

    __slots__ = ("made", "task")

    def __init__(self) -> None:
        self.made = 0
        self.task: asyncio.Task[None] | None = None


class CoroutineInvoker(Invoker):
    """Calls an ``async def``, or an asynchronous generator.

    Threading: methods with a leading underscore run on the loop's thread, the others on the
    operator's.
    """

    def __init__(self, function: Any, method: Callable[..., Any]) -> None:
        super().__init__(function, method)
        if inspect.isasyncgenfunction(method):
            self._generator, self.method = method, self._collect
        self._inbox: deque[AsyncCall] = deque()
        self._waking = False
        self._turn: _Turn | None = None
        self._running = 0  # tasks, each of which makes one call at a time
        self._limit = 1

    async def _collect(self, value: Any) -> list[Any]:
        return [one async for one in self._generator(value)]

    def open(self, context: RuntimeContext, arrivals: Arrivals, capacity: int) -> None:
        """Start the event loop.

        At most ``capacity`` calls run at once, the others wait for them.
        """
        self._limit = capacity
        super().open(context, arrivals, capacity)

    def start(self, call: AsyncCall) -> None:
        """Hand a call over; the loop is woken once for all that come until it looks."""
        self._inbox.append(call)
        if not self._waking:
            self._waking = True
            self._on_loop().call(self._wake)

    def cancel(self, call: AsyncCall) -> None:
        """Cancel the coroutine of a call."""
        self._on_loop().call(self._cancel, call)

    def close(self, calls: Iterable[AsyncCall]) -> None:
        """Cancel the coroutines of these calls and end the loop.

        One that does not end is left, with a warning.
        """
        try:
            loop = self._loop
            left = 0 if loop is None else loop.run(self._stop(list(calls)), 2 * PATIENCE)
            if left:
                _LOG.warning(
                    "%d calls of %s did not end within %.0f s after they were cancelled",
                    left,
                    self.name,
                    PATIENCE,
                )
        except FutureTimeoutError:
            _LOG.warning("the event loop is blocked, so calls of %s are not cancelled", self.name)
        finally:
            super().close(calls)

    # --- on the loop

    def _wake(self) -> None:
        self._waking = False
        self._begin()

    def _begin(self) -> None:
        """Start a turn, if there is something to call for and none is on."""
        if self._turn is None and self._inbox and self._running < self._limit:
            turn = self._turn = _Turn()
            turn.task = self._spawn(turn)
            # It runs after the first step of the task.
            self._on_loop().loop.call_soon(self._after_step, turn)

    def _spawn(self, turn: _Turn | None) -> asyncio.Task[None]:
        call = self._inbox.popleft()
        self._running += 1
        loop = self._on_loop().loop
        task: asyncio.Task[None] = call.context.run(loop.create_task, self._take(turn, call))
        return task

    def _after_step(self, turn: _Turn) -> None:
        """The turn's first step is done: it took all there was, or a call waits."""
        self._turn = None
        waits = turn.task is not None and not turn.task.done()
        if turn.made > 1 or not waits:
            self._begin()
            return
        # The first call waits.  So will most of the others.
        while self._inbox and self._running < self._limit:
            self._spawn(None)

    async def _take(self, turn: _Turn | None, call: AsyncCall) -> None:
        """Make one call after another, as long as there are any."""
        inbox, arrive, now = self._inbox, self.arrivals.arrive, self.arrivals.now
        task, context = asyncio.current_task(), call.context
        made, alike = 0, True
        while True:
            made += 1
            if turn is not None:
                turn.made = made
            handle = call.handle
            if not call.overdue:
                call.task = task
                if call.began is None:
                    call.began = now()
                try:
                    # Where one differs, all do: to compare them costs more than it saves.
                    alike = alike and call.context == context == copy_context()
                    if alike:
                        result = await self._call(call.value)
                    else:
                        result = await _within(call.context.copy(), self._call(call.value))
                except GeneratorExit as error:
                    if not is_running(task):
                        raise  # not raised by the function: this coroutine is closed with its loop
                    arrive(call, handle, error, None)
                except asyncio.CancelledError as error:
                    arrive(call, handle, self._cancelled(call, error), None)
                    break
                except BaseException as error:
                    arrive(call, handle, error, None)
                else:
                    arrive(call, handle, None, result)
                if call.task is not task:
                    break  # it was cancelled, and the task may still know (T2)
                call.task = None
            if not inbox or made >= _AT_ONCE:
                break
            call = inbox.popleft()
        self._running -= 1
        if inbox:
            self._begin()  # which a turn whose step is not over does by itself

    async def _call(self, value: Any) -> list[Any]:
        result = await self.method(value)
        return result if type(result) is list else results_of(result, self.name)

    def _cancelled(self, call: AsyncCall, cause: BaseException) -> UserFunctionError:
        error = UserFunctionError(
            f"{self.name} was cancelled for {shortened(call.value)}, by itself or by what it "
            "awaited",
            function=type(self.function).__name__,
            method=getattr(self.method, "__name__", None),
        )
        error.__cause__ = cause
        return error

    def _cancel(self, call: AsyncCall) -> None:
        task, call.task = call.task, None
        if task is not None:
            task.cancel()

    async def _stop(self, calls: list[AsyncCall]) -> int:
        self._inbox.clear()  # here, since a task looks whether there is one, and then takes it
        tasks = [call.task for call in calls if call.task is not None and not call.task.done()]
        for task in tasks:
            task.cancel()
        if not tasks:
            return 0
        _, left = await asyncio.wait(tasks, timeout=PATIENCE)
        return len(left)

    def describe(self, frame: FrameType) -> str | None:
        """Who is to blame if the loop's thread is here."""
        at: FrameType | None = frame
        while at is not None:
            if at.f_code is _TAKE and at.f_locals.get("self") is self:
                return f"{self.name}, called for {shortened(at.f_locals['call'].value)},"
            at = at.f_back
        return None


_TAKE = CoroutineInvoker._take.__code__
