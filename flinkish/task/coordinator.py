"""Checkpoints of several tasks of one process.

Invariants, under ``_lock``:
  K1  A checkpoint is in ``_pending`` from its id's being given until it is disposed; the thread
      that sets ``disposed`` completes or aborts it, so each future is answered once.
  K2  One thread at a time begins checkpoints (``_triggering``); it looks at the queue again
      when it is done, so that no request is left for which another thread found it busy.
  K3  Tasks are told that a checkpoint was aborted only when it cannot be restored any more: if it
      is aborted while a storage saves it (``saving``), the saving thread discards it and tells.
  K4  Tasks, storages and futures that others wait for are not touched under the lock; timers are,
      which call back on their own thread and not from within.

Ids are given in rising order and checkpoints are saved one after another, on one thread, so tasks
are told of them in that order.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress

from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import (
    CheckpointError,
    IllegalArgumentError,
)
from flinkish.common.futures import complete
from flinkish.task.checkpoint_failures import CheckpointFailures
from flinkish.task.checkpoint_requests import (
    CheckpointRequest,
    CheckpointRequests,
    PendingCheckpoint,
)
from flinkish.task.checkpoint_storage import CheckpointStorage
from flinkish.task.checkpoint_types import (
    CheckpointFailureReason,
    CheckpointMetaData,
    CheckpointOptions,
    CompletedCheckpoint,
    CoordinatorStatistics,
)
from flinkish.task.final_checkpoint import FinalCheckpoint
from flinkish.task.periodic_trigger import PeriodicTrigger
from flinkish.task.responders import CoordinatorResponder
from flinkish.task.stream_task import StreamTask
from flinkish.task.task_group import TaskGroup
from flinkish.time import ProcessingTimeService, SystemProcessingTimeService

__all__ = ["CheckpointCoordinator"]

_LOG = logging.getLogger(__name__)
_Reason = CheckpointFailureReason
_REMEMBERED = 16  # ids of expired checkpoints, whose late states are known for what they are


class CheckpointCoordinator:
    """Has tasks take checkpoints together, and keeps them.

    Args:
        tasks: by the name under which their state is kept; none of them invoked yet, or with a
            storage of its own.
        storage: where checkpoints are kept.
        triggered: names of the tasks that begin a checkpoint; barriers reach the others through
            their inputs.  By default the legacy sources, or all if there are none.
        interval: ms or a duration between periodic checkpoints, which begin with ``start``.
        min_pause: between the end of a checkpoint and the next periodic one.
        timeout: after which a checkpoint is aborted.
        max_concurrent: how many may be under way.
        options: how checkpoints are taken; aligned by default.
        final_checkpoint: tasks whose data have ended go on taking part, and end only when a
            checkpoint after the end of all data is kept and they were told; if that fails, the
            tasks do.  So a sink that commits in ``notify_checkpoint_complete`` commits its last
            output, too.
        tolerable_failures: in a row; one more, and ``failure_handler(error)`` is called.  By
            default that fails all tasks (Flink: CheckpointFailureManager).
        processing_time_service: the clock; by default made here.
        io_executor: saves checkpoints, one call at a time, in order; by default made here.
        next_id: of the first checkpoint, if the newest in the storage is older.

    Life cycle: ``restore_latest``, the tasks' ``invoke``, ``start``; ``stop``, ``shutdown``.  A
    checkpoint needs all tasks running, so there is none once one of them has finished.

    Threading: everything is for any thread.
    """

    def __init__(
        self,
        tasks: Mapping[str, StreamTask],
        storage: CheckpointStorage,
        *,
        triggered: Iterable[str] | None = None,
        interval: DurationLike | None = None,
        min_pause: DurationLike = 0,
        timeout: DurationLike = "10 minutes",
        max_concurrent: int = 1,
        options: CheckpointOptions | None = None,
        final_checkpoint: bool = False,
        tolerable_failures: int = 0,
        failure_handler: Callable[[CheckpointError], object] | None = None,
        processing_time_service: ProcessingTimeService | None = None,
        io_executor: Executor | None = None,
        next_id: int = 1,
    ) -> None:
        self._tasks = TaskGroup(tasks, triggered)
        if max_concurrent < 1:
            raise IllegalArgumentError(f"max_concurrent must be at least 1, not {max_concurrent}")
        self._storage = storage
        every = None if interval is None else to_millis(interval, "interval", minimum=1)
        pause = to_millis(min_pause, "min_pause", minimum=0)
        self._timeout = to_millis(timeout, "timeout", minimum=1)
        self._options = options or CheckpointOptions()
        self._failures = CheckpointFailures(tolerable_failures, failure_handler or self._tasks.fail)
        self._owns_timers = processing_time_service is None
        self._timers = processing_time_service or SystemProcessingTimeService(
            self._tasks.fail, name="flinkish-checkpoints-timer"
        )
        self._owns_io = io_executor is None
        self._io = io_executor or ThreadPoolExecutor(1, "flinkish-checkpoints")
        self._saving_thread: int | None = None
        self._lock = threading.Lock()
        self._requests = CheckpointRequests(max_concurrent, pause)
        self._periodic = PeriodicTrigger(
            self._timers, every, pause, lambda: self._ask(periodic=True)
        )
        self._final: FinalCheckpoint | None = None
        if final_checkpoint:
            self._final = FinalCheckpoint(tasks, lambda: self._ask(forced=True), self._tasks.fail)
        self._pending: dict[int, PendingCheckpoint] = {}
        self._expired: deque[int] = deque(maxlen=_REMEMBERED)
        self._triggering = self._shut_down = False
        self._numbers = self._completed = 0
        self._last_completion: int | None = None
        self._stored = storage.load_latest()
        self._latest_id = 0
        self._next_id = next_id
        if self._stored is not None:
            self._next_id = max(next_id, self._stored.checkpoint_id + 1)
            storage.keep(self._stored.checkpoint_id)
        for name, task in self._tasks.items():
            task.set_checkpoint_responder(CoordinatorResponder(self, name))

    def statistics(self) -> CoordinatorStatistics:
        """The coordinator at this moment."""
        with self._lock:
            return CoordinatorStatistics(
                len(self._requests),
                len(self._pending),
                self._completed,
                self._failures.count,
                self._latest_id or None,
            )

    def restore_latest(self) -> int | None:
        """Have all tasks start from the newest checkpoint; its id, None when there is none.

        IncompatibleStateError when it is one of other tasks: starting without their state would
        lose it.
        """
        stored = self._stored
        if stored is None:
            return None
        self._tasks.restore(stored)
        self._latest_id = stored.checkpoint_id
        return stored.checkpoint_id

    @property
    def next_id(self) -> int:
        """The id that the next checkpoint will have."""
        return self._next_id

    # --- asking for checkpoints

    def start(self) -> None:
        """Begin periodic checkpoints, the first at some time in [min_pause, interval]."""
        self._periodic.start()

    def trigger_checkpoint(self, *, forced: bool = False) -> Future[CompletedCheckpoint]:
        """Take a checkpoint when its turn comes; at once, however many are pending, if forced.

        The future is done when it is kept; else it has a CheckpointError whose ``reason`` is the
        name of a CheckpointFailureReason.
        """
        return self._ask(forced=forced)

    def trigger_savepoint(self, storage: CheckpointStorage) -> Future[CompletedCheckpoint]:
        """Take a checkpoint and keep it in ``storage``; tasks are not told."""
        return self._ask(forced=True, savepoint=storage)

    def _ask(
        self,
        *,
        periodic: bool = False,
        forced: bool = False,
        savepoint: CheckpointStorage | None = None,
    ) -> Future[CompletedCheckpoint]:
        now = self._timers.get_current_processing_time()
        with self._lock:
            self._numbers += 1
            request = CheckpointRequest(now, self._numbers, periodic, forced, savepoint)
            refused: CheckpointRequest | None = request
            reason = _Reason.CHECKPOINT_COORDINATOR_SHUTDOWN
            if not self._shut_down:
                refused, reason = self._requests.add(request), _Reason.TOO_MANY_CHECKPOINT_REQUESTS
        if refused is not None:
            self._failures.answer(refused, None, reason)
        self._begin_all()
        return request.future

    def _begin_all(self) -> None:
        """Begin what may begin (Flink: CheckpointRequestDecider)."""
        while True:
            now = self._timers.get_current_processing_time()
            with self._lock:
                if self._triggering:
                    return
                chosen = self._requests.choose(now, len(self._pending), self._last_completion)
                if chosen is None:
                    return
                self._triggering = True
            request, early = chosen
            try:
                if early > 0:
                    detail = f"{early} ms are left"
                    self._failures.answer(
                        request, None, _Reason.MINIMUM_TIME_BETWEEN_CHECKPOINTS, detail
                    )
                    self._periodic.put_off(early)
                else:
                    self._begin(request)
            finally:
                with self._lock:
                    self._triggering = False

    def _begin(self, request: CheckpointRequest) -> None:
        """Plan, give an id, trigger the tasks."""
        idle = self._tasks.idle()
        if idle:
            self._failures.answer(request, None, _Reason.NOT_ALL_REQUIRED_TASKS_RUNNING, idle)
            return
        now = self._timers.get_current_processing_time()
        pending = PendingCheckpoint(self._next_id, now, request, self._tasks.names)
        with self._lock:
            shut_down = self._shut_down
            if not shut_down:
                self._next_id += 1
                self._pending[pending.checkpoint_id] = pending
                pending.canceller = self._timers.register_timer(
                    now + self._timeout, lambda _: self._abort(pending, _Reason.CHECKPOINT_EXPIRED)
                )
        if shut_down:
            self._failures.answer(request, None, _Reason.CHECKPOINT_COORDINATOR_SHUTDOWN)
            return
        meta = CheckpointMetaData(pending.checkpoint_id, now)
        self._tasks.trigger(meta, self._options)

    # --- what tasks say

    def receive_acknowledge_message(self, task: str, checkpoint_id: int, state: bytes) -> bool:
        """A task's state; whether the checkpoint was known: pending, or expired lately."""
        with self._lock:
            if task not in self._tasks:
                return False
            pending = self._pending.get(checkpoint_id)
            if pending is None:
                return checkpoint_id in self._expired
            if task not in pending.missing:
                return True
            pending.missing.remove(task)
            pending.states[task] = state
            if not pending.is_full:
                return True
        with suppress(RuntimeError):  # shut down since then, so it is aborted
            self._io.submit(self._save, pending)
        return True

    def receive_decline_message(self, task: str, checkpoint_id: int, error: BaseException) -> None:
        """A task has no part in it, so it is aborted; unknown ids are ignored."""
        self._tasks.require(task)
        with self._lock:
            pending = self._pending.get(checkpoint_id)
        if pending is None:
            return
        name = getattr(error, "reason", None)
        reason = _Reason.__members__.get(str(name), _Reason.CHECKPOINT_DECLINED)
        self._abort(pending, reason, error)

    def data_ended(self, task: str) -> Future[None] | None:
        """The data of a task have ended; done when it may end, None for at once."""
        return None if self._final is None else self._final.data_ended(task)

    def task_ended(self, task: str, failure: BaseException | None) -> None:
        """A task has ended: nothing that lacks its state can be completed any more.

        Nor can a final checkpoint be taken if it has failed, so tasks that wait for that fail.
        """
        self._periodic.stop(for_good=True)
        closing = _Reason.CHECKPOINT_DECLINED_TASK_CLOSING
        reason = closing if failure is None else _Reason.TASK_FAILURE
        with self._lock:
            lacking = [one for one in self._pending.values() if task in one.missing]
        for one in lacking:
            self._abort(one, reason, failure)
        if self._final is not None and failure is not None:
            self._final.give_up(task, failure)

    # --- the end of a checkpoint

    def _save(self, pending: PendingCheckpoint) -> None:
        """Keep a full checkpoint, then tell everybody."""
        self._saving_thread = threading.get_ident()
        request = pending.request
        with self._lock:
            if pending.disposed:
                return
            pending.saving = True
        storage = request.savepoint or self._storage
        try:
            storage.save(pending.checkpoint_id, pending.states)
        except Exception as error:
            self._abort(pending, _Reason.FINALIZE_CHECKPOINT_FAILURE, error)
        now = self._timers.get_current_processing_time()
        with self._lock:
            aborted, older = not pending.dispose(), []
            if not aborted:
                del self._pending[pending.checkpoint_id]
                self._completed += 1
                self._last_completion = now
            if not aborted and request.savepoint is None:
                self._latest_id = pending.checkpoint_id
                older = [one for one in self._pending.values() if one.is_subsumed_by(pending)]
        if aborted:
            self._discard(pending, storage)
            return
        self._failures.reset()
        pending.stop_canceller()
        sizes = {name: len(state) for name, state in pending.states.items()}
        complete(
            request.future,
            CompletedCheckpoint(pending.checkpoint_id, pending.timestamp, now, sizes),
        )
        self._begin_all()
        for one in older:
            self._abort(one, _Reason.CHECKPOINT_SUBSUMED)
        if request.savepoint is None:
            self._tasks.tell_complete(pending.checkpoint_id)
        if self._final is not None:
            self._final.told(pending.checkpoint_id)
        storage.keep(pending.checkpoint_id)

    def _abort(
        self,
        pending: PendingCheckpoint,
        reason: CheckpointFailureReason,
        cause: BaseException | None = None,
    ) -> None:
        """Dispose of a checkpoint and tell everybody, unless that has happened."""
        with self._lock:
            if not pending.dispose():
                return
            del self._pending[pending.checkpoint_id]
            if reason is _Reason.CHECKPOINT_EXPIRED:
                self._expired.append(pending.checkpoint_id)
            saving = pending.saving
        pending.stop_canceller()
        detail = f"still missing: {', '.join(sorted(pending.missing))}" if pending.missing else ""
        self._failures.answer(pending.request, pending.checkpoint_id, reason, detail, cause)
        if not saving:
            self._tell_aborted(pending)
        self._begin_all()

    def _discard(self, pending: PendingCheckpoint, storage: CheckpointStorage) -> None:
        """Remove what was saved of an aborted checkpoint, then tell the tasks (K3)."""
        try:
            storage.discard(pending.checkpoint_id)
        except Exception as error:  # it may be restored, so nobody may hear that it was aborted
            _LOG.error("checkpoint %d could not be discarded: %s", pending.checkpoint_id, error)
            self._tasks.fail(error)
        else:
            self._tell_aborted(pending)

    def _tell_aborted(self, pending: PendingCheckpoint) -> None:
        with self._lock:
            latest = self._latest_id
        self._tasks.tell_aborted(pending.checkpoint_id, latest)

    # --- the end

    def stop(self) -> None:
        """End periodic checkpoints, and abort what is queued and pending; others may follow."""
        self._end(_Reason.PERIODIC_SCHEDULER_SHUTDOWN, _Reason.CHECKPOINT_COORDINATOR_SUSPEND)

    def _end(self, periodic: CheckpointFailureReason, reason: CheckpointFailureReason) -> None:
        self._periodic.stop(for_good=self._shut_down)
        with self._lock:
            queued, pending = self._requests.clear(), list(self._pending.values())
        for request in queued:
            self._failures.answer(request, None, periodic if request.periodic else reason)
        for one in pending:
            self._abort(one, reason)

    def shutdown(self) -> None:
        """End everything, for good; waits for what is being saved."""
        with self._lock:
            self._shut_down = True
        reason = _Reason.CHECKPOINT_COORDINATOR_SHUTDOWN
        self._end(reason, reason)
        if self._owns_timers:
            self._timers.shutdown()
        if self._owns_io:
            self._io.shutdown(wait=threading.get_ident() != self._saving_thread)

    def __enter__(self) -> CheckpointCoordinator:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
