"""Elements of one input: watermarks, statuses, barriers, interruptible timers (A.55, A.64-67)."""

from collections.abc import Iterator
from typing import Any

import pytest

from flinkish.common.elements import (
    CancelCheckpointMarker,
    CheckpointBarrier,
    LatencyMarker,
    StreamRecord,
    Watermark,
    WatermarkStatus,
)
from flinkish.common.errors import (
    ArgumentTypeError,
    CheckpointError,
    UnsupportedOperationError,
)
from flinkish.common.output_tag import OutputTag
from flinkish.functions import KeyedProcessFunction, ProcessFunction, RuntimeContext
from flinkish.mailbox import MailboxProcessor
from flinkish.operators import KeyedProcessOperator, OperatorEnvironment, ProcessOperator
from flinkish.task import (
    CheckpointMetaData,
    ElementChannel,
    MailboxWatermarkProcessor,
    OneInputStreamTask,
    StopMode,
    TaskState,
)
from tests.task.jobs import Tracing, filled, running
from tests.waiting import PATIENCE, until

IDLE, ACTIVE = WatermarkStatus.IDLE, WatermarkStatus.ACTIVE
END = Watermark.MAX_WATERMARK


def output_of(*elements: Any) -> list[Any]:
    out = ElementChannel()
    OneInputStreamTask(Tracing(), filled(*elements).input, out.output).invoke()
    return out.drain()


def test_elements_pass_in_order() -> None:
    marker = LatencyMarker(5, "source", 0)
    elements = [
        StreamRecord(1, 1),
        Watermark(1),
        marker,
        StreamRecord(2, 2),
        CheckpointBarrier(1, 0),
    ]
    assert output_of(*elements) == [*elements, END]


def test_watermarks_only_rise() -> None:
    assert output_of(Watermark(5), Watermark(4), Watermark(5), Watermark(6)) == [
        Watermark(5),
        Watermark(6),
        END,
    ]


def test_event_time_ends_once() -> None:
    """A.45: the input's own end of time is not repeated."""
    assert output_of(END) == [END]


def test_an_idle_input_has_no_say_in_the_watermark() -> None:
    assert output_of(IDLE, IDLE, Watermark(1), ACTIVE, Watermark(2), ACTIVE) == [
        IDLE,
        ACTIVE,
        Watermark(2),
        END,
    ]


def test_barriers_only_rise() -> None:
    """F.14: an older barrier, or a second one of an id, is dropped."""
    operator, out = Tracing(), ElementChannel()
    barriers = [CheckpointBarrier(number, 0) for number in (2, 1, 2, 3)]
    OneInputStreamTask(operator, filled(*barriers).input, out.output).invoke()
    assert out.drain() == [barriers[0], barriers[3], END]
    assert [one for one in operator.events if "snapshot" in one] == ["snapshot 2", "snapshot 3"]


def test_a_cancellation_marker_declines() -> None:
    """F.16: later barriers of its id are ignored."""
    declined = []

    class Responder:
        def acknowledge_checkpoint(self, meta: object, state: bytes) -> None:
            raise AssertionError

        def decline_checkpoint(self, meta: CheckpointMetaData, error: CheckpointError) -> None:
            declined.append((meta.id, error.reason))

        def close(self) -> None: ...

    out = ElementChannel()
    elements = [CancelCheckpointMarker(4), CheckpointBarrier(4, 0), CancelCheckpointMarker(4)]
    task = OneInputStreamTask(Tracing(), filled(*elements).input, out.output)
    task.set_checkpoint_responder(Responder())
    task.invoke()
    assert out.drain() == [CancelCheckpointMarker(4), END]
    assert declined[0] == (4, "CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER")


def test_the_barrier_goes_out_before_the_snapshot() -> None:
    out = ElementChannel()

    class Looking(Tracing):
        def snapshot_state(self, checkpoint_id: int) -> bytes:
            seen.extend(out.drain())
            return super().snapshot_state(checkpoint_id)

    seen: list[Any] = []
    OneInputStreamTask(Looking(), filled(1, CheckpointBarrier(1, 0), 2).input, out.output).invoke()
    assert seen == [StreamRecord(1), CheckpointBarrier(1, 0)]


