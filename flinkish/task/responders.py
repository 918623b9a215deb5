"""To whom a task tells what became of its part of a checkpoint."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol, runtime_checkable

from flinkish.common.errors import IncompatibleStateError
from flinkish.task.checkpoint_storage import CheckpointStorage
from flinkish.task.checkpoint_types import CheckpointMetaData

__all__ = [
    "AwaitsFinalCheckpoint",
    "CheckpointResponder",
    "CoordinatorResponder",
    "Declining",
    "HearsOfTheEnd",
    "StorageResponder",
    "load_state_of",
]

_LOG = logging.getLogger(__name__)


class CheckpointResponder(Protocol):
    """Called on the mailbox thread of the task; must not block."""

    def acknowledge_checkpoint(self, meta: CheckpointMetaData, state: bytes) -> Future[None] | None:
        """The task's state of a checkpoint; None, or a future that is done when it is kept."""
        ...

    def decline_checkpoint(self, meta: CheckpointMetaData, error: BaseException) -> None:
        """The task has no part in a checkpoint; from any thread."""
        ...

    def close(self) -> None:
        """Wait for what is under way; nothing follows."""
        ...


@runtime_checkable
class AwaitsFinalCheckpoint(Protocol):
    """A responder that may want a checkpoint after the end of the data."""

    def data_ended(self) -> Future[None] | None:
        """The task's data have ended.  It goes on until the future is done; None: it may end."""
        ...


class Declining:
    """For a task without a coordinator: declines are logged, state is dropped."""

    def acknowledge_checkpoint(self, meta: CheckpointMetaData, state: bytes) -> Future[None] | None:
        """Nobody wants it."""
        return None

    def decline_checkpoint(self, meta: CheckpointMetaData, error: BaseException) -> None:
        """Log it."""
        _LOG.info("checkpoint %d was declined: %s", meta.id, error)

    def close(self) -> None:
        """Nothing is under way."""


class StorageResponder(Declining):
    """For a task that is a job of its own: its state is the whole checkpoint.

    States are saved one after another on a thread of their own, so the task goes on meanwhile;
    ``on_saved(id)`` and ``on_failed(id, error)`` are called there.
    """

    def __init__(
        self,
        name: str,
        storage: CheckpointStorage,
        on_saved: Callable[[int], object],
        on_failed: Callable[[int, BaseException], object],
    ) -> None:
        self._name = name
        self._storage = storage
        self._on_saved = on_saved
        self._on_failed = on_failed
        self._thread: ThreadPoolExecutor | None = None

    def acknowledge_checkpoint(self, meta: CheckpointMetaData, state: bytes) -> Future[None] | None:
        """Save it; the future is done when it is durable, or has the CheckpointStorageError."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, f"{self._name}-checkpoints")
        return self._thread.submit(self._save, meta.id, state)

    def _save(self, checkpoint_id: int, state: bytes) -> None:
        try:
            self._storage.save(checkpoint_id, {self._name: state})
        except Exception as error:
            _LOG.error("checkpoint %d of task %r failed: %s", checkpoint_id, self._name, error)
            self._on_failed(checkpoint_id, error)
            raise
        self._on_saved(checkpoint_id)

    def close(self) -> None:
        """End the thread, after what it was asked before."""
        if self._thread is not None:
            self._thread.shutdown(wait=True)


@runtime_checkable
class HearsOfTheEnd(Protocol):
    """A responder that has to know when its task gives no more answers."""

    def task_ended(self, failure: BaseException | None) -> None:
        """The task has ended, with this failure if there was one; on its thread."""
        ...


class _Coordinator(Protocol):
    def receive_acknowledge_message(
        self, task: str, checkpoint_id: int, state: bytes
    ) -> object: ...

    def receive_decline_message(
        self, task: str, checkpoint_id: int, error: BaseException
    ) -> object: ...

    def data_ended(self, task: str) -> Future[None] | None: ...

    def task_ended(self, task: str, failure: BaseException | None) -> None: ...


class CoordinatorResponder:
    """One task's line to the coordinator of all."""

    def __init__(self, coordinator: _Coordinator, name: str) -> None:
        self._coordinator = coordinator
        self._name = name

    def acknowledge_checkpoint(self, meta: CheckpointMetaData, state: bytes) -> None:
        """Hand the state over; it is kept when all tasks have given theirs."""
        self._coordinator.receive_acknowledge_message(self._name, meta.id, state)

    def decline_checkpoint(self, meta: CheckpointMetaData, error: BaseException) -> None:
        """Say why not."""
        self._coordinator.receive_decline_message(self._name, meta.id, error)

    def data_ended(self) -> Future[None] | None:
        """Say so; it may want a checkpoint of the end of all."""
        return self._coordinator.data_ended(self._name)

    def task_ended(self, failure: BaseException | None) -> None:
        """Say so: checkpoints that wait for this task's state are over."""
        self._coordinator.task_ended(self._name, failure)

    def close(self) -> None:
        """The coordinator outlives its tasks."""


def load_state_of(name: str, storage: CheckpointStorage) -> tuple[int, bytes] | None:
    """Id and state of the newest checkpoint there; IncompatibleStateError if not of this task."""
    found = storage.load_latest()
    if found is None:
        return None
    if set(found.state) != {name}:
        raise IncompatibleStateError(
            f"checkpoint {found.checkpoint_id} holds the state of {sorted(found.state)}, and this "
            f"task is {name!r}: give it that name, or another directory",
            setting="name",
            was=sorted(found.state),
            now=name,
        )
    return found.checkpoint_id, found.state[name]
