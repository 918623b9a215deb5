"""PyFlink's module name for durations and instants."""

from flinkish.common.durations import Duration, Instant, Time

__all__ = ["Duration", "Instant", "Time"]
