"""Sources that run a loop of their own, and functions that take part in checkpoints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any

from flinkish.common.elements import Watermark
from flinkish.functions.base import Function

__all__ = ["CheckpointListener", "CheckpointedFunction", "SourceFunction"]


class CheckpointListener(ABC):  # noqa: B024 - either may be left out
    """A function that is told what became of checkpoints, on the thread of its task."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:  # noqa: B027 - may be left
        """Checkpoint ``checkpoint_id`` is kept; older ones may not have been told of."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:  # noqa: B027
        """Checkpoint ``checkpoint_id`` will never be complete; the next one covers its time."""


class CheckpointedFunction(ABC):
    """A function with state of its own, as bytes."""

    @abstractmethod
    def snapshot_state(self, checkpoint_id: int) -> bytes:
        """Everything that a restart needs.  A source's is called under the checkpoint lock."""

    @abstractmethod
    def restore_state(self, state: bytes) -> None:
        """Start from what ``snapshot_state`` gave; before ``open``, only after a restart."""


class SourceFunction(Function):
    """Makes a stream in a loop of its own, on a thread of its own (Flink: SourceStreamTask).

    A source that can be restarted is also a CheckpointedFunction, and changes its state and
    emits in one step, under the checkpoint lock::

        def run(self, ctx):
            while self.running and self.offset < len(self.rows):
                with ctx.get_checkpoint_lock():
                    ctx.collect(self.rows[self.offset])
                    self.offset += 1

        def cancel(self):
            self.running = False
    """

    class SourceContext(ABC):
        """Where a source's elements go.  After the task is cancelled all raise CancelTaskError."""

        @abstractmethod
        def collect(self, element: Any) -> None:
            """Emit a value without a timestamp."""

        @abstractmethod
        def collect_with_timestamp(self, element: Any, timestamp: int) -> None:
            """Emit a value with its event time (ms)."""

        @abstractmethod
        def emit_watermark(self, mark: Watermark | int) -> None:
            """Say that no element at or before ``mark`` (ms) follows."""

        @abstractmethod
        def mark_as_temporarily_idle(self) -> None:
            """Say that nobody need wait for this source's watermark until it emits again."""

        @abstractmethod
        def get_checkpoint_lock(self) -> AbstractContextManager[Any]:
            """The lock under which no checkpoint is taken; re-entrant, for ``with``.

            An error that leaves the ``with`` has left its work half done, so it fails the task.
            """

    @abstractmethod
    def run(self, ctx: SourceContext) -> None:
        """Emit until there is nothing left, or ``cancel`` was called; returning ends the stream."""

    @abstractmethod
    def cancel(self) -> None:
        """Make ``run`` return soon; called by another thread."""
