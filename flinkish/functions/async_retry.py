"""When a call that failed is made again.

Strategies hold no state of an element: the wait before an attempt follows from the number of
attempts alone, so elements that fail at the same time do not disturb each other (Flink's
exponential back-off is shared by all of them: AsyncRetryStrategies).
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeAlias

from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.type_variables import OUT

__all__ = [
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "ExponentialBackoffDelayRetryStrategy",
    "FixedDelayRetryStrategy",
    "NoRetryStrategy",
    "RetryPredicate",
    "empty_result_predicate",
    "exception_type_predicate",
    "has_exception_predicate",
]

ResultPredicate: TypeAlias = Callable[[list[Any]], bool]
ExceptionPredicate: TypeAlias = Callable[[BaseException], bool]


def empty_result_predicate(result: list[Any]) -> bool:
    """Whether there are no values."""
    return not result


def has_exception_predicate(error: BaseException) -> bool:
    """Whether there is an error: every one is worth another attempt."""
    return error is not None


def exception_type_predicate(
    error: BaseException, expected_error_type: type[BaseException]
) -> bool:
    """Whether the error is of that type."""
    return isinstance(error, expected_error_type)


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """Says which outcomes are worth another attempt."""

    @abstractmethod
    def result_predicate(self) -> ResultPredicate | None:
        """A function of the values of an attempt; None: no values are worth another."""

    @abstractmethod
    def exception_predicate(self) -> ExceptionPredicate | None:
        """A function of the error of an attempt; None: no error is worth another."""


class RetryPredicate(AsyncRetryPredicate[OUT]):
    """Two functions."""

    def __init__(
        self,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> None:
        for name, predicate in [
            ("result_predicate", result_predicate),
            ("exception_predicate", exception_predicate),
        ]:
            if predicate is not None and not callable(predicate):
                raise ArgumentTypeError(f"{name} must be a function or None, not {predicate!r}")
        self._result = result_predicate
        self._exception = exception_predicate

    def result_predicate(self) -> ResultPredicate | None:
        """As given."""
        return self._result

    def exception_predicate(self) -> ExceptionPredicate | None:
        """As given."""
        return self._exception


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """How often, and when, a call is made again.

    ``fixed_delay`` and ``exponential_backoff`` without any predicate retry on every error.
    """

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Whether there may be another attempt after so many."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Milliseconds to wait after so many."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate:
        """The predicate that says which outcomes are worth another attempt."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy:
        """The strategy that makes one attempt and no other one."""
        return NoRetryStrategy()

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: DurationLike,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> AsyncRetryStrategy:
        """Up to ``max_attempts`` attempts more, always the same time between them.

        As in Flink's AsyncWaitOperator.
        """
        return FixedDelayRetryStrategy(
            max_attempts, backoff_time_millis, result_predicate, exception_predicate
        )

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: DurationLike,
        max_retry_delay: DurationLike,
        multiplier: float,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
        *,
        jitter: float = 0.0,
    ) -> AsyncRetryStrategy:
        """Up to ``max_attempts`` attempts more, after waits that grow.

        The first wait is ``initial_delay``, each next ``multiplier`` (1 or more) times that
        before, ``max_retry_delay`` at most.  ``jitter``, 0 to 1, is the share of a wait that is
        left to chance: with 0.5 it is between half of it and all, so that calls which failed
        together do not come back together.
        """
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts,
            initial_delay,
            max_retry_delay,
            multiplier,
            result_predicate,
            exception_predicate,
            jitter=jitter,
        )


class NoRetryStrategy(AsyncRetryStrategy[OUT]):
    """One attempt."""

    def can_retry(self, current_attempts: int) -> bool:
        """Never."""
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Nothing to wait for."""
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        """Nothing is."""
        return RetryPredicate()


class _Limited(AsyncRetryStrategy[OUT]):
    """So many attempts more."""

    def __init__(
        self,
        max_attempts: int,
        result_predicate: ResultPredicate | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> None:
        if isinstance(max_attempts, bool) or not isinstance(max_attempts, int) or max_attempts < 1:
            raise IllegalArgumentError(
                f"max_attempts must be an int of at least 1, not {max_attempts!r}; for one "
                "attempt alone use AsyncRetryStrategy.no_restart()"
            )
        if result_predicate is None and exception_predicate is None:
            exception_predicate = has_exception_predicate
        self.max_attempts = max_attempts
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        """Up to the limit; the first attempt does not count (Flink: AsyncWaitOperator)."""
        return current_attempts <= self.max_attempts

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        """As given."""
        return self._predicate


class FixedDelayRetryStrategy(_Limited[OUT]):
    """The same wait before each attempt (Flink: AsyncRetryStrategies)."""

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: DurationLike,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> None:
        super().__init__(max_attempts, result_predicate, exception_predicate)
        self.delay = to_millis(backoff_time_millis, "backoff_time_millis", minimum=1)

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Always the same."""
        return self.delay


class ExponentialBackoffDelayRetryStrategy(_Limited[OUT]):
    """Waits that grow, see `AsyncRetryStrategy.exponential_backoff`."""

    def __init__(
        self,
        max_attempts: int,
        initial_delay: DurationLike,
        max_retry_delay: DurationLike,
        multiplier: float,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
        *,
        jitter: float = 0.0,
    ) -> None:
        super().__init__(max_attempts, result_predicate, exception_predicate)
        self.initial_delay = to_millis(initial_delay, "initial_delay", minimum=1)
        self.max_delay = to_millis(max_retry_delay, "max_retry_delay", minimum=1)
        if self.max_delay < self.initial_delay:
            raise IllegalArgumentError(
                f"max_retry_delay {max_retry_delay!r} is less than initial_delay {initial_delay!r}"
            )
        if isinstance(multiplier, bool) or not isinstance(multiplier, (int, float)):
            raise ArgumentTypeError(f"multiplier must be a number, not {multiplier!r}")
        if not multiplier >= 1:
            raise IllegalArgumentError(
                f"multiplier must be at least 1, so that waits grow, not {multiplier!r}"
            )
        if not isinstance(jitter, (int, float)) or not 0 <= jitter <= 1:
            raise IllegalArgumentError(
                f"jitter is the share of a wait left to chance, from 0 to 1, not {jitter!r}"
            )
        self.multiplier = multiplier
        self.jitter = jitter

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """``initial_delay * multiplier ** (current_attempts - 1)``, bounded, and jittered."""
        try:
            delay = self.initial_delay * self.multiplier ** max(current_attempts - 1, 0)
        except OverflowError:
            delay = self.max_delay
        delay = min(delay, self.max_delay)
        return max(int(delay * (1 - self.jitter * random.random())), 1)
