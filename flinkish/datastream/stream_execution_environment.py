"""PyFlink's module of the class `StreamExecutionEnvironment`."""

from flinkish.environment.environment import StreamExecutionEnvironment

__all__ = ["StreamExecutionEnvironment"]
