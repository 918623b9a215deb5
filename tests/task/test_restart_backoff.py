"""Restart strategies, by a clock in the hand."""

import pytest

from flinkish.common import RestartStrategies
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.task.restart_backoff import backoff_of


def test_none() -> None:
    assert backoff_of(RestartStrategies.no_restart()).failed(0) is None


def test_fixed_delay() -> None:
    backoff = backoff_of(RestartStrategies.fixed_delay_restart(2, "1 second"))
    assert [backoff.failed(now) for now in (0, 10**9, 10**10)] == [1_000, 1_000, None]


def test_failure_rate() -> None:
    backoff = backoff_of(RestartStrategies.failure_rate_restart(2, "1 minute", 5))
    assert [backoff.failed(now) for now in (0, 10, 60_001, 60_011, 60_011)] == [5, 5, 5, 5, None]


def test_exponential_delay() -> None:
    strategy = RestartStrategies.exponential_delay_restart(100, 1_000, 3, "1 minute", 0)
    backoff = backoff_of(strategy)
    assert [backoff.failed(now) for now in (0, 200, 600, 1_600)] == [100, 300, 900, 1_000]
    # It ran from 2600 on: a minute well, and it begins anew; a ms less, and it does not.
    assert backoff.failed(62_599) == 1_000
    assert backoff.failed(62_599 + 1_000 + 60_000) == 100


def test_jitter() -> None:
    strategy = RestartStrategies.exponential_delay_restart(100, 110, 1, "1 hour", 0.5)
    asked = []

    def chance(low: float, high: float) -> float:
        asked.append((low, high))
        return (low, high)[len(asked) - 1]

    backoff = backoff_of(strategy, chance)
    assert [backoff.failed(0), backoff.failed(0)] == [50, 110]  # never more than the greatest
    assert asked == [(-50, 50), (-50, 50)]


def test_wrong_settings() -> None:
    for wrong in (
        lambda: RestartStrategies.fixed_delay_restart(-1, 0),
        lambda: RestartStrategies.failure_rate_restart(0, 1, 0),
        lambda: RestartStrategies.exponential_delay_restart(10, 5),
        lambda: RestartStrategies.exponential_delay_restart(backoff_multiplier=0.9),
        lambda: RestartStrategies.exponential_delay_restart(jitter_factor=2),
    ):
        with pytest.raises(IllegalArgumentError):
            wrong()
    with pytest.raises(ArgumentTypeError, match="RestartStrategies makes"):
        backoff_of("often")  # type: ignore[arg-type]
