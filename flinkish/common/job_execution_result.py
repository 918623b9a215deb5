"""PyFlink's module of the class `JobExecutionResult`."""

from flinkish.common.jobs import JobExecutionResult

__all__ = ["JobExecutionResult"]
