"""The task: an operator, its input and its timers on one thread.

Who may touch what: the operator, the output and all fields of the task belong to the thread that
calls ``invoke`` - the mailbox thread - except for ``_state``, which other threads read, and
``_canceled``, which they set.  Everything else they want done is a mail.  A legacy source's
thread is the one exception, under the checkpoint lock.

No wake-up is lost: the default action is suspended before anybody is asked to resume it, and an
availability future calls back also if it was done already.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress

from flinkish.common.errors import (
    ArgumentTypeError,
    CancelTaskError,
    IllegalStateError,
    MailboxClosedError,
)
from flinkish.common.notes import add_note
from flinkish.mailbox import (
    MailboxController,
    MailboxExecutor,
    MailboxProcessor,
    StreamTaskActionExecutor,
    TaskMailbox,
)
from flinkish.operators import OperatorEnvironment, StreamOperator
from flinkish.task.checkpoint_mails import CheckpointMails
from flinkish.task.checkpoint_storage import FileSystemCheckpointStorage
from flinkish.task.checkpoint_types import (
    CheckpointFailureReason,
    CheckpointMetaData,
    CheckpointOptions,
)
from flinkish.task.element_io import (
    InputProcessor,
    InputStatus,
    StopMode,
    StreamTaskOutput,
    check_protocol,
)
from flinkish.task.io_metrics import TaskIOMetrics
from flinkish.task.outlets import Outlets, suspend_until
from flinkish.task.responders import (
    CheckpointResponder,
    Declining,
    StorageResponder,
    load_state_of,
)
from flinkish.task.states import TaskState, TaskStatistics
from flinkish.task.subtask_checkpoints import SubtaskCheckpoints
from flinkish.task.task_operator import TaskOperator
from flinkish.time import ProcessingTimeService, SystemProcessingTimeService

__all__ = ["StreamTask"]

_LOG = logging.getLogger(__name__)


class StreamTask:
    """Runs ``input_processor.process_input`` and, between its calls, mails.

    Parameters
    ----------
    input_processor: see InputProcessor; each call is one default action of the mailbox loop.
    output: where the operator's elements go; while it is not available no input is processed.
    operator: set up, restored, opened, finished and closed by the task.
    checkpoint_storage: makes the task a job of its own: it starts from the newest checkpoint
        there, and its snapshots are saved there.  Tasks of a CheckpointCoordinator have none.
    name: its state is kept under it.
    environment: the operator's; the task puts its own timers and cancellation in it.
    processing_time_service: the clock and its timers; by default the system's, made for the task.
    action_executor: calls the mails.
    clock: ns, for the times in ``statistics``.

    Life cycle: ``invoke``, once.  It restores, runs until the input ends, ``cancel`` is called or
    something raises, and ends in Flink's order (A.51).

    Threading: ``invoke`` may be called by any one thread, which is then the mailbox thread.
    ``cancel``, ``report_throwable``, the methods in ``_async`` and ``statistics`` are for all.
    """

    def __init__(
        self,
        input_processor: InputProcessor,
        output: StreamTaskOutput | None = None,
        *,
        operator: StreamOperator | None = None,
        checkpoint_storage: FileSystemCheckpointStorage | None = None,
        name: str = "task",
        environment: OperatorEnvironment | None = None,
        processing_time_service: ProcessingTimeService | None = None,
        action_executor: StreamTaskActionExecutor | None = None,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        check_protocol(
            "the input of a task", input_processor, ("process_input", "get_available_future")
        )
        if output is not None:
            check_protocol(
                "the output of a task", output, ("emit", "is_available", "get_available_future")
            )
        self.name = name
        self.operator = operator
        self.environment = environment or OperatorEnvironment(task_name=name)
        self._input = input_processor
        self._output = output
        self._storage = checkpoint_storage
        self._mailbox = TaskMailbox()
        self._processor = MailboxProcessor(
            self._process_input, self._mailbox, action_executor, metrics=self.environment.metrics
        )
        self._owns_timers = processing_time_service is None
        self._timers = processing_time_service or SystemProcessingTimeService(
            self.report_throwable, name=f"{name}-timer"
        )
        self._operator = (
            None
            if operator is None
            else TaskOperator(operator, name, self._processor, self._timers)
        )
        self._times = TaskIOMetrics(clock, self.environment.metrics, self._knows_busy())
        self._outlets = Outlets(output, operator, self._times.back_pressured)
        self._state = TaskState.CREATED
        self._canceled = False
        self._data_ended = False
        self._initial: tuple[int, bytes] | None = None
        self._failed_saves = 0
        responder: CheckpointResponder = Declining()
        if checkpoint_storage is not None:
            responder = StorageResponder(
                name, checkpoint_storage, self.notify_checkpoint_complete_async, self._save_failed
            )
        emit = None if output is None else output.emit
        self._checkpoints = SubtaskCheckpoints(name, operator, emit, responder)
        self._mails = CheckpointMails(self._processor, self._checkpoints, self.perform_checkpoint)

    def _knows_busy(self) -> bool:
        return True

    # --- what it is

    @property
    def state(self) -> TaskState:
        """Where it is in its life."""
        return self._state

    @property
    def is_running(self) -> bool:
        """Whether it processes input and takes checkpoints."""
        return self._state is TaskState.RUNNING

    @property
    def mailbox_executor(self) -> MailboxExecutor:
        """Hands work to the mailbox thread, with the operator's priority if there is one."""
        if self._operator is None:
            return self._processor.main_mailbox_executor
        return self._operator.executor

    def statistics(self) -> TaskStatistics:
        """The task at this moment."""
        checkpoints = self._checkpoints
        last = checkpoints.last_completed_id
        return TaskStatistics(
            self._state,
            self._times.idle_ms(),
            self._times.busy_ms(),
            self._times.back_pressured_ms(),
            checkpoints.taken,
            checkpoints.declined,
            self._failed_saves,
            None if last < 0 else last,
        )

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

    # --- running

    def invoke(self) -> None:
        """Run the task on this thread until it ends; once.

        Returns when the input has ended or the task was cancelled (see ``state``), and raises what
        made it fail: an error of the operator or a mail unchanged, with notes.
        """
        self._require_created("invoke")
        self._state = TaskState.RESTORING
        self._mailbox.adopt()
        try:
            self._clean_up(self._run_to_end())
        except BaseException as error:
            if self._state.is_terminal:
                raise
            self._clean_up(TaskState.FAILED, error)
            raise

    def _run_to_end(self) -> TaskState:
        """Everything but the cleaning up; how the task has ended."""
        try:
            if not self._canceled:
                self._restore()
                self._state = TaskState.RUNNING
                self._times.start()
                self._processor.run_mailbox_loop()
            if not self._canceled:
                self._after_invoke()
                return TaskState.FINISHED
        except CancelTaskError:
            if not self._canceled:
                raise
        return TaskState.CANCELED

    def _restore(self) -> None:
        if self._initial is None and self._storage is not None:
            self._initial = load_state_of(self.name, self._storage)
        state: bytes | None = None
        if self._initial is not None:
            self._checkpoints.last_id = self._checkpoints.last_completed_id = self._initial[0]
            state = self._initial[1]
        if self._operator is not None:
            self._operator.start(
                self._output,
                self.environment,
                state,
                lambda: self._canceled,
                self.report_throwable,
            )

    def _process_input(self, controller: MailboxController) -> None:
        """The default action (Flink: A.45)."""
        status = self._input.process_input()
        if status is InputStatus.MORE_AVAILABLE:
            if self._outlets.is_available():
                return
        elif status is InputStatus.END_OF_DATA:
            self._end_data(StopMode.DRAIN)
            return
        elif status is InputStatus.STOPPED:
            self._end_data(StopMode.NO_DRAIN)
            return
        elif status is InputStatus.END_OF_INPUT:
            self._end_data(StopMode.DRAIN)
            controller.suspend_default_action()
            self._processor.suspend()
            return
        elif status is not InputStatus.NOTHING_AVAILABLE:
            raise ArgumentTypeError(f"process_input must return an InputStatus, not {status!r}")
        full = self._outlets.first_full()
        if full is not None:
            waits_for, timer = full
        elif status is InputStatus.MORE_AVAILABLE:
            return  # there is room again
        else:
            waits_for, timer = self._input.get_available_future(), self._times.idle
        if not waits_for.done():
            suspend_until(controller, waits_for, timer)

    def _end_data(self, mode: StopMode) -> None:
        """Finish the operator; only the first call does."""
        if self._data_ended:
            return
        self._data_ended = True
        self._end_event_time(mode)
        if self._operator is not None:
            self._operator.finish(mode)
        end_of_data = getattr(self._output, "end_of_data", None)
        if end_of_data is not None:
            end_of_data(mode)

    def _end_event_time(self, mode: StopMode) -> None:
        """Drained: no event can follow; tasks that know event time say so."""

    # --- the end

    def _after_invoke(self) -> None:
        """What is left to do after the input has ended well, in Flink's order (A.51)."""
        if self._operator is not None:
            self._operator.timers.quiesce().result()
        if self._owns_timers:
            self._timers.quiesce().result()
        self._processor.prepare_close()
        self._processor.drain()
        flush = getattr(self._output, "flush", None)
        if flush is not None:
            flush()
        self._checkpoints.responder.close()
        if self._operator is not None:
            self._operator.close()

    def _clean_up(self, end: TaskState, error: BaseException | None = None) -> None:
        """Give everything back, whatever happened; the first error is raised, others are noted."""
        first = error
        if self._owns_timers:
            self._timers.shutdown()
        steps = [self._stop_threads, self._processor.close, self._checkpoints.responder.close]
        if self._operator is not None:
            steps.append(self._operator.close)
        for step in steps:
            try:
                step()
            except BaseException as raised:
                if first is None:
                    first = raised
                else:
                    add_note(first, f"and while the task {self.name!r} ended: {raised!r}")
        self._times.stop()
        self._state = end if first is None else TaskState.FAILED
        self._mails.answer_the_rest()
        if first is not None and error is None:
            raise first

    def _stop_threads(self) -> None:
        """End what threads there are besides the mailbox thread."""

    def cancel(self) -> None:
        """Let the task end soon, without finishing; from any thread, and again.

        What the operator is doing is not interrupted, unless it yields: the next mail it sees
        raises CancelTaskError.  Its timers stop after the one that fires.
        """
        self._canceled = True
        with suppress(MailboxClosedError):  # the task ends anyway
            self._processor.report_throwable(
                CancelTaskError(f"the task {self.name!r} was cancelled")
            )

    def report_throwable(self, error: BaseException) -> None:
        """Fail the task with ``error``; from any thread.  An ended task stays as it ended."""
        try:
            self._processor.report_throwable(error)
        except MailboxClosedError:
            _LOG.warning("task %r has ended before this error came: %r", self.name, error)

    # --- checkpoints

    def trigger_checkpoint_async(
        self, meta: CheckpointMetaData, options: CheckpointOptions | None = None
    ) -> Future[bool]:
        """Take a checkpoint, as soon as the mailbox thread gets to it (Flink: A.47).

        True when it is taken and, for a task with a storage, kept there; False when it was
        declined, for instance by a task that is not running.  If the snapshot fails, the task
        does, too; if the storage does, only the checkpoint.
        """
        return self._mails.trigger(meta, options or CheckpointOptions(), self._state)

    def notify_checkpoint_complete_async(self, checkpoint_id: int) -> Future[None]:
        """Tell the operator that a checkpoint is kept; ids that are not newer are ignored (A.49).

        The mail has the highest priority, so an operator that yields sees it.  What the operator
        raises is in the future and fails the task.  On a task that does not run nothing happens.
        """
        return self._mails.notify(
            lambda: self._checkpoints.notify_complete(checkpoint_id),
            f"checkpoint {checkpoint_id} complete",
            self._state,
        )

    def notify_checkpoint_aborted_async(
        self, checkpoint_id: int, latest_completed_checkpoint_id: int = 0
    ) -> Future[None]:
        """Tell the operator that a checkpoint will never be, after the latest that is (A.49)."""
        return self._mails.notify(
            lambda: self._checkpoints.notify_aborted(checkpoint_id, latest_completed_checkpoint_id),
            f"checkpoint {checkpoint_id} aborted",
            self._state,
        )

    def perform_checkpoint(self, meta: CheckpointMetaData) -> Future[None] | bool:
        """Take a checkpoint now; on the mailbox thread.  See SubtaskCheckpoints.perform."""
        if not self._mailbox.is_mailbox_thread():
            raise IllegalStateError(
                f"perform_checkpoint belongs to the thread of task {self.name!r}: use "
                "trigger_checkpoint_async"
            )
        if self._data_ended:
            self._checkpoints.decline(
                meta, CheckpointFailureReason.CHECKPOINT_DECLINED_TASK_CLOSING
            )
            return False
        return self._checkpoints.perform(meta, self.is_running and not self._canceled)

    def _save_failed(self, checkpoint_id: int, error: BaseException) -> None:
        self._failed_saves += 1
