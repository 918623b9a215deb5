"""The name under which earlier checkpoints have pickled rows."""

from flinkish._core.values.row import Row, restore_row

__all__ = ["Row", "restore_row"]
