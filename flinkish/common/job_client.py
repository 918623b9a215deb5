"""PyFlink's module of the class `JobClient`."""

from flinkish.common.jobs import JobClient

__all__ = ["JobClient"]
