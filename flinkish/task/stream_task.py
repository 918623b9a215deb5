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
    MailboxClosedError,
    RejectedExecutionError,
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
from flinkish.task.checkpoint_storage import CheckpointStorage
from flinkish.task.checkpointed_task import CheckpointedTask
from flinkish.task.element_io import (
    InputProcessor,
    InputStatus,
    StopMode,
    StreamTaskOutput,
    check_protocol,
)
from flinkish.task.io_metrics import TaskIOMetrics
from flinkish.task.outlets import Outlets, suspend_until
from flinkish.task.responders import AwaitsFinalCheckpoint, HearsOfTheEnd
from flinkish.task.states import TaskState, TaskStatistics
from flinkish.task.task_operator import TaskOperator
from flinkish.time import ProcessingTimeService, SystemProcessingTimeService

__all__ = ["StreamTask"]

_LOG = logging.getLogger(__name__)


class StreamTask(CheckpointedTask):
    """Runs ``input_processor.process_input`` and, between its calls, mails.

    Args:
        input_processor: see InputProcessor; each call is one default action of the mailbox loop.
        output: where the operator's elements go; while it is not available no input is processed.
        operator: set up, restored, opened, finished and closed by the task.
        checkpoint_storage: makes the task a job of its own: it starts from the newest checkpoint
            there, and its snapshots are saved there.  Tasks of a CheckpointCoordinator have none.
        name: its state is kept under it.
        environment: the operator's; the task puts its own timers and cancellation in it.
        processing_time_service: the clock and its timers; by default the system's, made for the
            task.
        action_executor: calls the mails.
        clock: ns, for the times in ``statistics``.

    Life cycle: ``invoke``, once.  It restores, runs until the input ends, ``cancel`` is called or
    something raises, and ends in Flink's order (Flink: StreamTask).

    Threading: ``invoke`` may be called by any one thread, which is then the mailbox thread.
    ``cancel``, ``report_throwable``, the methods in ``_async`` and ``statistics`` are for all.
    """

    def __init__(
        self,
        input_processor: InputProcessor,
        output: StreamTaskOutput | None = None,
        *,
        operator: StreamOperator | None = None,
        checkpoint_storage: CheckpointStorage | None = None,
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
        if operator is not None and not isinstance(operator, StreamOperator):
            raise ArgumentTypeError(
                f"a task runs an operator, not {operator!r}; a function needs one around it, such "
                "as KeyedProcessOperator(function)"
            )
        if checkpoint_storage is not None:
            check_protocol("a checkpoint storage", checkpoint_storage, ("save", "load_latest"))
        self.operator = operator
        self.environment = environment or OperatorEnvironment(task_name=name)
        processor = MailboxProcessor(
            self._process_input, TaskMailbox(), action_executor, metrics=self.environment.metrics
        )
        super().__init__(name, operator, output, checkpoint_storage, processor)
        self._input = input_processor
        self._output = output
        self._owns_timers = processing_time_service is None
        self._timers = processing_time_service or SystemProcessingTimeService(
            self.report_throwable, name=f"{name}-timer"
        )
        self._operator = (
            None if operator is None else TaskOperator(operator, name, processor, self._timers)
        )
        self._times = TaskIOMetrics(clock, self.environment.metrics, self._knows_busy())
        self._outlets = Outlets(output, operator, self._times.back_pressured)

    def _knows_busy(self) -> bool:
        return True

    # --- what it is

    @property
    def mailbox_executor(self) -> MailboxExecutor:
        """Hands work to the mailbox thread, with the operator's priority if there is one."""
        if self._operator is None:
            return self._processor.main_mailbox_executor
        return self._operator.executor

    @property
    def processing_time_service(self) -> ProcessingTimeService:
        """The task's clock, and its timers, whose callbacks run on their own thread.

        ``environment.processing_time_service`` of the operator has the same clock; its callbacks
        are mails.
        """
        return self._timers

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
                self._processor.metrics.set_up_latency_measurement(
                    self._timers, self._processor.main_mailbox_executor
                )
                self._processor.run_mailbox_loop()
            if not self._canceled:
                self._after_invoke()
                return TaskState.FINISHED
        except CancelTaskError:
            if not self._canceled:
                raise
        return TaskState.CANCELED

    def _restore(self) -> None:
        state = self._load_state()
        if self._operator is not None:
            self._operator.start(
                self._output,
                self.environment,
                state,
                lambda: self._canceled,
                self.report_throwable,
            )

    def _process_input(self, controller: MailboxController) -> None:
        """The default action."""
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
            self._suspend_at_end()
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
        if not self._was_finished:
            self._end_event_time(mode)
            if self._operator is not None:
                self._operator.finish(mode)
        self._checkpoints.finished = mode is StopMode.DRAIN
        responder = self._checkpoints.responder
        if isinstance(responder, AwaitsFinalCheckpoint):
            self._may_end = responder.data_ended()
        name = "end_of_data" if self._may_end is None else "notify_end_of_data"
        end_of_data = getattr(self._output, name, None)
        if end_of_data is not None:
            end_of_data(mode)

    def _suspend_at_end(self) -> None:
        """End the loop, after the final checkpoint if there is one."""
        if self._may_end is None:
            self._processor.suspend()
            return

        def suspend(kept: Future[None]) -> None:
            error = kept.exception()
            if error is not None:
                self.report_throwable(error)
                return
            with suppress(RejectedExecutionError):  # it has failed, or was cancelled
                self._processor.main_mailbox_executor.execute(
                    self._processor.suspend, "the final checkpoint is kept"
                )

        self._may_end.add_done_callback(suspend)

    def _end_event_time(self, mode: StopMode) -> None:
        """Drained: no event can follow; tasks that know event time say so."""

    # --- the end

    def _after_invoke(self) -> None:
        """Take the last steps after the input has ended well, in Flink's order."""
        if self._operator is not None:
            self._operator.timers.quiesce().result()
        if self._owns_timers:
            self._timers.quiesce().result()
        self._processor.prepare_close()
        self._processor.drain()
        end_of_data = getattr(self._output, "end_of_data", None)
        if self._may_end is not None and end_of_data is not None:
            end_of_data(StopMode.DRAIN)
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
        responder = self._checkpoints.responder
        if isinstance(responder, HearsOfTheEnd):
            responder.task_ended(first)
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
