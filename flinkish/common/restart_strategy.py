"""When a job that has failed is started again; PyFlink's names.

These say what is wanted.  What counts failures and times is in ``task.restart_backoff``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import IllegalArgumentError

__all__ = [
    "ExponentialDelayRestartStrategyConfiguration",
    "FailureRateRestartStrategyConfiguration",
    "FallbackRestartStrategyConfiguration",
    "FixedDelayRestartStrategyConfiguration",
    "NoRestartStrategyConfiguration",
    "RestartStrategies",
    "RestartStrategyConfiguration",
]


class RestartStrategyConfiguration:
    """One of those that RestartStrategies makes."""

    def get_description(self) -> str:
        """The strategy and its settings, as a text."""
        return repr(self)


@dataclass(frozen=True)
class FallbackRestartStrategyConfiguration(RestartStrategyConfiguration):
    """The cluster's own strategy: Spark tries failed tasks again."""


@dataclass(frozen=True)
class NoRestartStrategyConfiguration(RestartStrategyConfiguration):
    """The first failure ends the job."""


@dataclass(frozen=True)
class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
    """So many restarts in the life of the job, each after the same delay (ms)."""

    restart_attempts: int
    delay_ms: int

    def get_restart_attempts(self) -> int:
        """How many restarts there are."""
        return self.restart_attempts

    def get_delay_between_attempts_interval(self) -> timedelta:
        """The time before each restart."""
        return timedelta(milliseconds=self.delay_ms)


@dataclass(frozen=True)
class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
    """Restarts after a delay (ms), until more failures than the rate come within the interval."""

    max_failures: int
    interval_ms: int
    delay_ms: int

    def get_max_failure_rate(self) -> int:
        """How many failures are allowed within the interval."""
        return self.max_failures

    def get_failure_interval(self) -> timedelta:
        """The interval over which failures are counted."""
        return timedelta(milliseconds=self.interval_ms)

    def get_delay_between_attempts_interval(self) -> timedelta:
        """The time before each restart."""
        return timedelta(milliseconds=self.delay_ms)


@dataclass(frozen=True)
class ExponentialDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
    """Restarts for ever, after delays (ms) that grow while the job does not run well."""

    initial_backoff_ms: int
    max_backoff_ms: int
    backoff_multiplier: float
    reset_backoff_threshold_ms: int
    jitter_factor: float


class RestartStrategies:
    """Makes restart strategies.  Durations are ms, a timedelta, a Duration or a text."""

    @staticmethod
    def fall_back_restart() -> FallbackRestartStrategyConfiguration:
        """The cluster's own strategy."""
        return FallbackRestartStrategyConfiguration()

    @staticmethod
    def no_restart() -> NoRestartStrategyConfiguration:
        """The first failure ends the job."""
        return NoRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: DurationLike
    ) -> FixedDelayRestartStrategyConfiguration:
        """Restart at most ``restart_attempts`` times, each time after the delay."""
        return FixedDelayRestartStrategyConfiguration(
            _number("restart_attempts", restart_attempts, 0),
            to_millis(delay_between_attempts, "delay_between_attempts", minimum=0),
        )

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: DurationLike, delay_interval: DurationLike
    ) -> FailureRateRestartStrategyConfiguration:
        """Restart after the delay; one failure more than ``failure_rate`` in the interval ends it.

        Failures of longer ago than ``failure_interval`` are forgotten.
        """
        return FailureRateRestartStrategyConfiguration(
            _number("failure_rate", failure_rate, 1),
            to_millis(failure_interval, "failure_interval", minimum=1),
            to_millis(delay_interval, "delay_interval", minimum=0),
        )

    @staticmethod
    def exponential_delay_restart(
        initial_backoff: DurationLike = "1 second",
        max_backoff: DurationLike = "1 minute",
        backoff_multiplier: float = 1.5,
        reset_backoff_threshold: DurationLike = "1 hour",
        jitter_factor: float = 0.1,
    ) -> ExponentialDelayRestartStrategyConfiguration:
        """Restart after a delay that is multiplied with each failure, up to ``max_backoff``.

        A job that has run for ``reset_backoff_threshold`` begins with ``initial_backoff`` anew.
        Each delay is longer or shorter by chance, by at most ``jitter_factor`` of it.
        """
        if not backoff_multiplier >= 1:
            raise IllegalArgumentError(
                f"backoff_multiplier must be at least 1, not {backoff_multiplier!r}"
            )
        if not 0 <= jitter_factor <= 1:
            raise IllegalArgumentError(f"jitter_factor must be from 0 to 1, not {jitter_factor!r}")
        initial = to_millis(initial_backoff, "initial_backoff", minimum=1)
        return ExponentialDelayRestartStrategyConfiguration(
            initial,
            to_millis(max_backoff, "max_backoff", minimum=initial),
            backoff_multiplier,
            to_millis(reset_backoff_threshold, "reset_backoff_threshold", minimum=1),
            jitter_factor,
        )


# PyFlink nests the classes of settings in the class that makes them.
for _settings in (
    NoRestartStrategyConfiguration,
    FixedDelayRestartStrategyConfiguration,
    FailureRateRestartStrategyConfiguration,
    FallbackRestartStrategyConfiguration,
):
    setattr(RestartStrategies, _settings.__name__, _settings)


def _number(name: str, value: int, least: int) -> int:
    if not isinstance(value, int) or value < least:
        raise IllegalArgumentError(f"{name} must be an int of at least {least}, not {value!r}")
    return value
