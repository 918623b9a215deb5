"""One operator under a test's control: elements in by hand, output in a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Generic, TypeVar

from flinkish.common.durations import DurationLike
from flinkish.common.elements import StreamElement, StreamRecord, Watermark
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError, IllegalStateError
from flinkish.common.output_tag import OutputTag
from flinkish.functions.base import KeySelector
from flinkish.mailbox import MailboxProcessor, MailboxState
from flinkish.metrics import MetricGroup
from flinkish.operators.base import LifeCycle, OperatorEnvironment, StreamOperator
from flinkish.operators.keyed import KeyedOperator
from flinkish.operators.snapshot import OperatorSnapshot
from flinkish.testing.processing_time import TestProcessingTimeService
from flinkish.time.key_groups import (
    KeyGroupRange,
    KeyType,
    compute_key_group_range_for_operator_index,
)

__all__ = [
    "KeyedOneInputStreamOperatorTestHarness",
    "OneInputStreamOperatorTestHarness",
    "record_of",
    "watermark_of",
]

O = TypeVar("O", bound=StreamOperator)  # noqa: E741 - an operator
H = TypeVar("H", bound="OneInputStreamOperatorTestHarness[Any]")


class _Collected:
    """An Output that keeps everything."""

    def __init__(self) -> None:
        self.elements: list[StreamElement] = []
        self.sides: dict[OutputTag, list[StreamRecord]] = {}

    def emit(self, element: StreamElement) -> None:
        self.elements.append(element)

    def emit_side(self, tag: OutputTag, record: StreamRecord) -> None:
        self.sides.setdefault(tag, []).append(record)


def record_of(value: Any, timestamp: int | None) -> StreamRecord:
    """A value with its time in ms as a record; a StreamRecord, which has its own, as it is."""
    if not isinstance(value, StreamRecord):
        return StreamRecord(value, timestamp)
    if timestamp is not None:
        raise IllegalArgumentError(
            f"{value!r} brings its own timestamp; give a value, or no timestamp"
        )
    return value


def watermark_of(watermark: int | Watermark) -> Watermark:
    """A time in ms as a watermark."""
    return watermark if isinstance(watermark, Watermark) else Watermark(watermark)


class OneInputStreamOperatorTestHarness(Generic[O]):
    """Runs an operator with one input.

    Life cycle: maybe ``initialize_state`` with a snapshot, ``open``, elements and times,
    ``close``.  As a context manager it closes itself.  Processing time starts at 0 and moves by
    hand; there is no thread.

    ``mailbox`` belongs to the thread that made the harness; threads of an operator put mails in.
    They run where the operator yields, which waits for them as in a task, and in ``run_mailbox``.
    ``failure`` is the error that a task would have failed with: that of such a mail, or the first
    that the operator reported from elsewhere.  What a method of the operator raises, its caller
    gets.
    """

    __test__ = False

    def __init__(
        self,
        operator: O,
        *,
        max_parallelism: int = 128,
        num_subtasks: int = 1,
        subtask_index: int = 0,
        job_parameters: Mapping[str, str] | None = None,
        is_cancelled: Callable[[], bool] | None = None,
        key_selector: Callable[[Any], Any] | None = None,
        key_selector2: Callable[[Any], Any] | None = None,
        key_type: KeyType = None,
    ) -> None:
        if not isinstance(operator, StreamOperator):
            raise ArgumentTypeError(
                f"a harness runs an operator, not {operator!r}; a function needs one around it: "
                "KeyedProcessOperator(function), or ProcessFunctionTestHarnesses"
            )
        self.operator = operator
        self.processing_time_service = TestProcessingTimeService()
        self.processing_time_service.set_current_time(0)
        self.metrics = MetricGroup()
        self._output = _Collected()
        self._initialized = False
        self.failure: BaseException | None = None
        self._processor = MailboxProcessor(lambda _: None)
        self.mailbox = self._processor.mailbox
        operator.setup(
            self._output,
            OperatorEnvironment(
                task_name=type(operator).__name__,
                index=subtask_index,
                parallelism=num_subtasks,
                max_parallelism=max_parallelism,
                metrics=self.metrics,
                job_parameters=job_parameters or {},
                processing_time_service=self.processing_time_service,
                key_selector=key_selector,
                key_selector2=key_selector2,
                key_type=key_type,
                is_cancelled=is_cancelled,
                mailbox_executor=self._processor.get_mailbox_executor(0),
                fail_externally=self._fail,
            ),
        )

    # --- life

    def initialize_state(self, snapshot: bytes | None = None) -> None:
        """Start from what ``snapshot`` of a harness gave; before ``open``, and once."""
        if self._initialized:
            raise IllegalStateError(
                "the operator has already been initialized; give the snapshot before open()"
            )
        self._initialized = True
        self.operator.initialize_state(snapshot)

    def open(self) -> None:
        """Open the operator, with empty state if it was not initialized."""
        if not self._initialized:
            self.initialize_state()
        self.operator.open()

    def end_input(self) -> None:
        """Say that no element follows."""
        self.operator.end_input()

    def close(self) -> None:
        """Stop the clock, finish and close the operator, drop its mails; again, nothing happens."""
        if self.mailbox.state is MailboxState.CLOSED:
            return
        self.processing_time_service.shutdown()
        try:
            if self.operator.life is LifeCycle.OPEN:
                self.operator.finish()
        finally:
            self._processor.close()
            self.operator.close()

    def __enter__(self: H) -> H:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # --- input

    def process_element(self, value: Any, timestamp: int | None = None) -> None:
        """Give the operator a value with its time in ms, or a StreamRecord."""
        self.operator.process_element(record_of(value, timestamp))

    def process_elements(self, elements: Iterable[Any], timestamp: int | None = None) -> None:
        """Give the operator StreamRecords, or values that all have the one timestamp."""
        for element in elements:
            if isinstance(element, StreamRecord):
                self.operator.process_element(element)
            else:
                self.process_element(element, timestamp)

    def process_watermark(self, watermark: int | Watermark) -> None:
        """Give the operator a watermark, in ms."""
        self.operator.process_watermark(watermark_of(watermark))

    # --- mails

    def run_mailbox(self) -> None:
        """Run the mails that are there, and those they put, without waiting for any.

        The first that raises ends it, and its error is ``failure`` unless there is one; a task
        would run none after it.
        """
        while self.failure is None:
            mail = self.mailbox.try_take()
            if mail is None:
                return
            try:
                mail.run()
            except Exception as error:
                self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if self.failure is None:
            self.failure = error

    # --- processing time

    def set_processing_time(self, timestamp: int) -> None:
        """Set the clock (ms) and run what is due; time to live follows."""
        self.processing_time_service.set_current_time(timestamp)

    def advance_time(self, delta: DurationLike) -> None:
        """Set the clock on and run what is due."""
        self.processing_time_service.advance(delta)

    def get_processing_time(self) -> int:
        """The time of the clock, in ms."""
        return self.processing_time_service.get_current_processing_time()

    # --- output

    def get_output(self) -> list[StreamElement]:
        """Records and watermarks of the main output so far: one list, which grows."""
        return self._output.elements

    def extract_output_stream_records(self) -> list[StreamRecord]:
        """The records among them."""
        return [one for one in self._output.elements if isinstance(one, StreamRecord)]

    def extract_output_values(self) -> list[Any]:
        """The values of the records."""
        return [record.value for record in self.extract_output_stream_records()]

    def get_side_output(self, tag: OutputTag) -> list[StreamRecord] | None:
        """Records of a side output; None if it was never used."""
        return self._output.sides.get(tag)

    def get_metric(self, name: str) -> Any:
        """The value of a metric; ``"group.name"`` for one in a group."""
        found = self.metrics.snapshot()
        if name not in found:
            raise IllegalArgumentError(
                f"there is no metric {name!r}; there are {', '.join(sorted(found)) or 'none'}"
            )
        return found[name]

    # --- snapshots

    def snapshot(self, checkpoint_id: int = 0, timestamp: int = 0) -> bytes:
        """State and timers, without the watermark, as bytes that another harness starts from."""
        return self.operator.snapshot_state(checkpoint_id)

    def notify_of_completed_checkpoint(self, checkpoint_id: int) -> None:
        """Tell the operator that a checkpoint is kept."""
        self.operator.notify_checkpoint_complete(checkpoint_id)


class KeyedOneInputStreamOperatorTestHarness(OneInputStreamOperatorTestHarness[O]):
    """Runs a keyed operator, as one subtask of ``num_subtasks``.

    ``key_selector`` is a function of a value or a KeySelector; ``key_type`` as for
    ``assign_to_key_group``.
    """

    operator: Any

    def __init__(
        self,
        operator: O,
        key_selector: Callable[[Any], Any] | KeySelector,
        key_type: KeyType = None,
        max_parallelism: int = 128,
        num_subtasks: int = 1,
        subtask_index: int = 0,
        *,
        key_selector2: Callable[[Any], Any] | KeySelector | None = None,
        job_parameters: Mapping[str, str] | None = None,
        is_cancelled: Callable[[], bool] | None = None,
    ) -> None:
        super().__init__(
            operator,
            max_parallelism=max_parallelism,
            num_subtasks=num_subtasks,
            subtask_index=subtask_index,
            job_parameters=job_parameters,
            is_cancelled=is_cancelled,
            key_selector=_selector(key_selector, "key_selector"),
            key_selector2=None
            if key_selector2 is None
            else _selector(key_selector2, "key_selector2"),
            key_type=key_type,
        )

    # --- what is held

    def num_event_time_timers(self) -> int:
        """Event-time timers of all keys."""
        return self._keyed().num_event_time_timers()

    def num_processing_time_timers(self) -> int:
        """Processing-time timers of all keys."""
        return self._keyed().num_processing_time_timers()

    def num_keyed_state_entries(self) -> int:
        """Keys with something in a state, summed over all states."""
        return self._keyed().num_keyed_state_entries()

    def _keyed(self) -> KeyedOperator:
        operator: KeyedOperator = self.operator
        return operator

    # --- snapshots of several subtasks

    @staticmethod
    def repackage_state(*snapshots: bytes) -> bytes:
        """One snapshot of those of all subtasks of a checkpoint."""
        if not snapshots:
            raise IllegalArgumentError("there is no snapshot to repackage")
        return OperatorSnapshot.join(map(OperatorSnapshot.from_bytes, snapshots)).to_bytes()

    @staticmethod
    def repartition_operator_state(
        snapshot: bytes,
        max_parallelism: int,
        old_parallelism: int,
        new_parallelism: int,
        subtask_index: int,
    ) -> bytes:
        """The part of a repackaged snapshot that one subtask of ``new_parallelism`` starts from."""
        whole = OperatorSnapshot.from_bytes(snapshot)
        whole.check_setting("max_parallelism", max_parallelism)
        compute_key_group_range_for_operator_index(max_parallelism, old_parallelism, 0)
        mine: KeyGroupRange = compute_key_group_range_for_operator_index(
            max_parallelism, new_parallelism, subtask_index
        )
        return whole.keep(mine).to_bytes()


def _selector(given: Callable[[Any], Any] | KeySelector, what: str) -> Callable[[Any], Any]:
    selector = given.get_key if isinstance(given, KeySelector) else given
    if not callable(selector):
        raise ArgumentTypeError(
            f"{what} must be a function of a value or a KeySelector, not {given!r}"
        )
    return selector
