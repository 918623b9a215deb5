"""PyFlink's module of the names `NumberSequenceSource`."""

from flinkish.environment.connectors.numbers import NumberSequenceSource

__all__ = ["NumberSequenceSource"]
