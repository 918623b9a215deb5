"""PyFlink's module of the class `RuntimeExecutionMode`."""

from flinkish.environment.settings import RuntimeExecutionMode

__all__ = ["RuntimeExecutionMode"]
