"""How the functions of an asynchronous operator are called: what there is to know of all kinds."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from types import FrameType
from typing import Any, NoReturn

from flinkish.common.errors import ArgumentTypeError
from flinkish.functions.async_function import timed_out
from flinkish.functions.runtime_context import RuntimeContext
from flinkish.operators.async_calls import Arrivals, AsyncCall, CallFuture, results_of
from flinkish.operators.async_loop import EventLoopThread, event_loop, is_running
from flinkish.operators.async_threads import ThreadPool

__all__ = ["CallbackInvoker", "Invoker", "ThreadInvoker", "function_name", "is_async"]

MAX_THREADS = 128
"""Of the pool of one operator."""

_PATIENCE = 60.0  # seconds for a `close` that is `async def`: a blocked loop would never run it


def is_async(function: Any) -> bool:
    """Whether calling it gives a coroutine, or an asynchronous generator."""
    if not inspect.isroutine(function) and not isinstance(function, partial):
        function = type(function).__call__
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def function_name(function: Any) -> str:
    """The name of a function in messages."""
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, type):
        return f"{type(owner).__name__}.{function.__name__}"
    while hasattr(function, "func"):  # a functools.partial
        function = function.func
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return str(name)


class Invoker(ABC):
    """Calls one function for one operator.

    ``method`` is what is called with a value, ``function`` the object that is opened and closed,
    has a ``timeout`` method, or neither.

    Threading: the operator's thread.
    """

    def __init__(self, function: Any, method: Callable[..., Any]) -> None:
        self.function = function
        self.method = method
        self.name = function_name(method)
        self.arrivals: Arrivals
        self._loop: EventLoopThread | None = None

    def open(self, context: RuntimeContext, arrivals: Arrivals, capacity: int) -> None:
        """Get ready for ``capacity`` calls at once, and open the function."""
        self.arrivals = arrivals
        opens = getattr(self.function, "open", None)
        if callable(opens):
            self._finish(opens(context))

    @abstractmethod
    def start(self, call: AsyncCall) -> None:
        """Start an attempt under ``call.handle``; sets ``call.began`` if it is None."""

    def cancel(self, call: AsyncCall) -> None:  # noqa: B027 - not all can
        """Stop what is under way for a call, if that can be; whatever it brings is refused."""

    def time_out(self, call: AsyncCall, handle: int) -> None:
        """Have ``timeout()`` end the call under ``handle``."""
        times_out = getattr(self.function, "timeout", None)
        if not callable(times_out):
            self.arrivals.arrive(call, handle, timed_out(self.name, call.value), None)
            return
        try:
            result = times_out(call.value)
            if inspect.isawaitable(result):
                self._on_loop().call(self._start_timeout, call, handle, result)
                return
            results = results_of(result, self._timeout_name())
        except Exception as error:
            self.arrivals.arrive(call, handle, error, None)
        else:
            self.arrivals.arrive(call, handle, None, results)

    def close(self, calls: Iterable[AsyncCall]) -> None:
        """Stop the calls that are under way, and close the function."""
        try:
            closes = getattr(self.function, "close", None)
            if callable(closes):
                self._finish(closes(), _PATIENCE)
        finally:
            loop, self._loop = self._loop, None
            if loop is not None:
                loop.release(self.describe)

    def describe(self, frame: FrameType) -> str | None:
        """Whose call the loop's thread is at, if it is one of this invoker's."""
        return None

    # --- for those that need the loop

    def _timeout_name(self) -> str:
        return f"{type(self.function).__name__}.timeout"

    def _on_loop(self) -> EventLoopThread:
        if self._loop is None:
            self._loop = event_loop(self.describe)
        return self._loop

    def _finish(self, result: Any, seconds: float | None = None) -> None:
        """Wait for an ``open`` or ``close`` that is ``async def``."""
        if inspect.isawaitable(result):
            self._on_loop().run(_await(result), seconds)

    def _start_timeout(self, call: AsyncCall, handle: int, result: Any) -> None:
        async def end() -> None:
            try:
                results = results_of(await result, self._timeout_name())
            except BaseException as error:
                if not is_running(call.task):
                    raise
                self.arrivals.arrive(call, handle, error, None)
            else:
                self.arrivals.arrive(call, handle, None, results)

        call.task = call.context.run(self._on_loop().loop.create_task, end())


async def _await(awaitable: Any) -> Any:
    return await awaitable


class CallbackInvoker(Invoker):
    """Calls a function that gets a `ResultFuture`, on the operator's thread.

    As in Flink's AsyncWaitOperator.
    """

    def start(self, call: AsyncCall) -> None:
        """Call the function with a `ResultFuture`.

        What the function raises itself goes on to the caller.
        """
        self.method(call.value, CallFuture(self.arrivals, call, call.handle, self.name))

    def time_out(self, call: AsyncCall, handle: int) -> None:
        """Call ``timeout`` with a `ResultFuture`."""
        future = CallFuture(self.arrivals, call, handle, self._timeout_name())
        times_out = getattr(self.function, "timeout", None)
        if callable(times_out):
            times_out(call.value, future)
        else:
            future.complete_exceptionally(timed_out(self.name, call.value))


class ThreadInvoker(Invoker):
    """Calls a plain function on a bounded pool of threads."""

    _pool: ThreadPool

    def open(self, context: RuntimeContext, arrivals: Arrivals, capacity: int) -> None:
        """Make the threads, at most ``capacity``."""
        self._pool = ThreadPool(min(capacity, MAX_THREADS), f"{self.name}-{id(self):x}")
        super().open(context, arrivals, capacity)

    def start(self, call: AsyncCall) -> None:
        """Have a thread call the function."""
        handle = call.handle
        self._pool.submit(lambda: self._run(call, handle))

    def _run(self, call: AsyncCall, handle: int) -> None:
        if call.overdue:
            return
        if call.began is None:
            call.began = self.arrivals.now()
        try:
            result = call.context.run(self.method, call.value)
            if inspect.isawaitable(result):
                self._refuse(result)
            results = results_of(result, self.name)
        except BaseException as error:
            self.arrivals.arrive(call, handle, error, None)
        else:
            self.arrivals.arrive(call, handle, None, results)

    def _refuse(self, result: Any) -> NoReturn:
        if isinstance(result, Coroutine):
            result.close()
        raise ArgumentTypeError(
            f"{self.name} is a plain function and gave a {type(result).__name__}, which nobody "
            "awaits: declare it `async def` and return the awaited value"
        )

    def close(self, calls: Iterable[AsyncCall]) -> None:
        """End the threads; one whose call hangs ends with the process."""
        pool = getattr(self, "_pool", None)
        if pool is not None:
            pool.close()
        super().close(calls)
