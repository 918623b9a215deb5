"""Checkpoints that failed, and what is too many."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from flinkish.common.errors import CheckpointError
from flinkish.common.futures import fail
from flinkish.task.checkpoint_requests import CheckpointRequest
from flinkish.task.checkpoint_types import CheckpointFailureReason

__all__ = ["CheckpointFailures"]

_LOG = logging.getLogger(__name__)


class CheckpointFailures:
    """Counts failures in a row; more than ``tolerable``, and ``handler`` is called.

    As in Flink's CheckpointFailureManager.

    Threading: any.
    """

    def __init__(self, tolerable: int, handler: Callable[[CheckpointError], object]) -> None:
        self._tolerable = tolerable
        self._handler = handler
        self._lock = threading.Lock()
        self._in_a_row = 0
        self.count = 0

    def reset(self) -> None:
        """A checkpoint is complete."""
        with self._lock:
            self._in_a_row = 0

    def answer(
        self,
        request: CheckpointRequest,
        checkpoint_id: int | None,
        reason: CheckpointFailureReason,
        detail: str = "",
        cause: BaseException | None = None,
    ) -> None:
        """Tell the callers that asked that this one failed."""
        what = "the checkpoint" if checkpoint_id is None else f"checkpoint {checkpoint_id}"
        why = "; ".join(filter(None, [detail, "" if cause is None else str(cause)]))
        error = CheckpointError(
            f"{what} failed: {reason.text}" + (f" ({why})" if why else ""),
            reason=reason.name,
            checkpoint_id=checkpoint_id,
        )
        error.__cause__ = cause
        with self._lock:
            self.count += 1
            self._in_a_row += reason.counts
            exceeded = reason.counts and self._in_a_row > self._tolerable
        fail(request.future, error)
        if exceeded:
            try:
                self._handler(error)
            except Exception:
                _LOG.exception("the failure handler of a checkpoint coordinator raised")
