"""Checkpoints asked for, and notifications given, from other threads: as mails to a task.

Every future is answered: by its mail, or, once the mailbox is closed and no mail can run any more,
by ``answer_the_rest``.  A mail that comes later than that is rejected, and answered by its sender.
A future is in ``_unanswered`` before its mail is in the mailbox, so none is between the two.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from flinkish.common.errors import ArgumentTypeError, RejectedExecutionError
from flinkish.common.futures import complete, fail
from flinkish.mailbox import MAX_PRIORITY, MailboxProcessor, MailOptions
from flinkish.task.checkpoint_types import (
    CheckpointFailureReason,
    CheckpointMetaData,
    CheckpointOptions,
)
from flinkish.task.states import TaskState
from flinkish.task.subtask_checkpoints import SubtaskCheckpoints

__all__ = ["CheckpointMails"]


class CheckpointMails:
    """Sends a task the mails that have to do with checkpoints.

    Threading: any; ``answer_the_rest`` is for the mailbox thread, once the mailbox is closed.
    """

    def __init__(
        self,
        processor: MailboxProcessor,
        checkpoints: SubtaskCheckpoints,
        perform: Callable[[CheckpointMetaData, CheckpointOptions], Future[None] | bool],
    ) -> None:
        self._main = processor.main_mailbox_executor
        self._foremost = processor.get_mailbox_executor(MAX_PRIORITY)
        self._checkpoints = checkpoints
        self._perform = perform
        self._unanswered: dict[Future[Any], Callable[[], bool | None]] = {}

    def trigger(
        self, meta: CheckpointMetaData, options: CheckpointOptions, state: TaskState
    ) -> Future[bool]:
        """Have a checkpoint taken; urgent if it is unaligned (Flink: StreamTask)."""
        if not isinstance(meta, CheckpointMetaData):
            raise ArgumentTypeError(
                f"meta must be a CheckpointMetaData(id, timestamp), not {meta!r}"
            )
        result: Future[bool] = Future()
        if not state.takes_checkpoints:
            reason = CheckpointFailureReason.CHECKPOINT_DECLINED_TASK_NOT_READY
            self._checkpoints.decline(meta, reason, f"it is {state.value}")
            result.set_result(False)
            return result

        def run() -> None:
            try:
                taken = self._perform(meta, options)
            except BaseException as error:
                self._answer(result, error)
                raise
            if isinstance(taken, bool):
                self._answer(result, taken)
            else:
                taken.add_done_callback(lambda kept: self._answer(result, _outcome(kept)))

        def decline() -> bool:
            reason = CheckpointFailureReason.CHECKPOINT_DECLINED_TASK_CLOSING
            self._checkpoints.decline(meta, reason)
            return False

        self._unanswered[result] = decline
        try:
            self._main.execute(
                run,
                "checkpoint %s with %s",
                options=(
                    MailOptions.URGENT if options.is_unaligned_checkpoint() else MailOptions.DEFAULT
                ),
                description_args=(meta, options),
            )
        except RejectedExecutionError:
            self._answer(result, decline())
        return result

    def notify(self, tell: Callable[[], None], description: str, state: TaskState) -> Future[None]:
        """Have the operator told something, visible to every yield.

        As in Flink's SubtaskCheckpointCoordinatorImpl.
        """
        result: Future[None] = Future()
        if not state.takes_checkpoints:
            result.set_result(None)
            return result

        def run() -> None:
            try:
                tell()
            except BaseException as error:
                self._answer(result, error)
                raise
            self._answer(result, None)

        self._unanswered[result] = lambda: None
        try:
            self._foremost.execute(run, description)
        except RejectedExecutionError:
            self._answer(result, None)
        return result

    def answer_the_rest(self) -> None:
        """Answer what was dropped with the mailbox: declined, and not told."""
        for result, answer in list(self._unanswered.items()):
            self._answer(result, answer())

    def _answer(self, result: Future[Any], answer: bool | BaseException | None) -> None:
        """Complete a future, unless its holder gave up, or a save ended while the task did."""
        self._unanswered.pop(result, None)
        if isinstance(answer, BaseException):
            fail(result, answer)
        else:
            complete(result, answer)


def _outcome(kept: Future[None]) -> bool | BaseException:
    """The outcome of a save; a cancelled one has kept nothing."""
    return False if kept.cancelled() else kept.exception() or True
