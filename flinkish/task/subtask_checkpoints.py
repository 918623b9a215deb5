"""One task's part in checkpoints: barriers, snapshots, notifications."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol

from flinkish.common.elements import CancelCheckpointMarker, StreamElement
from flinkish.common.errors import CheckpointError
from flinkish.task.checkpoint_types import (
    CheckpointFailureReason,
    CheckpointMetaData,
    CheckpointOptions,
)
from flinkish.task.in_flight import TaskSnapshot
from flinkish.task.responders import CheckpointResponder

__all__ = ["CheckpointedOperator", "SubtaskCheckpoints", "declined"]


class CheckpointedOperator(Protocol):
    """The methods that a task calls on its operator for checkpoints."""

    def snapshot_state(self, checkpoint_id: int) -> bytes:
        """The state."""
        ...

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """It is kept."""
        ...

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """It is not."""
        ...


def declined(
    name: str, checkpoint_id: int, reason: CheckpointFailureReason, detail: str = ""
) -> CheckpointError:
    """The error that a declining task gives."""
    return CheckpointError(
        f"task {name!r} declined checkpoint {checkpoint_id}: {reason.text}"
        + (f" ({detail})" if detail else ""),
        reason=reason.name,
        checkpoint_id=checkpoint_id,
    )


class SubtaskCheckpoints:
    """Takes snapshots, and keeps checkpoint ids in order.

    Ordering: a checkpoint's barrier goes out before its snapshot is taken and nothing is emitted
    between the two, so the elements before the barrier are those the snapshot knows of.  Ids only
    rise: an id that is not newer than the last is dropped (Flink: SingleCheckpointBarrierHandler).
    A checkpoint that was aborted before it came gets a CancelCheckpointMarker instead of its
    barrier.

    Threading: the mailbox thread.
    """

    def __init__(
        self,
        name: str,
        operator: CheckpointedOperator | None,
        emit: Callable[[StreamElement], None] | None,
        responder: CheckpointResponder,
    ) -> None:
        self._name = name
        self._operator = operator
        self._emit = emit
        self.responder = responder
        self.last_id = -1
        self.last_completed_id = -1
        self.in_flight: Callable[[int], Future[list[list[bytes]]] | None] = lambda _: None
        self._aborted: set[int] = set()
        self.taken = 0
        self.declined = 0
        self.finished = False

    def perform(
        self, meta: CheckpointMetaData, options: CheckpointOptions, running: bool
    ) -> Future[None] | bool:
        """Take a checkpoint between two elements.

        False if it was declined, which the responder has been told; else True, or the future of
        the state's being kept.  CheckpointError, with its cause, if the snapshot failed (Flink:
        StreamTask). If ``in_flight(id)`` is a future, the responder is told when that is done.
        """
        if not running:
            self._cancel_downstream(meta.id)
            self.decline(meta, CheckpointFailureReason.CHECKPOINT_DECLINED_TASK_NOT_READY)
            return False
        if meta.id <= self.last_id:
            self.decline(
                meta,
                CheckpointFailureReason.CHECKPOINT_DECLINED_SUBSUMED,
                f"the last one was {self.last_id}; ids must rise",
            )
            return False
        self.last_id = meta.id
        aborted = meta.id in self._aborted
        self._aborted = {one for one in self._aborted if one > meta.id}
        if aborted:
            self._cancel_downstream(meta.id)
            return False
        try:
            if self._emit is not None:
                self._emit(options.barrier(meta))
            state = b"" if self._operator is None else self._operator.snapshot_state(meta.id)
            in_flight = self.in_flight(meta.id)
            if in_flight is None:
                whole = TaskSnapshot(state, finished=self.finished).to_bytes()
                kept = self.responder.acknowledge_checkpoint(meta, whole)
            else:
                in_flight.add_done_callback(lambda found: self._add_in_flight(meta, state, found))
                kept = None
        except Exception as error:
            self.decline(meta, CheckpointFailureReason.CHECKPOINT_DECLINED, repr(error))
            raise CheckpointError(
                f"Could not perform checkpoint {meta.id} of task {self._name!r}: {error!r}",
                reason=CheckpointFailureReason.CHECKPOINT_DECLINED.name,
                checkpoint_id=meta.id,
            ) from error
        self.taken += 1
        return True if kept is None else kept

    def _add_in_flight(
        self, meta: CheckpointMetaData, state: bytes, found: Future[list[list[bytes]]]
    ) -> None:
        """All that an unaligned checkpoint overtook is known."""
        error = found.exception()
        if error is None:
            whole = TaskSnapshot(state, found.result(), self.finished).to_bytes()
            self.responder.acknowledge_checkpoint(meta, whole)
        else:
            self.declined += 1
            self.responder.decline_checkpoint(meta, error)

    def decline(
        self, meta: CheckpointMetaData, reason: CheckpointFailureReason, detail: str = ""
    ) -> None:
        """Tell the responder that there will be no snapshot; from any thread."""
        self.declined += 1
        self.responder.decline_checkpoint(meta, declined(self._name, meta.id, reason, detail))

    def on_cancel_marker(self, marker: CancelCheckpointMarker) -> None:
        """Upstream has no such checkpoint: decline it, and do not wait for it."""
        self.give_up(
            marker.checkpoint_id,
            CheckpointFailureReason.CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER,
        )

    def give_up(self, checkpoint_id: int, reason: CheckpointFailureReason) -> None:
        """The barriers of a checkpoint will not all come; nothing if it was taken before."""
        if checkpoint_id <= self.last_id:
            return
        self.last_id = checkpoint_id
        self._cancel_downstream(checkpoint_id)
        self.decline(CheckpointMetaData(checkpoint_id, 0), reason)

    def _cancel_downstream(self, checkpoint_id: int) -> None:
        if self._emit is not None:
            self._emit(CancelCheckpointMarker(checkpoint_id))

    # --- notifications

    def notify_complete(self, checkpoint_id: int) -> None:
        """Tell the operator, unless it knows of this one or a newer one.

        As in Flink's SubtaskCheckpointCoordinatorImpl.
        """
        if checkpoint_id <= self.last_completed_id:
            return
        self.last_completed_id = checkpoint_id
        if self._operator is not None:
            self._operator.notify_checkpoint_complete(checkpoint_id)

    def notify_aborted(self, checkpoint_id: int, latest_completed_id: int) -> None:
        """Tell the operator, first of the latest complete one if there is any."""
        if latest_completed_id > 0:
            self.notify_complete(latest_completed_id)
        if checkpoint_id > self.last_id:
            self._aborted.add(checkpoint_id)
        if self._operator is not None:
            self._operator.notify_checkpoint_aborted(checkpoint_id)
