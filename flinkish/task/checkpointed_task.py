"""A task's side of checkpoints: its state, its part in each, and the notices that it gets."""

from __future__ import annotations

from concurrent.futures import Future

from flinkish.common.elements import StreamElement
from flinkish.common.errors import IllegalStateError, IncompatibleStateError
from flinkish.mailbox import MailboxProcessor
from flinkish.operators import StreamOperator
from flinkish.task.checkpoint_mails import CheckpointMails
from flinkish.task.checkpoint_storage import CheckpointStorage
from flinkish.task.checkpoint_types import (
    CheckpointFailureReason,
    CheckpointMetaData,
    CheckpointOptions,
)
from flinkish.task.element_io import StreamTaskOutput
from flinkish.task.in_flight import TaskSnapshot
from flinkish.task.responders import (
    CheckpointResponder,
    Declining,
    StorageResponder,
    load_state_of,
)
from flinkish.task.states import TaskState
from flinkish.task.subtask_checkpoints import SubtaskCheckpoints

__all__ = ["CheckpointedTask"]


class CheckpointedTask:
    """The part of a StreamTask that has to do with checkpoints; see there.

    Threading: ``perform_checkpoint`` and what begins with an underscore belong to the mailbox
    thread; ``_state`` and ``_canceled`` are read by all.
    """

    def __init__(
        self,
        name: str,
        operator: StreamOperator | None,
        output: StreamTaskOutput | None,
        storage: CheckpointStorage | None,
        processor: MailboxProcessor,
    ) -> None:
        self.name = name
        self._storage = storage
        self._processor = processor
        self._mailbox = processor.mailbox
        self._state = TaskState.CREATED
        self._canceled = False
        self._data_ended = False
        self._may_end: Future[None] | None = None
        self._was_finished = False
        self._initial: tuple[int, bytes] | None = None
        self._failed_saves = 0
        responder: CheckpointResponder = Declining()
        if storage is not None:
            responder = StorageResponder(
                name, storage, self.notify_checkpoint_complete_async, self._save_failed
            )
        emit = None if output is None else output.emit
        self._checkpoints = SubtaskCheckpoints(name, operator, emit, responder)
        self._mails = CheckpointMails(processor, self._checkpoints, self.perform_checkpoint)

    @property
    def state(self) -> TaskState:
        """Where it is in its life."""
        return self._state

    @property
    def is_running(self) -> bool:
        """Whether it processes input and takes checkpoints."""
        return self._state is TaskState.RUNNING

    # --- before it runs

    def set_initial_state(self, checkpoint_id: int, state: bytes) -> None:
        """Start from this state of a checkpoint; before ``invoke``."""
        self._require_created("set_initial_state")
        self._initial = (checkpoint_id, state)

    def set_checkpoint_responder(self, responder: CheckpointResponder) -> None:
        """Tell ``responder`` of checkpoints; before ``invoke``, and without a storage."""
        self._require_created("set_checkpoint_responder")
        if self._storage is not None:
            raise IllegalStateError(
                f"task {self.name!r} keeps its checkpoints itself: make it without "
                "checkpoint_storage to have a coordinator keep them"
            )
        self._checkpoints.responder = responder

    def _require_created(self, what: str) -> None:
        if self._state is not TaskState.CREATED:
            raise IllegalStateError(
                f"{what} needs a task that was not invoked, and {self.name!r} is "
                f"{self._state.value}: make a new task"
            )

    def _load_state(self) -> bytes | None:
        """The operator's state to start from, None without any."""
        if self._initial is None and self._storage is not None:
            self._initial = load_state_of(self.name, self._storage)
        if self._initial is None:
            return None
        self._checkpoints.last_id = self._checkpoints.last_completed_id = self._initial[0]
        snapshot = TaskSnapshot.from_bytes(self._initial[1])
        if any(snapshot.in_flight):
            self._restore_in_flight(snapshot.elements())
        self._was_finished = snapshot.finished
        return snapshot.operator

    def _restore_in_flight(self, elements: list[list[StreamElement]]) -> None:
        """Elements that a checkpoint overtook, by channel, come before all others."""
        raise IncompatibleStateError(
            f"the state of task {self.name!r} has elements that an unaligned checkpoint overtook: "
            "restore it as a task with a MultiChannelInput of as many channels",
            setting="input",
            was="MultiChannelInput",
            now=type(self).__name__,
        )

    # --- while it runs, from other threads

    def trigger_checkpoint_async(
        self, meta: CheckpointMetaData, options: CheckpointOptions | None = None
    ) -> Future[bool]:
        """Take a checkpoint, as soon as the mailbox thread gets to it (Flink: StreamTask).

        True when it is taken and, for a task with a storage, kept there; False when it was
        declined, for instance by a task that is not running.  If the snapshot fails, the task
        does, too; if the storage does, only the checkpoint.
        """
        return self._mails.trigger(meta, options or CheckpointOptions(), self._state)

    def notify_checkpoint_complete_async(self, checkpoint_id: int) -> Future[None]:
        """Tell the operator that a checkpoint is kept; ids that are not newer are ignored.

        As in Flink's SubtaskCheckpointCoordinatorImpl.  The mail has the highest priority, so an
        operator that yields sees it.  What the operator raises is in the future and fails the task.
        On a task that does not run nothing happens.
        """
        return self._mails.notify(
            lambda: self._checkpoints.notify_complete(checkpoint_id),
            f"checkpoint {checkpoint_id} complete",
            self._state,
        )

    def notify_checkpoint_aborted_async(
        self, checkpoint_id: int, latest_completed_checkpoint_id: int = 0
    ) -> Future[None]:
        """Tell the operator that a checkpoint will never be, after the latest that is."""
        return self._mails.notify(
            lambda: self._checkpoints.notify_aborted(checkpoint_id, latest_completed_checkpoint_id),
            f"checkpoint {checkpoint_id} aborted",
            self._state,
        )

    def perform_checkpoint(
        self, meta: CheckpointMetaData, options: CheckpointOptions | None = None
    ) -> Future[None] | bool:
        """Take a checkpoint now; on the mailbox thread.  See SubtaskCheckpoints.perform."""
        if not self._mailbox.is_mailbox_thread():
            raise IllegalStateError(
                f"perform_checkpoint belongs to the thread of task {self.name!r}: use "
                "trigger_checkpoint_async"
            )
        if self._data_ended and self._may_end is None:
            self._checkpoints.decline(
                meta, CheckpointFailureReason.CHECKPOINT_DECLINED_TASK_CLOSING
            )
            return False
        running = self.is_running and not self._canceled
        return self._checkpoints.perform(meta, options or CheckpointOptions(), running)

    def _save_failed(self, checkpoint_id: int, error: BaseException) -> None:
        self._failed_saves += 1
