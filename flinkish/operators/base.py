"""The base of all operators: life cycle, input, output."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, runtime_checkable

from flinkish.common.elements import StreamElement, StreamRecord, Watermark
from flinkish.common.errors import IllegalStateError
from flinkish.common.output_tag import OutputTag
from flinkish.functions.source import CheckpointListener
from flinkish.mailbox import MailboxExecutor
from flinkish.metrics import MetricGroup
from flinkish.time.key_groups import KeyType
from flinkish.time.processing_time_service import ProcessingTimeService

__all__ = [
    "BatchOutput",
    "LifeCycle",
    "OperatorEnvironment",
    "Output",
    "StreamOperator",
    "SupportsSoftBackpressure",
]


@runtime_checkable
class Output(Protocol):
    """Where an operator's elements go."""

    def emit(self, element: StreamElement) -> None:
        """Take a record or a watermark of the main output."""

    def emit_side(self, tag: OutputTag, record: StreamRecord) -> None:
        """Take a record of a side output."""


@runtime_checkable
class BatchOutput(Output, Protocol):
    """An output that takes many values without a record for each."""

    def emit_batch(
        self, tag: OutputTag | None, values: list[Any], timestamps: list[int | None]
    ) -> None:
        """Take values of a side output, or of the main output for None, with timestamps (ms)."""


@dataclass(kw_only=True)
class OperatorEnvironment:
    """The surroundings of an operator.

    ``key_selector`` says the key of a value (None: the input has no keys), ``key_selector2`` that
    of a value of the second input, if there is one, ``key_type`` as which Java type keys are
    hashed.  Without ``processing_time_service`` an operator has the time but no timers on it.
    ``is_cancelled`` is asked after each timer that fires (Flink: InternalTimerServiceImpl).

    Where there is a mailbox, in a task and in a harness, ``mailbox_executor`` hands work to the
    operator's thread and lets it yield, processing-time timers call in on that thread, and
    ``fail_externally(error)`` fails the task from any thread; elsewhere both are None.
    """

    task_name: str = "operator"
    index: int = 0
    parallelism: int = 1
    max_parallelism: int = 128
    attempt: int = 0
    metrics: MetricGroup = field(default_factory=MetricGroup)
    job_parameters: Mapping[str, str] = field(default_factory=dict)
    processing_time_service: ProcessingTimeService | None = None
    key_selector: Callable[[Any], Any] | None = None
    key_selector2: Callable[[Any], Any] | None = None
    key_type: KeyType = None
    is_cancelled: Callable[[], bool] | None = None
    mailbox_executor: MailboxExecutor | None = None
    fail_externally: Callable[[BaseException], object] | None = None

    def current_processing_time(self) -> int:
        """Time in ms, of the service or of the system."""
        service = self.processing_time_service
        return (
            time.time_ns() // 1_000_000
            if service is None
            else service.get_current_processing_time()
        )

    def context_settings(self) -> dict[str, Any]:
        """The arguments that a runtime context takes from the surroundings."""
        return {
            "task_name": self.task_name,
            "index": self.index,
            "parallelism": self.parallelism,
            "max_parallelism": self.max_parallelism,
            "attempt": self.attempt,
            "metrics": self.metrics,
            "job_parameters": self.job_parameters,
        }


@runtime_checkable
class SupportsSoftBackpressure(Protocol):
    """An operator that may be full: its task then waits before it passes on the next record.

    As in Flink's SupportsSoftBackpressure.  It still takes what comes: elements that were under
    way, and those of a restore.
    """

    def is_available(self) -> bool:
        """Whether it wants another record."""
        ...

    def get_available_future(self) -> Future[None]:
        """Done as soon as it does; done already if it does."""
        ...


class LifeCycle(Enum):
    """Where an operator is in its life; each step is taken once, in this order."""

    CREATED = "created"
    SET_UP = "set up"
    INITIALIZED = "initialized"
    OPEN = "open"
    FINISHED = "finished"
    CLOSED = "closed"


_ORDER = list(LifeCycle)


class StreamOperator(ABC):
    """Takes elements, gives elements.

    Life cycle: ``setup``, ``initialize_state``, ``open``; elements, watermarks, snapshots;
    ``finish``, ``close``.  ``close`` may come at any time and more than once.  Calls at another
    moment are an IllegalStateError that says which step is missing.

    Threading: one thread at a time; timers of the environment's service call in on it, too.
    """

    output: Output
    environment: OperatorEnvironment

    def __init__(self) -> None:
        self.life = LifeCycle.CREATED

    def _step(self, to: LifeCycle, what: str) -> None:
        """Take the step to ``to`` if it is the next one."""
        before = _ORDER[_ORDER.index(to) - 1]
        if self.life is not before:
            raise IllegalStateError(
                f"{what} of {type(self).__name__} needs an operator that is {before.value}, and "
                f"this one is {self.life.value}"
            )
        self.life = to

    def _require_open(self, what: str) -> None:
        if self.life is not LifeCycle.OPEN:
            raise IllegalStateError(
                f"{what} of {type(self).__name__} needs an operator that is open, and this one "
                f"is {self.life.value}"
            )

    def _require_state(self, what: str) -> None:
        """Finished is as good as open: a checkpoint may be taken after the end of the data."""
        if self.life is not LifeCycle.FINISHED:
            self._require_open(what)

    def setup(self, output: Output, environment: OperatorEnvironment | None = None) -> None:
        """Say where elements go and what surrounds the operator."""
        self._step(LifeCycle.SET_UP, "setup")
        self.output = output
        self.environment = environment or OperatorEnvironment()

    def initialize_state(self, state: bytes | None = None) -> None:
        """Start from a snapshot, or empty."""
        self._step(LifeCycle.INITIALIZED, "initialize_state")

    def restore_state(self, state: bytes) -> None:
        """Start from a snapshot."""
        self.initialize_state(state)

    def open(self) -> None:
        """Get ready for the first element."""
        self._step(LifeCycle.OPEN, "open")

    @abstractmethod
    def process_element(self, record: StreamRecord) -> None:
        """Take a record."""

    def process_watermark(self, watermark: Watermark) -> None:
        """Take a watermark; it is passed on."""
        self._require_open("process_watermark")
        self.output.emit(watermark)

    def snapshot_state(self, checkpoint_id: int) -> bytes:
        """Everything that a restart needs, watermark excepted; ``initialize_state`` takes it."""
        self._require_state("snapshot_state")
        return b""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Checkpoint ``checkpoint_id`` is kept; told to a function that is a CheckpointListener."""
        function = getattr(self, "function", None)
        if isinstance(function, CheckpointListener):
            function.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Checkpoint ``checkpoint_id`` will never be complete; told likewise."""
        function = getattr(self, "function", None)
        if isinstance(function, CheckpointListener):
            function.notify_checkpoint_aborted(checkpoint_id)

    def end_input(self) -> None:
        """The last element has been taken; there may still be timers."""
        self._require_open("end_input")

    def finish(self) -> None:
        """Give what is still held back; nothing comes after it."""
        self._step(LifeCycle.FINISHED, "finish")

    def close(self) -> None:
        """Give everything back, after a failure too."""
        self.life = LifeCycle.CLOSED
