"""A coordinator between tasks, a clock and a storage that do what a test tells them."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from flinkish.task import (
    CheckpointCoordinator,
    CheckpointMetaData,
    CompletedCheckpoint,
    FileSystemCheckpointStorage,
    TaskState,
)
from flinkish.testing import TestProcessingTimeService


class Task:
    """Writes down what it is told; answers when told to."""

    def __init__(self) -> None:
        self.state = TaskState.RUNNING
        self.triggered: list[int] = []
        self.told: list[Any] = []
        self.initial: Any = None
        self.failure: BaseException | None = None

    @property
    def is_running(self) -> bool:
        return self.state is TaskState.RUNNING

    def set_checkpoint_responder(self, responder: Any) -> None:
        self.responder = responder

    def set_initial_state(self, checkpoint_id: int, state: bytes) -> None:
        self.initial = (checkpoint_id, state)

    def trigger_checkpoint_async(self, meta: CheckpointMetaData, options: object) -> None:
        self.triggered.append(meta.id)

    def notify_checkpoint_complete_async(self, checkpoint_id: int) -> None:
        self.told.append(checkpoint_id)

    def notify_checkpoint_aborted_async(self, checkpoint_id: int, latest: int) -> None:
        self.told.append((checkpoint_id, latest))

    def report_throwable(self, error: BaseException) -> None:
        self.failure = error

    def acknowledge(self, checkpoint_id: int, state: bytes = b"state") -> None:
        self.responder.acknowledge_checkpoint(CheckpointMetaData(checkpoint_id, 0), state)

    def decline(self, checkpoint_id: int, error: BaseException) -> None:
        self.responder.decline_checkpoint(CheckpointMetaData(checkpoint_id, 0), error)


class Inline(Executor):
    """Runs at once, or when told to."""

    def __init__(self) -> None:
        self.held: list[Callable[[], object]] | None = None

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self.held is None:
            fn(*args)
        else:
            self.held.append(lambda: fn(*args))
        return Future()


class Bench:
    """A coordinator of two tasks, `a` triggered and `b` reached by barriers."""

    def __init__(self, path: Path, **settings: Any) -> None:
        self.storage = FileSystemCheckpointStorage(path, retain=100)
        self.clock = TestProcessingTimeService()
        self.clock.set_current_time(1_000)
        self.a, self.b = Task(), Task()
        self.io = Inline()
        self.coordinator = CheckpointCoordinator(
            {"a": self.a, "b": self.b},  # type: ignore[dict-item]
            self.storage,
            triggered=["a"],
            processing_time_service=self.clock,
            io_executor=self.io,
            **settings,
        )

    def trigger(self, **how: Any) -> Future[CompletedCheckpoint]:
        return self.coordinator.trigger_checkpoint(**how)

    def complete(self, checkpoint_id: int) -> None:
        self.a.acknowledge(checkpoint_id)
        self.b.acknowledge(checkpoint_id)
