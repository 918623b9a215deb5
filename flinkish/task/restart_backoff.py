"""How long a failed job waits until it is started again.  Time is an argument, in ms."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Protocol

from flinkish.common.errors import ArgumentTypeError
from flinkish.common.restart_strategy import (
    ExponentialDelayRestartStrategyConfiguration,
    FailureRateRestartStrategyConfiguration,
    FallbackRestartStrategyConfiguration,
    FixedDelayRestartStrategyConfiguration,
    NoRestartStrategyConfiguration,
    RestartStrategyConfiguration,
)

__all__ = ["RestartBackoff", "backoff_of"]


class RestartBackoff(Protocol):
    """Counts the failures of one job (Flink: RestartBackoffTimeStrategy)."""

    def failed(self, now: int) -> int | None:
        """The job has failed: the ms to wait before it is started again, None for never."""
        ...


class _Never:
    def failed(self, now: int) -> int | None:
        return None


class _FixedDelay:
    def __init__(self, settings: FixedDelayRestartStrategyConfiguration) -> None:
        self._settings = settings
        self._left = settings.restart_attempts

    def failed(self, now: int) -> int | None:
        self._left -= 1
        return self._settings.delay_ms if self._left >= 0 else None


class _FailureRate:
    def __init__(self, settings: FailureRateRestartStrategyConfiguration) -> None:
        self._settings = settings
        self._failures: deque[int] = deque()

    def failed(self, now: int) -> int | None:
        failures, settings = self._failures, self._settings
        failures.append(now)
        while now - failures[0] > settings.interval_ms:
            failures.popleft()
        return settings.delay_ms if len(failures) <= settings.max_failures else None


class _ExponentialDelay:
    def __init__(
        self,
        settings: ExponentialDelayRestartStrategyConfiguration,
        chance: Callable[[float, float], float],
    ) -> None:
        self._settings = settings
        self._chance = chance
        self._backoff = 0.0
        self._started = 0  # when the last delay was over, and the job began to run again

    def failed(self, now: int) -> int | None:
        settings = self._settings
        first = self._backoff == 0
        if first or now - self._started >= settings.reset_backoff_threshold_ms:
            self._backoff = settings.initial_backoff_ms
        else:
            self._backoff = min(
                self._backoff * settings.backoff_multiplier, settings.max_backoff_ms
            )
        jitter = self._backoff * settings.jitter_factor
        delay = round(self._backoff + self._chance(-jitter, jitter))
        delay = min(max(delay, 0), settings.max_backoff_ms)
        self._started = now + delay
        return delay


def backoff_of(
    settings: RestartStrategyConfiguration,
    chance: Callable[[float, float], float] = random.uniform,
) -> RestartBackoff:
    """The back-off that these settings describe; ``chance(low, high)`` gives the jitter."""
    if isinstance(settings, (NoRestartStrategyConfiguration, FallbackRestartStrategyConfiguration)):
        return _Never()
    if isinstance(settings, FixedDelayRestartStrategyConfiguration):
        return _FixedDelay(settings)
    if isinstance(settings, FailureRateRestartStrategyConfiguration):
        return _FailureRate(settings)
    if isinstance(settings, ExponentialDelayRestartStrategyConfiguration):
        return _ExponentialDelay(settings, chance)
    raise ArgumentTypeError(
        f"restart_strategy must be one that RestartStrategies makes, not {settings!r}"
    )
