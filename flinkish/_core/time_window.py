"""The name under which earlier checkpoints have pickled windows."""

from flinkish._core.windows.time_window import TimeWindow

__all__ = ["TimeWindow"]
