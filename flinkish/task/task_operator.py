"""The operator of a task: its timers and its mails, its beginning and its end."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from flinkish.common.errors import RejectedExecutionError
from flinkish.common.notes import add_note
from flinkish.mailbox import MailboxProcessor
from flinkish.operators import LifeCycle, OperatorEnvironment, StreamOperator
from flinkish.task.element_io import OperatorOutput, StopMode, StreamTaskOutput
from flinkish.time import ProcessingTimeService
from flinkish.time.operator_time_service import OperatorProcessingTimeService
from flinkish.time.processing_time_service import ProcessingTimeCallback

__all__ = ["TaskOperator"]

_LOG = logging.getLogger(__name__)
_PRIORITY = 0


class TaskOperator:
    """An operator that lives in a task.

    ``executor`` hands work to the mailbox thread with the operator's priority; ``timers`` are its
    processing-time timers, whose callbacks are such mails.

    Threading: the mailbox thread, except for ``executor`` and ``timers``.
    """

    def __init__(
        self,
        operator: StreamOperator,
        name: str,
        processor: MailboxProcessor,
        timers: ProcessingTimeService,
    ) -> None:
        self.operator = operator
        self.executor = processor.get_mailbox_executor(_PRIORITY)
        self.timers = OperatorProcessingTimeService(timers, self._in_mailbox)
        self._name = name

    def start(
        self,
        output: StreamTaskOutput | None,
        environment: OperatorEnvironment,
        state: bytes | None,
        is_cancelled: Callable[[], bool],
        fail: Callable[[BaseException], object],
    ) -> None:
        """Set the operator up, give it its state, open it."""
        environment = replace(
            environment,
            processing_time_service=self.timers,
            is_cancelled=is_cancelled,
            mailbox_executor=self.executor,
            fail_externally=fail,
        )
        self.operator.setup(OperatorOutput(output), environment)
        if state is None:
            self.operator.initialize_state()
        else:
            self.operator.restore_state(state)
        self.operator.open()

    def finish(self, mode: StopMode) -> None:
        """Have the operator give what it holds back, after its last timers and mails.

        As in Flink, mails run until none is left, those that mails put included; deferrable mails
        do, too (Flink leaves them for after the end of the data).  Mails of the task, such as
        checkpoints, wait.
        """
        if mode is StopMode.DRAIN:
            self.operator.end_input()
        self.timers.quiesce().result()
        while self.executor.try_yield_ignoring_deferrable():
            pass
        self.operator.finish()

    def close(self) -> None:
        """Stop its timers and close it, if it is not."""
        self.timers.shutdown()
        if self.operator.life is not LifeCycle.CLOSED:
            self.operator.close()

    def _in_mailbox(self, callback: ProcessingTimeCallback) -> ProcessingTimeCallback:
        """A timer's thread calls this instead of ``callback``: it only puts a mail.

        As in Flink's StreamTask.
        """

        def put(timestamp: int) -> None:
            def run() -> None:
                try:
                    callback(timestamp)
                except Exception as error:
                    add_note(error, f"raised by the processing-time timer of {timestamp}")
                    raise

            arguments = (callback, timestamp)
            try:
                self.executor.execute(run, "timer %s at %d", description_args=arguments)
            except RejectedExecutionError:
                _LOG.debug("the timer of %d came after task %r had ended", timestamp, self._name)

        return put
