"""Tasks: operators that run on a mailbox, and the checkpoints they make.

Owns: where checkpoints are kept.
Uses: ``_core``, ``common``, ``metrics``, ``mailbox``, ``time``, ``operators``.
Must not: know Spark.
"""

from flinkish.task.checkpoint_storage import (
    DamagedCheckpointWarning,
    FileSystemCheckpointStorage,
    StoredCheckpoint,
)

__all__ = ["DamagedCheckpointWarning", "FileSystemCheckpointStorage", "StoredCheckpoint"]
