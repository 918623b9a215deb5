"""Functions that wait for somebody else: a service, a database, a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Generic

from flinkish.common.errors import AsyncTimeoutError
from flinkish.common.notes import shortened
from flinkish.common.type_variables import IN, OUT
from flinkish.functions.base import Function
from flinkish.functions.runtime_context import RuntimeContext

__all__ = ["AsyncBatchFunction", "AsyncCallbackFunction", "AsyncFunction", "ResultFuture"]


def timed_out(function: str, value: Any) -> AsyncTimeoutError:
    """The error of a call that was not done in time."""
    return AsyncTimeoutError(
        f"{function} was not done in time for {shortened(value)}; raise the timeout, or override "
        "timeout() to give something instead"
    )


class _Asynchronous(Function):
    """Its ``open`` and ``close`` may be ``async def``."""

    def open(self, runtime_context: RuntimeContext) -> Any:
        """Called once before the first value."""

    def close(self) -> Any:
        """Called once after the last value, and after a failure."""


class AsyncFunction(_Asynchronous, Generic[IN, OUT]):
    """Makes any number of values of each, with many calls under way at once.

    ``async_invoke`` is ``async def`` and returns a list, or yields.  All calls of a process run on
    one event loop: what blocks it blocks all of them.

    ``open`` and ``close`` may be ``async def``, too: then they run on that loop, which is where
    most connection pools must be made.
    """

    @abstractmethod
    async def async_invoke(self, value: IN) -> Any:
        """The results for ``value``: an iterable of values, an empty one for nothing."""

    def timeout(self, value: IN) -> Any:
        """The results for ``value`` when ``async_invoke``, with all retries, has not done in time.

        May be ``async def``.  What it raises fails the task.
        """
        raise timed_out(f"{type(self).__name__}.async_invoke", value)


class ResultFuture(ABC, Generic[OUT]):
    """Takes the result of one attempt; from any thread, and once: what comes again is ignored."""

    @property
    @abstractmethod
    def attempt(self) -> int:
        """Which attempt this is, from 1."""

    @abstractmethod
    def complete(self, results: Iterable[OUT] | Callable[[], Iterable[OUT]]) -> bool:
        """Give the values; False if somebody else was first.

        A function is called on the thread of the task, and gives the values there (Flink:
        AsyncFunction).
        """

    @abstractmethod
    def complete_exceptionally(self, error: BaseException) -> bool:
        """Say why there are none; False if somebody else was first."""


class AsyncCallbackFunction(_Asynchronous, Generic[IN, OUT]):
    """The same for clients with callbacks: ``result_future`` is completed when the answer is there.

    ``async_invoke`` runs on the thread of the task and must not wait.  What it raises fails the
    task and is not tried again (Flink: AsyncWaitOperator); errors of the call go to
    ``complete_exceptionally``.
    """

    @abstractmethod
    def async_invoke(self, value: IN, result_future: ResultFuture[OUT]) -> None:
        """Start the call."""

    def timeout(self, value: IN, result_future: ResultFuture[OUT]) -> None:
        """Complete ``result_future`` in place of a call that has not done in time."""
        result_future.complete_exceptionally(
            timed_out(f"{type(self).__name__}.async_invoke", value)
        )


class AsyncBatchFunction(_Asynchronous, Generic[IN, OUT]):
    """Makes values of many at once, for services that take them in batches.

    As in Flink's AsyncBatchWaitOperator.
    """

    @abstractmethod
    async def async_invoke_batch(self, values: list[IN]) -> Any:
        """The results for ``values``, an iterable; it need not be as long, nor in their order."""

    def timeout(self, values: list[IN]) -> Any:
        """The results when ``async_invoke_batch`` has not done in time."""
        raise timed_out(f"{type(self).__name__}.async_invoke_batch", values)
