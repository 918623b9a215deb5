"""Calls under way, and how their results come back to the thread of the operator.

Invariants:
  A1  An attempt is known by its handle, which the element queue hands out.  The thread that ends an
      attempt renews the handle first, on whatever thread: one succeeds, all others are refused.
      So an attempt has one end, be it a result, an error, or the timeout.
  A2  What ended attempts have brought lies in `Arrivals` until the operator's thread settles it:
      it completes the element with the handle that the end got, or starts the next attempt under
      it.  Nobody else has that handle, so nothing can come between.
  A3  There is a mail under way whenever something lies there: a thread that brings something looks
      at `_mailed` after it has put it there, and the mail clears that before it takes anything.
  A4  `AsyncCall.handle` is that of the current attempt.  The operator's thread alone writes it,
      before it hands the call over; the attempt reads it when it starts.
  A5  `AsyncCall.began` is written once: by the operator's thread, or, if that left it None, by who
      begins the first attempt.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from contextvars import Context
from typing import Any

from flinkish._core.operators.element_queue import ElementQueue
from flinkish.common.elements import StreamRecord
from flinkish.common.errors import ArgumentTypeError, RejectedExecutionError
from flinkish.common.notes import shortened
from flinkish.functions.async_function import ResultFuture
from flinkish.mailbox import MailboxExecutor

__all__ = ["Arrival", "Arrivals", "AsyncCall", "CallFuture", "results_of"]


class AsyncCall:
    """An element that waits for its result.

    ``value`` is what the function is called with, ``records`` the elements it was made of,
    ``timestamp`` that of its results.
    """

    # Most calls never have anything else.
    attempt = 1
    latest = 0  # ms, when its time begins at the latest; 0 where it has no end
    began: int | None = 0  # ms, when its time began; None while it waits for a place to run in
    timer = 0  # handle of its timeout, 0 for none
    retry = 0  # handle of the timer of its next attempt, 0 for none
    overdue = False  # the time is over
    timed_out = False  # timeout() was called: nothing is tried again
    task: asyncio.Task[Any] | None = None  # on the loop's thread

    def __init__(
        self,
        value: Any,
        timestamp: int | None,
        records: StreamRecord | tuple[StreamRecord, ...],
        context: Context,
    ) -> None:
        self.value = value
        self.timestamp = timestamp
        self.records = records
        self.context = context
        self.handle = 0


Arrival = tuple[AsyncCall, int, BaseException | None, Any]
"""A call, the handle that its end got, and an error, or values, or a function that gives them."""


class Arrivals:
    """Results on their way from any thread to that of the operator, one mail for many."""

    def __init__(
        self,
        queue: ElementQueue,
        executor: MailboxExecutor,
        settle: Callable[[], object],
        now: Callable[[], int],
    ) -> None:
        self.now = now  # ms
        self._queue = queue
        self._executor = executor
        self._settle = settle
        self._mailed = False
        self.items: deque[Arrival] = deque()
        self._closed = False

    def arrive(
        self, call: AsyncCall, handle: int, error: BaseException | None, results: Any
    ) -> bool:
        """End an attempt; False if it has ended already (Flink: AsyncWaitOperator)."""
        fresh = self._queue.renew(handle)
        if fresh is None:
            return False
        self.items.append((call, fresh, error, results))
        if not self._mailed:
            self.post()
        return True

    def post(self) -> None:
        """See to it that a mail is under way (A3)."""
        self._mailed = True
        try:
            self._executor.execute(self._open, "results of asynchronous calls")
        except RejectedExecutionError:
            self._closed = True

    @property
    def dropped(self) -> int:
        """How many completions came after the mailbox was closed."""
        return len(self.items) if self._closed else 0

    def _open(self) -> None:
        self._mailed = False
        self._settle()


class CallFuture(ResultFuture):
    """Ends one attempt of one call."""

    __slots__ = ("_arrivals", "_attempt", "_call", "_handle", "_name")

    def __init__(self, arrivals: Arrivals, call: AsyncCall, handle: int, name: str) -> None:
        self._arrivals = arrivals
        self._call = call
        self._handle = handle
        self._attempt = call.attempt
        self._name = name

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1 on."""
        return self._attempt

    def complete(self, results: Iterable[Any] | Callable[[], Iterable[Any]]) -> bool:
        """End the call with these results; False if it has ended before."""
        if callable(results):
            return self._arrivals.arrive(self._call, self._handle, None, results)
        try:
            values = results_of(results, self._name)
        except Exception as error:
            return self._arrivals.arrive(self._call, self._handle, error, None)
        return self._arrivals.arrive(self._call, self._handle, None, values)

    def complete_exceptionally(self, error: Any) -> bool:
        """End the call with an error; False if it has ended before."""
        if not isinstance(error, BaseException):
            error = ArgumentTypeError(
                f"{self._name} was completed exceptionally with {shortened(error)}, which is no "
                "exception"
            )
        return self._arrivals.arrive(self._call, self._handle, error, None)


def results_of(result: Any, name: str) -> list[Any]:
    """The values that a function returned; ArgumentTypeError for None and single values.

    As in Flink's AsyncWaitOperator and AsyncFunction.
    """
    if type(result) is list:
        return result
    if result is None:
        raise ArgumentTypeError(
            f"{name} gave None: results must not be None; give an empty list to emit nothing"
        )
    one_value = isinstance(result, (str, bytes, bytearray, dict)) or hasattr(result, "get_row_kind")
    if one_value or not hasattr(result, "__iter__"):
        raise ArgumentTypeError(
            f"{name} gave {shortened(result)} of type {type(result).__name__}, where an iterable "
            "of values is needed: give a list, [value] for one"
        )
    return list(result)
