"""PyFlink's module of the class `JobID`."""

from flinkish.common.jobs import JobID

__all__ = ["JobID"]
