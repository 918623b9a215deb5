"""PyFlink's module of the class `JobStatus`."""

from flinkish.common.jobs import JobStatus

__all__ = ["JobStatus"]
