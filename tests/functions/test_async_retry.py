"""Retry strategies and their predicates."""

import pickle
from typing import Any

import pytest

from flinkish.common import Duration
from flinkish.common.errors import ArgumentTypeError, AsyncTimeoutError, IllegalArgumentError
from flinkish.functions import AsyncFunction, AsyncRetryStrategy
from flinkish.functions.async_retry import (
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    NoRetryStrategy,
    RetryPredicate,
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)


def test_no_restart() -> None:
    strategy = AsyncRetryStrategy.no_restart()
    assert isinstance(strategy, NoRetryStrategy)
    assert not strategy.can_retry(1)
    assert strategy.get_backoff_time_millis(1) == -1
    predicate = strategy.get_retry_predicate()
    assert predicate.result_predicate() is None
    assert predicate.exception_predicate() is None


def test_fixed_delay() -> None:
    """D.18, D.20: max_attempts counts attempts behind the first; the wait is always the same."""
    strategy = AsyncRetryStrategy.fixed_delay(2, 100, empty_result_predicate)
    assert isinstance(strategy, FixedDelayRetryStrategy)
    assert [strategy.can_retry(attempts) for attempts in (1, 2, 3)] == [True, True, False]
    assert [strategy.get_backoff_time_millis(attempts) for attempts in (1, 2, 3)] == [100] * 3
    predicate = strategy.get_retry_predicate()
    assert predicate.result_predicate() is empty_result_predicate
    assert predicate.exception_predicate() is None


def test_exponential_backoff() -> None:
    """D.20: initial, then times the multiplier, bounded; a function of the attempts alone."""
    strategy = AsyncRetryStrategy.exponential_backoff(9, 10, 100, 2.5)
    assert isinstance(strategy, ExponentialBackoffDelayRetryStrategy)
    waits = [strategy.get_backoff_time_millis(attempts) for attempts in (0, 1, 2, 3, 4, 5)]
    assert waits == [10, 10, 25, 62, 100, 100]
    assert strategy.get_backoff_time_millis(10**6) == 100
    assert [strategy.get_backoff_time_millis(attempts) for attempts in (0, 1, 2)] == waits[:3]


def test_jitter_takes_away_its_share_at_most() -> None:
    strategy = AsyncRetryStrategy.exponential_backoff(9, 1_000, 1_000, 1, jitter=0.3)
    waits = [strategy.get_backoff_time_millis(1) for _ in range(1_000)]
    assert 700 <= min(waits) < 750
    assert 950 < max(waits) <= 1_000
    whole = AsyncRetryStrategy.exponential_backoff(9, 1, 1, 1, jitter=1)
    assert min(whole.get_backoff_time_millis(1) for _ in range(100)) == 1


def test_without_predicates_every_error_is_tried_again() -> None:
    for strategy in (
        AsyncRetryStrategy.fixed_delay(1, 1),
        AsyncRetryStrategy.exponential_backoff(1, 1, 1, 1),
    ):
        predicate = strategy.get_retry_predicate()
        assert predicate.exception_predicate() is has_exception_predicate
        assert predicate.result_predicate() is None


def test_predicates() -> None:
    assert empty_result_predicate([])
    assert not empty_result_predicate([None])
    assert has_exception_predicate(KeyError())
    assert exception_type_predicate(KeyError(), LookupError)
    assert not exception_type_predicate(KeyError(), OSError)
    with pytest.raises(ArgumentTypeError, match="exception_predicate must be a function or None"):
        RetryPredicate(None, KeyError())  # type: ignore[arg-type]


def test_durations_of_all_kinds_and_pickling() -> None:
    strategy = AsyncRetryStrategy.exponential_backoff(
        3, "1 second", Duration.of_minutes(1), 2, empty_result_predicate
    )
    again = pickle.loads(pickle.dumps(strategy))
    assert [again.get_backoff_time_millis(n) for n in (1, 2, 9)] == [1_000, 2_000, 60_000]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1, 1, 1), "max_attempts must be an int of at least 1, not 0"),
        ((True, 1, 1, 1), "max_attempts must be an int"),
        ((1, 0, 1, 1), "initial_delay must be at least 1 ms"),
        ((1, 1, 0, 1), "max_retry_delay must be at least 1 ms"),
        ((1, 10, 9, 1), "max_retry_delay 9 is less than initial_delay 10"),
        ((1, 1, 1, 0.5), "multiplier must be at least 1"),
        ((1, 1, 1, float("nan")), "multiplier must be at least 1"),
        ((1, 1, 1, "2"), "multiplier must be a number"),
    ],
)
def test_bad_settings_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    """D.20."""
    with pytest.raises(IllegalArgumentError, match=message):
        AsyncRetryStrategy.exponential_backoff(*arguments)


def test_other_bad_settings_are_refused() -> None:
    """D.20."""
    with pytest.raises(IllegalArgumentError, match="backoff_time_millis must be at least 1 ms"):
        AsyncRetryStrategy.fixed_delay(1, 0)
    for jitter in (-0.1, 1.1, "half"):
        with pytest.raises(IllegalArgumentError, match="jitter is the share of a wait"):
            AsyncRetryStrategy.exponential_backoff(1, 1, 1, 1, jitter=jitter)  # type: ignore[arg-type]


def test_a_function_times_out_by_default() -> None:
    """D.9."""

    class Echo(AsyncFunction):
        async def async_invoke(self, value: Any) -> list[Any]:
            return [value]

    with pytest.raises(AsyncTimeoutError, match=r"Echo.async_invoke was not done in time for 7; "):
        Echo().timeout(7)
