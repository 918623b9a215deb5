"""The settings of an asynchronous operator, checked, and its statistics."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from operator import index
from typing import Any

from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.functions.async_retry import AsyncRetryPredicate, AsyncRetryStrategy
from flinkish.operators.async_coroutines import CoroutineInvoker
from flinkish.operators.async_invokers import CallbackInvoker, Invoker, ThreadInvoker, is_async

__all__ = ["AsyncSettings", "AsyncStatistics", "RetryRule", "invoker_of"]

MODES = ("ordered", "unordered")
MAX_CAPACITY = (1 << 24) - 1

FailureHandler = Callable[[Any, BaseException, int], Any]


@dataclass(frozen=True)
class AsyncStatistics:
    """An asynchronous operator at one moment.

    ``in_flight`` elements and watermarks wait in the queue, ``restored`` ones for a place in it;
    ``timers`` are timeouts and retries pending.  Since it was made: elements ``timed_out``,
    attempts ``retried``, elements ``failed`` for good, results ``dropped`` since they came after
    the end (Flink: AsyncWaitOperator).
    """

    in_flight: int
    restored: int
    timers: int
    timed_out: int
    retried: int
    failed: int
    dropped: int


class RetryRule:
    """A retry strategy, taken apart."""

    def __init__(self, strategy: AsyncRetryStrategy, predicate: AsyncRetryPredicate) -> None:
        self.strategy = strategy
        self.on_result = predicate.result_predicate()
        self.on_exception = predicate.exception_predicate()
        self.can_retry = strategy.can_retry

    @classmethod
    def of(cls, strategy: AsyncRetryStrategy | None, timeout: int) -> RetryRule | None:
        """The rule, or None if nothing is ever tried again (Flink: AsyncWaitOperator)."""
        if strategy is None:
            return None
        if not isinstance(strategy, AsyncRetryStrategy):
            raise ArgumentTypeError(
                f"retry must be an AsyncRetryStrategy, such as AsyncRetryStrategy.fixed_delay(3, "
                f"100), or None, not {strategy!r}"
            )
        predicate = strategy.get_retry_predicate()
        if not isinstance(predicate, AsyncRetryPredicate):
            raise ArgumentTypeError(
                f"get_retry_predicate of {type(strategy).__name__} must give an "
                f"AsyncRetryPredicate, not {predicate!r}"
            )
        rule = cls(strategy, predicate)
        if rule.on_result is None and rule.on_exception is None:
            return None
        if timeout <= 0:
            raise IllegalArgumentError(
                "retries need a timeout greater than 0, which spans all attempts of an element: "
                "without one a call that hangs would never be tried again"
            )
        return rule

    def wants(self, error: BaseException | None, results: list[Any]) -> bool:
        """Whether such an end is worth another attempt."""
        if error is None:
            return self.on_result is not None and bool(self.on_result(results))
        worth = self.on_exception if isinstance(error, Exception) else None
        return worth is not None and bool(worth(error))

    def backoff(self, attempts: int) -> int:
        """Milliseconds before the next attempt."""
        return max(self.strategy.get_backoff_time_millis(attempts), 0)


@dataclass(frozen=True)
class AsyncSettings:
    """How an operator calls; ``timeout`` in ms, 0 for none."""

    timeout: int
    capacity: int
    read_ahead: int
    mode: str
    retry: RetryRule | None
    on_failure: FailureHandler | None

    @classmethod
    def of(
        cls,
        timeout: DurationLike | None,
        capacity: int,
        read_ahead: int | None,
        mode: str,
        retry: AsyncRetryStrategy | None,
        on_failure: FailureHandler | None,
    ) -> AsyncSettings:
        """The settings; ArgumentTypeError and IllegalArgumentError for what they cannot be."""
        millis = 0 if timeout is None else to_millis(timeout, "timeout", minimum=0)
        if mode not in MODES:
            raise IllegalArgumentError(f"mode must be 'ordered' or 'unordered', not {mode!r}")
        if on_failure is not None and not callable(on_failure):
            raise ArgumentTypeError(
                "on_failure must be a function of a value, its error and the number of attempts, "
                f"not {on_failure!r}"
            )
        capacity = bounded(capacity, "capacity", 1, MAX_CAPACITY)
        if read_ahead is None:
            read_ahead = min(capacity // 2, MAX_CAPACITY - capacity)
        return cls(
            millis,
            capacity,
            bounded(read_ahead, "read_ahead", 0, MAX_CAPACITY - capacity),
            mode,
            RetryRule.of(retry, millis),
            on_failure,
        )


def bounded(number: Any, what: str, least: int, most: int) -> int:
    """``number`` as an int of ``least`` to ``most``."""
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise ArgumentTypeError(f"{what} must be an int of {least} or more, not {number!r}")
    if not least <= index(number) <= most:
        raise IllegalArgumentError(f"{what} must be from {least} to {most}, not {number!r}")
    return index(number)


def invoker_of(fn: Any) -> Invoker:
    """The invoker of ``fn``; ArgumentTypeError if none can call it."""
    if isinstance(fn, type):
        raise ArgumentTypeError(f"{fn.__name__} is a class: give an instance, {fn.__name__}()")
    method = getattr(fn, "async_invoke", None)
    if callable(method):
        if is_async(method):
            return CoroutineInvoker(fn, method)
        if _arguments(method) == 2:
            return CallbackInvoker(fn, method)
        raise ArgumentTypeError(
            f"{type(fn).__name__}.async_invoke is not awaitable: declare it "
            "`async def async_invoke(self, value)`, or let it take a ResultFuture besides the "
            "value; a function that waits by itself may be given as a plain function of a value"
        )
    if callable(getattr(fn, "async_invoke_batch", None)):
        raise ArgumentTypeError(
            f"{type(fn).__name__} takes batches: use AsyncBatchWaitOperator for it"
        )
    if not callable(fn):
        raise ArgumentTypeError(
            "an asynchronous operator needs an AsyncFunction, an `async def` or a plain function "
            f"of one value, not {fn!r}"
        )
    return CoroutineInvoker(fn, fn) if is_async(fn) else ThreadInvoker(fn, fn)


def _arguments(method: Any) -> int:
    """How many positional arguments it needs."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return 1
    return sum(one.kind in positional and one.default is one.empty for one in parameters)