def test_a_batch_of_records_ends_when_there_is_mail() -> None:
    """A.55"""
    operator = Tracing()

    class Mailing(Tracing):
        def process_element(self, record: StreamRecord) -> None:
            super().process_element(record)
            if record.value == 2:
                task.mailbox_executor.execute(lambda: self.note("mail"))

    operator = Mailing()
    task = OneInputStreamTask(operator, filled(1, 2, 3).input, ElementChannel().output)
    task.invoke()
    assert operator.events[1:5] == ["element 1", "element 2", "mail", "element 3"]


def test_a_full_output_pushes_back() -> None:
    """No element is taken while there is no room; checkpoints are."""
    operator, out = Tracing(), ElementChannel(2)
    task = OneInputStreamTask(operator, filled(*range(9)).input, out.output)
    with running(task) as (run,):
        until(lambda: task._processor.mailbox.awaits_mail)
        assert task.trigger_checkpoint_async(CheckpointMetaData(1, 0)).result(PATIENCE) is True
        assert operator.count == 2
        while run.thread.is_alive():
            out.drain()
        assert run.join() is None
    assert operator.count == 9
    assert task.state is TaskState.FINISHED


def test_side_outputs_reach_the_output_or_are_refused() -> None:
    tag = OutputTag("side")

    class Sides(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
            yield tag, value

    class Bare:
        emit = staticmethod(lambda element: None)
        is_available = staticmethod(lambda: True)
        get_available_future = staticmethod(lambda: None)

    out = ElementChannel()
    OneInputStreamTask(ProcessOperator(Sides()), filled(1).input, out.output).invoke()
    assert out.side_outputs == {tag: [StreamRecord(1)]}
    with pytest.raises(UnsupportedOperationError, match=r"method emit_side\(tag, record\)"):
        OneInputStreamTask(ProcessOperator(Sides()), filled(1).input, Bare()).invoke()
    with pytest.raises(UnsupportedOperationError, match="a task without an output"):
        OneInputStreamTask(Tracing(), filled(1).input).invoke()


def test_bad_parts_are_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="a task runs an operator"):
        OneInputStreamTask(object(), filled().input)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="has no poll_next"):
        OneInputStreamTask(Tracing(), [])  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="has no try_advance_watermark"):
        OneInputStreamTask(Tracing(), filled().input, interruptible_timers=True)

    class Wrong:
        poll_next = staticmethod(lambda: None)
        get_available_future = staticmethod(lambda: None)

    with pytest.raises(ArgumentTypeError, match="a StreamElement or an InputStatus, not None"):
        OneInputStreamTask(Tracing(), Wrong()).invoke()


# --- interruptible timers


class Timers:
    """Timers at 1, 2, 3 …; each may put mail."""

    def __init__(self, *due: int) -> None:
        self.due = list(due)
        self.fired: list[int] = []
        self.on_fire: Any = None

    def try_advance_watermark(self, watermark: int, should_stop: Any) -> bool:
        while self.due and self.due[0] <= watermark:
            self.fired.append(self.due.pop(0))
            if self.on_fire is not None:
                self.on_fire(self.fired[-1])
            if should_stop():
                return False
        return True

    def next_event_time_timer(self) -> int | None:
        return self.due[0] if self.due else None


def step(processor: MailboxProcessor) -> None:
    """Run one mail."""
    mail = processor.mailbox.try_take()
    assert mail is not None
    mail.run()


