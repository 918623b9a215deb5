"""PyFlink's module of time domains."""

from flinkish.time.domain import TimeDomain

__all__ = ["TimeDomain"]
