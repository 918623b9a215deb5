"""Coroutine functions, called on the event loop of the process.

A task costs ten times what an `await` does, and many calls never wait: their answer is cached, or
the value needs none.  So calls are started in turns.  A turn is one task that calls the function
for one element after another, as long as none of them waits; one that does keeps the task, to its
end, and those behind it get another.  Hence

  T1  a call that waits has a task of its own: `asyncio.current_task`, timeouts and cancellation
      are what they are anywhere;
  T2  calls share a task only if none of them waits, so never at the same time;
  T3  each call runs in the context (`contextvars`) in which its element was processed, and sees
      nothing of what another one set: a turn ends where the context differs, or was changed.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextvars import copy_context
from types import FrameType
from typing import Any

from flinkish.common.errors import UserFunctionError
from flinkish.common.notes import shortened
from flinkish.operators.async_calls import AsyncCall, results_of
from flinkish.operators.async_invokers import Invoker
from flinkish.operators.async_loop import PATIENCE

__all__ = ["CoroutineInvoker"]

_LOG = logging.getLogger(__name__)
_AT_ONCE = 256  # calls of one turn, so that the loop's other work has its turn


class _Turn:
    """``over`` as soon as a call has waited; ``started`` calls so far, ``call`` the last.

    ``differs``: it ended for the sake of contexts (T3).
    """

    __slots__ = ("call", "differs", "over", "started", "task")

    def __init__(self, over: bool) -> None:
        self.over = over
        self.differs = False
        self.started = 0
        self.call: AsyncCall | None = None
        self.task: asyncio.Task[None] | None = None


_OVER = _Turn(over=True)


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

    async def _collect(self, value: Any) -> list[Any]:
        return [one async for one in self._generator(value)]

    def start(self, call: AsyncCall) -> None:
        """Hand a call over; the loop is woken once for all that come until it looks."""
        self._inbox.append(call)
        if not self._waking:
            self._waking = True
            self._on_loop().call(self._wake)

    def cancel(self, call: AsyncCall) -> None:
        """As declared."""
        self._on_loop().call(self._cancel, call)

    def close(self, calls: Iterable[AsyncCall]) -> None:
        """As declared; calls that go on in spite of it are left behind, with a warning."""
        try:
            self._inbox.clear()
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
        if self._turn is None:
            self._begin()

    def _begin(self) -> None:
        if not self._inbox:
            return
        call = self._inbox.popleft()
        turn = self._turn = _Turn(over=False)
        loop = self._on_loop().loop
        turn.task = call.context.run(loop.create_task, self._take(turn, call))
        loop.call_soon(self._after_step, turn)  # runs behind the first step of the task

    def _after_step(self, turn: _Turn) -> None:
        """The turn's first step is done: it took all there was, or a call waits."""
        turn.over = True
        self._turn = None
        waits = turn.task is not None and not turn.task.done()
        if waits and turn.call is not None:
            turn.call.task = turn.task
        if turn.started > 1 or not (waits or turn.differs):
            self._begin()
            return
        # The first call has waited, or has a context of its own.  So will most of the others.
        loop = self._on_loop().loop
        while self._inbox:
            call = self._inbox.popleft()
            call.task = call.context.run(loop.create_task, self._take(_OVER, call))

    async def _take(self, turn: _Turn, call: AsyncCall) -> None:
        """Make one call, and others behind it until one waits."""
        inbox, method, arrive = self._inbox, self.method, self.arrivals.arrive
        context = call.context
        while True:
            if not turn.over:
                turn.call = call
                turn.started += 1
            handle = call.handle
            if not call.overdue:
                try:
                    result = await method(call.value)
                    if type(result) is not list:
                        result = results_of(result, self.name)
                except GeneratorExit:
                    raise
                except asyncio.CancelledError as error:
                    arrive(call, handle, self._cancelled(call, error), None)
                    return
                except BaseException as error:
                    arrive(call, handle, error, None)
                else:
                    arrive(call, handle, None, result)
            if turn.over:
                call.task = None
                return
            if not inbox or turn.started >= _AT_ONCE:
                return
            if inbox[0].context != context or copy_context() != context:
                turn.differs = True
                return
            call = inbox.popleft()

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
        if call.task is not None:
            call.task.cancel()

    async def _stop(self, calls: list[AsyncCall]) -> int:
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