def test_watermarks_that_come_meanwhile_are_one() -> None:
    """A.64: 4, 5 gives 5; one continuation; at least one timer a step."""
    processor = MailboxProcessor(lambda controller: None)
    executor = processor.get_mailbox_executor(0)
    timers, emitted = Timers(1, 2, 3, 5), []
    watermarks = MailboxWatermarkProcessor(timers, emitted.append, executor)
    executor.execute(lambda: None, "keeps it from going on")
    watermarks.process_watermark(Watermark(4))
    assert timers.fired == [1]
    watermarks.process_watermark(Watermark(5))
    assert timers.fired == [1]
    assert processor.mailbox.size() == 2
    # A.65: the continuation is of no operator.
    assert executor.try_yield()
    assert not executor.try_yield()
    assert emitted == []
    step(processor)
    assert timers.fired == [1, 2, 3, 5]
    assert emitted == [Watermark(5)]
    assert processor.mailbox.size() == 0


@pytest.mark.parametrize("intermediate", [True, False])
def test_an_interruption_may_say_how_far_it_got(intermediate: bool) -> None:
    """A.66: never less than what was emitted, and nothing when it is off."""
    processor = MailboxProcessor(lambda controller: None)
    executor = processor.get_mailbox_executor(0)
    timers, emitted = Timers(3, 3, 9), []
    watermarks = MailboxWatermarkProcessor(
        timers, emitted.append, executor, intermediate=intermediate
    )
    watermarks.process_watermark(Watermark(2))
    executor.execute(lambda: None)
    watermarks.process_watermark(Watermark(10))
    assert emitted == [Watermark(2)]
    executor.execute(lambda: None)
    step(processor)
    step(processor)
    assert timers.fired == [3, 3]
    assert emitted == [Watermark(2), *([Watermark(8)] if intermediate else [])]
    step(processor)
    step(processor)
    assert emitted[-1] == Watermark(10)
    assert watermarks.finish() is None
    assert len(emitted) == 2 + intermediate


class Ring(KeyedProcessFunction):
    """Sets ten timers for each element and yields what fires."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.mail: Any = lambda: None

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        for number in range(10):
            ctx.timer_service().register_event_time_timer(100 + number)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[int]:
        if timestamp == 104:
            self.mail()
        yield timestamp


def test_a_stop_fires_what_the_last_watermark_began_and_no_more() -> None:
    """A.45, A.64: the mail that would go on finds nothing left to do."""
    channel, out, function = filled("a", Watermark(105), end=False), ElementChannel(), Ring()
    channel.output.end_of_data(StopMode.NO_DRAIN)
    task = OneInputStreamTask(
        KeyedProcessOperator(function),
        channel.input,
        out.output,
        environment=OperatorEnvironment(key_selector=lambda value: value),
        interruptible_timers=True,
    )

    def mail() -> None:
        task.mailbox_executor.execute(lambda: None)

    function.open = lambda context: setattr(function, "mail", mail)  # type: ignore[method-assign]
    task.invoke()
    elements = out.drain()
    assert [one.value for one in elements[:-1]] == [100, 101, 102, 103, 104, 105]
    assert elements[-1] == Watermark(105)


def test_a_checkpoint_goes_between_two_timers_of_a_watermark() -> None:
    """A.64, A.67: also a record; the rest fires afterwards, and before the end of the data."""
    out = ElementChannel()
    function = Ring()
    task = OneInputStreamTask(
        KeyedProcessOperator(function),
        filled("a", Watermark(200), StreamRecord("b", 150), end=True).input,
        out.output,
        environment=OperatorEnvironment(key_selector=lambda value: value),
        interruptible_timers=True,
    )

    def trigger() -> None:
        task.trigger_checkpoint_async(CheckpointMetaData(1, 0))

    function.open = lambda context: setattr(function, "mail", trigger)  # type: ignore[method-assign]
    task.invoke()
    elements = out.drain()
    barrier = elements.index(CheckpointBarrier(1, 0))
    fired = [one.value for one in elements if isinstance(one, StreamRecord)]
    assert [one.value for one in elements[:barrier]] == [100, 101, 102, 103, 104]
    assert sorted(fired) == sorted([*range(100, 110)] * 2)
    assert elements[-1] == END
