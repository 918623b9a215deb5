"""The task of a source with a loop and a thread of its own.

The source's thread emits under the checkpoint lock, and every mail runs under it, too: so between a
record and the change of state that belongs to it there is no checkpoint, if the source makes both
in one hold of the lock.  A hold that an error leaves may have made only one of them: it counts as
the end of the source before the lock is free, and no checkpoint is taken after it.  The mailbox
thread never holds the lock while it waits for the source's thread.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.elements import Watermark
from flinkish.common.errors import (
    ArgumentTypeError,
    CancelTaskError,
    RejectedExecutionError,
    TaskCancellationError,
)
from flinkish.functions import SourceFunction
from flinkish.mailbox import MailboxController, SynchronizedStreamTaskActionExecutor
from flinkish.operators import OperatorEnvironment
from flinkish.task.checkpoint_lock import CheckpointLock
from flinkish.task.checkpoint_storage import CheckpointStorage
from flinkish.task.checkpoint_types import (
    CheckpointFailureReason,
    CheckpointMetaData,
    CheckpointOptions,
)
from flinkish.task.element_io import InputStatus, StopMode, StreamTaskOutput, check_protocol
from flinkish.task.source_operator import LegacySourceContext, SourceOperator
from flinkish.task.stream_task import StreamTask
from flinkish.time import ProcessingTimeService

__all__ = ["SourceStreamTask"]

_LOG = logging.getLogger(__name__)


class _NoInput:
    def process_input(self) -> InputStatus:
        return InputStatus.NOTHING_AVAILABLE

    def get_available_future(self) -> Future[None]:
        return Future()


class SourceStreamTask(StreamTask):
    """Runs a SourceFunction on a thread of its own (Flink: SourceStreamTask).

    When ``run`` returns, the task emits the greatest watermark and ends; what it raises fails the
    task, and so does what leaves a hold of the checkpoint lock, wherever it is caught.  ``cancel``
    calls the function's ``cancel``, and makes everything that it still emits
    raise CancelTaskError.  If ``run`` does not return within ``cancel_timeout`` all the same,
    ``invoke`` raises TaskCancellationError with the stack of the source's thread; that thread,
    which Python cannot stop, is left behind as a daemon, unable to emit.

    ``busy_time_ms`` is None: whether the loop works or waits is not known.

    Other parameters, life cycle and threading are those of StreamTask.
    """

    def __init__(
        self,
        source: SourceFunction,
        output: StreamTaskOutput,
        *,
        checkpoint_storage: CheckpointStorage | None = None,
        cancel_timeout: DurationLike = "30 seconds",
        name: str = "source",
        environment: OperatorEnvironment | None = None,
        processing_time_service: ProcessingTimeService | None = None,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        if not isinstance(source, SourceFunction):
            raise ArgumentTypeError(f"a source must be a SourceFunction, not {source!r}")
        check_protocol(
            "the output of a source task", output, ("emit", "is_available", "get_available_future")
        )
        self._cancel_timeout = to_millis(cancel_timeout, "cancel_timeout", minimum=0)
        self._lock = CheckpointLock(lambda: self._context.await_room(), self._hold_failed)
        self._source_error: BaseException | None = None
        super().__init__(
            _NoInput(),
            output,
            operator=SourceOperator(source),
            checkpoint_storage=checkpoint_storage,
            name=name,
            environment=environment,
            processing_time_service=processing_time_service,
            action_executor=SynchronizedStreamTaskActionExecutor(self._lock),
            clock=clock,
        )
        self._source = source
        self._context = LegacySourceContext(output, self._lock, self._times.back_pressured)
        self._thread = threading.Thread(target=self._run, name=f"{name}-loop", daemon=True)

    def _knows_busy(self) -> bool:
        return False

    # --- the source's thread

    def _process_input(self, controller: MailboxController) -> None:
        """The default action: start the source, and never come again."""
        controller.suspend_default_action()
        self._lock.adopt()
        if self._was_finished:
            self._source_ended()
        else:
            self._thread.start()

    def _run(self) -> None:
        try:
            self._source.run(self._context)
        except BaseException as error:
            self._source_failed(error)
            return
        if self._canceled:
            return
        try:
            self._processor.main_mailbox_executor.execute(self._source_ended, "end of the source")
        except RejectedExecutionError:
            _LOG.debug("the source of %r ended after its task", self.name)

    def _hold_failed(self, error: BaseException) -> None:
        if not self._mailbox.is_mailbox_thread():  # its own errors end the task anyhow
            self._source_failed(error)

    def _source_failed(self, error: BaseException) -> None:
        if self._canceled or self._source_error is not None or isinstance(error, CancelTaskError):
            return
        self._source_error = error
        self.report_throwable(error)

    def perform_checkpoint(
        self, meta: CheckpointMetaData, options: CheckpointOptions | None = None
    ) -> Future[None] | bool:
        """Take a checkpoint between two elements; it is declined once the source has failed."""
        if self._source_error is not None:
            self._checkpoints.decline(
                meta, CheckpointFailureReason.CHECKPOINT_DECLINED_TASK_NOT_READY, "it has failed"
            )
            return False
        return super().perform_checkpoint(meta, options)

    def _source_ended(self) -> None:
        self._context.close("run() has returned, which ended the stream")
        self._end_data(StopMode.DRAIN)
        self._suspend_at_end()

    def _end_event_time(self, mode: StopMode) -> None:
        assert self._output is not None
        self._output.emit(Watermark.MAX_WATERMARK)

    # --- the end

    def cancel(self) -> None:
        """Cancel the source, and end the task; see the class."""
        super().cancel()
        self._cancel_source()

    def _cancel_source(self) -> None:
        try:
            self._source.cancel()
        except Exception:
            _LOG.exception("cancel() of %s raised", type(self._source).__name__)
        self._context.close(f"the task {self.name!r} was cancelled or has failed")

    def _stop_threads(self) -> None:
        thread = self._thread
        if thread.ident is None:
            return
        if thread.is_alive() and not self._data_ended:
            self._cancel_source()
        thread.join(self._cancel_timeout / 1000)
        if not thread.is_alive():
            return
        source = type(self._source).__name__
        raise TaskCancellationError.of(source, thread, self._cancel_timeout)
