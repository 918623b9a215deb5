"""When the barriers of several channels make a checkpoint.

Invariants:
  B1  Ids only rise: ``current_id`` is the greatest that was seen in a barrier or a marker.  What
      belongs to a smaller one, or to ``current_id`` once that is not pending, is dropped (Flink:
      SingleCheckpointBarrierHandler).
  B2  While a checkpoint is pending, ``arrived`` are the channels whose part of it is over: their
      barrier came, or their end.  It is complete when they are as many as were open when its first
      barrier came.
  B3  ``blocked`` is empty unless an aligned checkpoint is pending, and part of ``arrived`` then.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, replace

from flinkish.common.elements import CheckpointBarrier, StreamElement
from flinkish.common.errors import CheckpointError, IllegalStateError
from flinkish.common.futures import complete, fail, shared_future
from flinkish.task.checkpoint_types import CheckpointFailureReason

__all__ = ["AlignmentAborted", "BarrierAlignment"]

_Reason = CheckpointFailureReason


@dataclass(frozen=True, slots=True)
class AlignmentAborted(StreamElement):
    """An input waits no longer for a checkpoint that has not been begun."""

    checkpoint_id: int
    reason: CheckpointFailureReason


class BarrierAlignment:
    """Collects barriers; sans-I/O.

    Methods return what the task is to be given: the barrier once, when the checkpoint is to be
    taken, which is after the last barrier, or after the first if it is unaligned; or
    AlignmentAborted, if it never will be.

    With ``checkpoints_after_finish`` the end of a channel counts as its barrier, else it ends the
    pending checkpoint (Flink: SingleCheckpointBarrierHandler).

    Threading: one thread.
    """

    def __init__(self, channels: int, *, checkpoints_after_finish: bool = True) -> None:
        self._after_finish = checkpoints_after_finish
        self._open = set(range(channels))
        self.current_id = -1
        self.pending: CheckpointBarrier | None = None
        self.arrived: set[int] = set()
        self.blocked: set[int] = set()
        self._target = 0
        self._all: Future[None] = shared_future()

    @property
    def is_overtaking(self) -> bool:
        """Whether an unaligned checkpoint is pending, so that what still comes belongs to it."""
        return self.pending is not None and self.pending.unaligned

    def on_barrier(self, channel: int, barrier: CheckpointBarrier) -> list[StreamElement]:
        """A barrier has come."""
        told: list[StreamElement] = []
        if barrier.id > self.current_id:
            told = self._abort(_Reason.CHECKPOINT_DECLINED_SUBSUMED)
            self.current_id = barrier.id
            self.pending = replace(barrier, unaligned=False)
            self._target = len(self._open)
            self._all = shared_future()
        elif barrier.id < self.current_id or self.pending is None:
            return told
        if barrier.unaligned:
            told += self.overtake(barrier.id)
        return told + self._arrive(channel)

    def overtake(self, checkpoint_id: int) -> list[StreamElement]:
        """Do not wait any longer for the other barriers of this checkpoint."""
        if self.pending is None or self.pending.unaligned or checkpoint_id != self.current_id:
            return []
        self.blocked = set()
        self.pending = replace(self.pending, unaligned=True)
        return [self.pending]

    def on_cancel(self, checkpoint_id: int) -> list[StreamElement]:
        """A channel has no barrier of this checkpoint."""
        reason = _Reason.CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER
        if checkpoint_id == self.current_id:
            return self._abort(reason)
        if checkpoint_id < self.current_id:
            return []
        told = self._abort(_Reason.CHECKPOINT_DECLINED_SUBSUMED)
        self.current_id = checkpoint_id
        self._all = shared_future()
        fail(self._all, _error(checkpoint_id, reason))
        return [*told, AlignmentAborted(checkpoint_id, reason)]

    def on_end(self, channel: int) -> list[StreamElement]:
        """A channel has ended."""
        self._open.discard(channel)
        if self.pending is None or channel in self.arrived:
            return []
        if not self._after_finish:
            return self._abort(_Reason.CHECKPOINT_DECLINED_INPUT_END_OF_STREAM)
        return self._arrive(channel)

    def all_barriers_received(self, checkpoint_id: int) -> Future[None]:
        """Done when the last barrier is there, and for older checkpoints.

        CheckpointError when it was aborted; IllegalStateError for one that has not begun.
        """
        if checkpoint_id > self.current_id:
            raise IllegalStateError(
                f"no barrier of checkpoint {checkpoint_id} has come; the last is {self.current_id}"
            )
        if checkpoint_id == self.current_id:
            return self._all
        older: Future[None] = Future()
        older.set_result(None)
        return older

    def _arrive(self, channel: int) -> list[StreamElement]:
        assert self.pending is not None
        self.arrived.add(channel)
        if len(self.arrived) < self._target:
            if not self.pending.unaligned:
                self.blocked.add(channel)
            return []
        barrier = self.pending
        self._over()
        complete(self._all, None)
        return [] if barrier.unaligned else [barrier]

    def _abort(self, reason: CheckpointFailureReason) -> list[StreamElement]:
        barrier = self.pending
        if barrier is None:
            return []
        self._over()
        fail(self._all, _error(barrier.id, reason))
        return [] if barrier.unaligned else [AlignmentAborted(barrier.id, reason)]

    def _over(self) -> None:
        self.pending = None
        self.arrived, self.blocked = set(), set()


def _error(checkpoint_id: int, reason: CheckpointFailureReason) -> CheckpointError:
    return CheckpointError(
        f"the barriers of checkpoint {checkpoint_id} were not awaited: {reason.text}",
        reason=reason.name,
        checkpoint_id=checkpoint_id,
    )
