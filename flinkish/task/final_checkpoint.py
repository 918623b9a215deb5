"""The checkpoint after the end of all data, for which tasks wait before they end.

Invariant: ``future`` is done once, and then every task may end: the checkpoint that has the end of
every task's data is kept, and the tasks have been told of it.  Else it has an error, and they fail.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future

from flinkish.common.errors import CheckpointError
from flinkish.common.futures import complete, fail, shared_future
from flinkish.task.checkpoint_types import CheckpointFailureReason, CompletedCheckpoint

__all__ = ["FinalCheckpoint"]

_SUBSUMED = CheckpointFailureReason.CHECKPOINT_SUBSUMED.name


class FinalCheckpoint:
    """Asks for a checkpoint when the last of ``tasks`` says that its data have ended.

    ``ask()`` begins it; if it fails, ``fail(error)`` is called: a job whose last output is not
    covered by a checkpoint has not succeeded.

    Threading: any.
    """

    def __init__(
        self,
        tasks: Iterable[str],
        ask: Callable[[], Future[CompletedCheckpoint]],
        fail: Callable[[BaseException], object],
    ) -> None:
        self._missing = set(tasks)
        self._ask = ask
        self._fail = fail
        self._lock = threading.Lock()
        self._number: int | None = None
        self._failed = False
        self.future: Future[None] = shared_future()

    def data_ended(self, task: str) -> Future[None]:
        """A task's data have ended; done when it may end, too."""
        with self._lock:
            last = task in self._missing and len(self._missing) == 1
            self._missing.discard(task)
        if last:
            self._ask().add_done_callback(self._begun_and_over)
        return self.future

    def _begun_and_over(self, completed: Future[CompletedCheckpoint]) -> None:
        error = completed.exception()
        if error is None:
            self._number = completed.result().checkpoint_id
        elif isinstance(error, CheckpointError) and error.reason == _SUBSUMED:
            self._number = error.checkpoint_id  # a newer one is kept, which has the end as well
        else:
            self._failed = True
            self._fail(error)

    def give_up(self, task: str, cause: BaseException) -> None:
        """A task has failed, so there will be none; tasks that wait for it fail.

        Nothing happens where all were failed already: theirs is the first error.
        """
        if self._failed:
            return
        error = CheckpointError(
            f"the final checkpoint cannot be taken any more: task {task!r} has failed before it",
            reason=CheckpointFailureReason.TASK_FAILURE.name,
        )
        error.__cause__ = cause
        fail(self.future, error)

    def told(self, checkpoint_id: int) -> None:
        """All tasks have been sent the news that this checkpoint is kept."""
        number = self._number
        if number is not None and checkpoint_id >= number:
            complete(self.future, None)
