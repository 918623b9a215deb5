"""PyFlink's module of the class `CheckpointConfig`."""

from flinkish.environment.settings import CheckpointConfig

__all__ = ["CheckpointConfig"]
