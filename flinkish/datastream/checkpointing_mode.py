"""PyFlink's module of the class `CheckpointingMode`."""

from flinkish.environment.settings import CheckpointingMode

__all__ = ["CheckpointingMode"]
