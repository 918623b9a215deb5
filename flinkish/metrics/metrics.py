"""The kinds of metrics, with PyFlink's methods.

Threading: a metric belongs to the thread of its operator; another thread may read it and sees
some recent value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from time import monotonic
from typing import Any

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError

__all__ = ["Counter", "Distribution", "Gauge", "Meter", "Metric"]


class Metric(ABC):
    """Something that a program measures: a counter, a gauge, a distribution or a meter."""

    __slots__ = ()

    @abstractmethod
    def snapshot(self) -> Any:
        """The value of the metric: a number, or a dict of numbers by name."""


class Counter(Metric):
    """Counts up and down."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = 0

    def inc(self, n: int = 1) -> None:
        """Count up by ``n``."""
        self._count += n

    def dec(self, n: int = 1) -> None:
        """Count down by ``n``."""
        self._count -= n

    def get_count(self) -> int:
        """The count as it is now."""
        return self._count

    def snapshot(self) -> int:
        """The count as it is now, for a report."""
        return self._count


class Gauge(Metric):
    """A value that is asked for when it is wanted."""

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[], Any]) -> None:
        if not callable(read):
            raise ArgumentTypeError(f"a gauge must be a function without arguments, not {read!r}")
        self._read = read

    def get_value(self) -> Any:
        """The value that the function returns; its errors are not caught."""
        return self._read()

    def snapshot(self) -> Any:
        """The value that its function returns now, for a report."""
        return self._read()


class Meter(Metric):
    """Counts events, and how many came per second lately.

    The rate is taken over the last ``time_span_in_seconds`` full seconds, or over the time
    since the first second if that is less.  ``clock`` gives seconds, from any origin.
    """

    __slots__ = ("_clock", "_count", "_counts", "_first", "_second", "_span")

    def __init__(
        self, time_span_in_seconds: int = 60, *, clock: Callable[[], float] = monotonic
    ) -> None:
        if time_span_in_seconds < 1:
            raise IllegalArgumentError(
                f"time_span_in_seconds of a meter must be at least 1, not {time_span_in_seconds}"
            )
        self._clock = clock
        self._count = 0
        self._span = time_span_in_seconds
        self._first = self._second = int(clock())
        # The count at the start of each of the last seconds; index = second modulo span + 1.
        self._counts = [0] * (time_span_in_seconds + 1)

    def mark_event(self, value: int = 1) -> None:
        """``value`` events happened now."""
        self._turn()
        self._count += value

    def get_count(self) -> int:
        """Events so far."""
        return self._count

    def get_rate(self) -> float:
        """Events per second."""
        self._turn()
        span = min(self._span, self._second - self._first)
        if span == 0:
            return 0.0
        size = self._span + 1
        newest = self._counts[self._second % size]
        return (newest - self._counts[(self._second - span) % size]) / span

    def _turn(self) -> None:
        now = int(self._clock())
        # Older starts than the span holds need not be written.
        for second in range(max(self._second, now - self._span - 1) + 1, now + 1):
            self._counts[second % (self._span + 1)] = self._count
        self._second = max(self._second, now)

    def snapshot(self) -> dict[str, float]:
        """``count`` and ``rate``."""
        return {"count": self._count, "rate": self.get_rate()}


class Distribution(Metric):
    """How many values there were, their sum, the least and the greatest."""

    __slots__ = ("_count", "_max", "_min", "_sum")

    def __init__(self) -> None:
        self._count = 0
        self._sum: float = 0
        self._min: float | None = None
        self._max: float | None = None

    def update(self, value: float) -> None:
        """One more value."""
        self._count += 1
        self._sum += value
        self._min = value if self._min is None else min(self._min, value)
        self._max = value if self._max is None else max(self._max, value)

    def snapshot(self) -> dict[str, float | None]:
        """``count``, ``sum``, ``min``, ``max``; the last two are None without values."""
        return {"count": self._count, "sum": self._sum, "min": self._min, "max": self._max}
