"""PyFlink's module of the class `ExternalizedCheckpointRetention`."""

from flinkish.environment.settings import ExternalizedCheckpointRetention

__all__ = ["ExternalizedCheckpointRetention"]
