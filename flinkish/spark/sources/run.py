"""A source function on a thread of its own, and what it emitted since it was last asked.

Invariants:
  S1  A source emits, and changes the state that goes with it, in one hold of the checkpoint lock.
  S2  `take` holds that lock while it takes the records and asks for the state.  So the state it
      returns is that after exactly the records of this take and those before.
  S3  What was emitted since the last take when `run` fails is not handed out, nor when an error
      leaves a hold, which counts as a failure before the lock is free: the hold may have emitted
      and never come to the state.  A restart emits it again.
  S4  Before a thread of the source takes the lock it waits until there is room, so no more than
      ``capacity`` records, and those of one hold, are kept.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from flinkish.common.elements import Watermark
from flinkish.common.errors import CancelTaskError, TaskCancellationError, UserFunctionError
from flinkish.common.timestamps import check_timestamp
from flinkish.functions import CheckpointListener, SourceFunction
from flinkish.operators import TaskRuntimeContext
from flinkish.task.checkpoint_lock import CheckpointLock

__all__ = ["Emitted", "SourceRun"]

_LOG = logging.getLogger(__name__)

Emitted = tuple[Any, int | None]
"""A value, and its event time (ms) if it has one."""


class SourceRun(SourceFunction.SourceContext):
    """Runs ``source`` from ``state`` on; from its beginning if that is empty.

    Threading: the context's methods are for threads of the source, all others for the thread
    that made this.
    """

    def __init__(self, source: Any, state: bytes, name: str, capacity: int) -> None:
        self._source = source
        self._name = name
        self._capacity = capacity
        self._changed = threading.Condition()
        self._records: list[Emitted] = []
        self._closed = False
        self._failure: BaseException | None = None
        self._lock = CheckpointLock(self._await_room, self._fail)
        self._lock.adopt()
        if state:
            source.restore_state(state)
        source.open(TaskRuntimeContext(task_name=name))
        self._thread = threading.Thread(target=self._run, name=f"source-{name}", daemon=True)
        self._thread.start()

    def take(self, patience_s: float, quiet_s: float) -> tuple[list[Emitted], bytes]:
        """The records since the last take, and the state after them.

        Waits until there are ``capacity`` records, the source ended, nothing came for ``quiet_s``
        after the first, or ``patience_s`` are over.  UserFunctionError if the source failed.
        """
        until = time.monotonic() + patience_s
        with self._changed:
            seen = -1
            while len(self._records) < self._capacity and self._thread.is_alive():
                left = until - time.monotonic()
                if left <= 0 or (self._records and len(self._records) == seen):
                    break
                seen = len(self._records)
                self._changed.wait(min(left, quiet_s))
        with self._lock:
            if self._failure is not None:
                raise UserFunctionError(
                    f"the source {self._name!r} failed in run: {self._failure}",
                    function=self._name,
                    method="run",
                ) from self._failure
            records, self._records = self._records, []
            state = self._source.snapshot_state(0)
        with self._changed:
            self._changed.notify_all()
        return records, state

    def ended(self) -> bool:
        """Whether nothing more will come than what is there to take."""
        return not self._thread.is_alive()

    def notify(self, checkpoint_id: int) -> None:
        """Tell a source that listens that this checkpoint is kept."""
        if isinstance(self._source, CheckpointListener):
            with self._lock:
                self._source.notify_checkpoint_complete(checkpoint_id)

    def cancel(self, timeout_s: float) -> None:
        """End the run; TaskCancellationError, with its stack, if it goes on for ``timeout_s``."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._source.cancel()
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            source = f"the source {self._name!r}"
            raise TaskCancellationError.of(source, self._thread, round(timeout_s * 1000))
        self._source.close()

    # --- the source's side

    def collect(self, element: Any) -> None:
        """Emit an element without a timestamp."""
        self._emit(element, None)

    def collect_with_timestamp(self, element: Any, timestamp: int) -> None:
        """Emit an element with its timestamp (ms)."""
        self._emit(element, check_timestamp(timestamp))

    def emit_watermark(self, mark: Watermark | int) -> None:
        """Nothing: on Spark, watermarks come of the column that is declared for them."""

    def mark_as_temporarily_idle(self) -> None:
        """Nothing, as for watermarks."""

    def get_checkpoint_lock(self) -> CheckpointLock:
        """The lock that the source holds while it emits and changes its state."""
        return self._lock

    def _emit(self, value: Any, timestamp: int | None) -> None:
        with self._lock:
            if self._closed:
                raise CancelTaskError(f"the source {self._name!r} is cancelled; nothing is emitted")
            self._records.append((value, timestamp))
        with self._changed:
            if len(self._records) in (1, self._capacity):
                self._changed.notify_all()

    def _await_room(self) -> None:
        with self._changed:
            while len(self._records) >= self._capacity and not self._closed:
                self._changed.wait()

    def _fail(self, error: BaseException) -> None:
        if self._failure is None and not (self._closed and isinstance(error, CancelTaskError)):
            _LOG.error("the source %r failed", self._name, exc_info=error)
            self._failure = error

    def _run(self) -> None:
        try:
            self._source.run(self)
        except BaseException as error:
            self._fail(error)
        finally:
            with self._changed:
                self._changed.notify_all()
