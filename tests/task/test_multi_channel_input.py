"""Several channels as one input of a task (Flink: F.14 - F.17)."""

import pickle
import threading
from typing import Any

import pytest

from flinkish.common.elements import (
    CancelCheckpointMarker,
    CheckpointBarrier,
    LatencyMarker,
    StreamElement,
    StreamRecord,
    Watermark,
    WatermarkStatus,
)
from flinkish.common.errors import (
    ArgumentTypeError,
    CheckpointError,
    CorruptStateError,
    IllegalArgumentError,
    IncompatibleStateError,
    SerializationError,
)
from flinkish.task import (
    CheckpointMetaData,
    ElementChannel,
    InputStatus,
    MultiChannelInput,
    OneInputStreamTask,
    StopMode,
)
from flinkish.task.in_flight import TaskSnapshot
from flinkish.testing import TestProcessingTimeService
from tests.task.jobs import Output, Tracing, await_true, running

NOTHING = InputStatus.NOTHING_AVAILABLE
END_OF_DATA, END_OF_INPUT = InputStatus.END_OF_DATA, InputStatus.END_OF_INPUT


class Rig:
    """Channels and the input that reads them."""

    def __init__(self, channels: int = 2, **options: Any) -> None:
        self.channels = [ElementChannel() for _ in range(channels)]
        self.input = MultiChannelInput([channel.input for channel in self.channels], **options)

    def put(self, channel: int, *elements: Any) -> None:
        for element in elements:
            if not isinstance(element, StreamElement):
                element = StreamRecord(element)
            self.channels[channel].output.emit(element)

    def polled(self) -> list[Any]:
        """What there is to poll, records as their values, without the status behind it."""
        found: list[Any] = []
        while True:
            element = self.input.poll_next()
            if element in (NOTHING, END_OF_INPUT):
                return found
            found.append(element.value if isinstance(element, StreamRecord) else element)


class Responder:
    """Keeps what a task says of its checkpoints."""

    def __init__(self) -> None:
        self.states: dict[int, TaskSnapshot] = {}
        self.declined: list[tuple[int, str | None]] = []

    def acknowledge_checkpoint(self, meta: CheckpointMetaData, state: bytes) -> None:
        self.states[meta.id] = TaskSnapshot.from_bytes(state)

    def decline_checkpoint(self, meta: CheckpointMetaData, error: BaseException) -> None:
        assert isinstance(error, CheckpointError)
        self.declined.append((meta.id, error.reason))

    def close(self) -> None: ...


class Joined(Rig):
    """A task that reads the channels."""

    def __init__(
        self, channels: int = 2, output: Any = None, state: bytes | None = None, **options: Any
    ) -> None:
        super().__init__(channels)
        self.output = Output() if output is None else output
        self.operator, self.responder = Tracing(), Responder()
        self.task = OneInputStreamTask(self.operator, self.input, self.output, **options)
        self.task.set_checkpoint_responder(self.responder)
        if state is not None:
            self.task.set_initial_state(1, state)

    def settle(self) -> None:
        """Wait until the task has nothing to do."""
        await_true(lambda: self.task._processor.mailbox.awaits_mail)

    def values(self) -> list[Any]:
        return [one.value for one in self.output.elements if isinstance(one, StreamRecord)]


def elements(snapshot: TaskSnapshot) -> list[list[Any]]:
    return [
        [one.value if isinstance(one, StreamRecord) else one for one in channel]
        for channel in snapshot.elements()
    ]


# --- reading


def test_channels_have_turns_and_each_keeps_its_order() -> None:
    rig = Rig(3)
    for channel in range(3):
        rig.put(channel, *(f"{channel}-{number}" for number in range(200)))
    found = rig.polled()
    assert len(found) == 600
    for channel in range(3):
        own = [value for value in found if value.startswith(f"{channel}-")]
        assert own == [f"{channel}-{number}" for number in range(200)]
    assert {value[0] for value in found[:200]} == {"0", "1", "2"}  # nobody waits for another's end


def test_what_is_available_later_is_announced_once_it_is() -> None:
    rig = Rig()
    assert rig.input.get_available_future().done()  # not looked at yet
    assert rig.input.poll_next() is NOTHING
    available = rig.input.get_available_future()
    assert not available.done()
    assert rig.input.get_available_future() is available
    rig.put(1, "b")
    assert available.done()
    assert rig.polled() == ["b"]
    rig.put(0, "a")
    assert rig.input.get_available_future().done()
    assert rig.polled() == ["a"]


def test_watermarks_statuses_and_latency_markers() -> None:
    rig = Rig()
    marker = LatencyMarker(1, "source", 0)
    rig.put(0, Watermark(5), marker, 1)
    rig.put(1, Watermark(3), WatermarkStatus.IDLE)
    assert rig.polled() == [marker, 1, Watermark(3), Watermark(5)]


def test_data_end_when_those_of_all_channels_have() -> None:
    rig = Rig()
    rig.put(0, Watermark(5))
    rig.channels[1].output.end_of_data()
    assert rig.polled() == [Watermark(5)]  # the channel that has ended holds nobody back
    rig.channels[0].output.end_of_data()
    assert rig.polled() == [Watermark.MAX_WATERMARK, END_OF_DATA]
    assert rig.input.poll_next() is END_OF_INPUT
    assert rig.input.get_available_future().done()


def test_one_channel_that_was_stopped_stops_all() -> None:
    rig = Rig()
    rig.channels[1].output.end_of_data(StopMode.NO_DRAIN)
    rig.channels[0].output.end_of_data()
    assert rig.polled() == [InputStatus.STOPPED]


def test_bad_channels_are_refused() -> None:
    with pytest.raises(IllegalArgumentError, match="at least one channel"):
        MultiChannelInput([])
    with pytest.raises(ArgumentTypeError, match="poll_next"):
        MultiChannelInput([ElementChannel()])  # type: ignore[list-item]


# --- aligned checkpoints


def test_a_channel_whose_barrier_came_is_not_read_until_the_last_one_has() -> None:
    """F.14"""
    rig = Rig()
    barrier = CheckpointBarrier(1, 0)
    rig.put(0, "a", barrier, "behind")
    rig.put(1, "b")
    assert sorted(rig.polled()) == ["a", "b"]
    assert not rig.input.get_available_future().done()
    available = rig.input.get_available_future()
    rig.put(1, "before", barrier, "too")
    assert available.done()
    found = rig.polled()
    assert found[:2] == ["before", barrier]
    assert sorted(found[2:]) == ["behind", "too"]


def test_a_newer_barrier_frees_what_the_older_one_blocked() -> None:
    """F.14: the channel of the newer one stays blocked."""
    joined = Joined(3)
    with running(joined.task):
        joined.put(0, CheckpointBarrier(1, 0), "a")
        joined.settle()
        assert joined.values() == []
        joined.put(1, CheckpointBarrier(2, 0), "b")
        await_true(lambda: joined.values() == ["a"])
        joined.put(2, CheckpointBarrier(1, 0), "c")
        await_true(lambda: joined.values() == ["a", "c"])
        joined.put(2, CheckpointBarrier(2, 0))
        joined.put(0, CheckpointBarrier(2, 0))
        await_true(lambda: joined.values() == ["a", "c", "b"])
    assert joined.responder.declined == [(1, "CHECKPOINT_DECLINED_SUBSUMED")]
    assert joined.responder.states == {2: TaskSnapshot(b"2")}
    assert joined.output.elements[0] == CancelCheckpointMarker(1)


def test_a_marker_ends_the_alignment() -> None:
    """F.16"""
    joined = Joined()
    with running(joined.task):
        joined.put(0, CheckpointBarrier(1, 0), "a")
        joined.put(1, CancelCheckpointMarker(1), CheckpointBarrier(1, 0))
        await_true(lambda: joined.values() == ["a"])
    assert joined.responder.declined == [(1, "CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER")]
    assert joined.output.elements[0] == CancelCheckpointMarker(1)


@pytest.mark.parametrize("after_finish", [True, False])
def test_the_end_of_a_channel(after_finish: bool) -> None:
    """F.15"""
    rig = Rig(checkpoints_after_finish=after_finish)
    rig.put(0, CheckpointBarrier(1, 0), "a")
    rig.channels[1].output.end_of_data()
    found = rig.polled()
    assert found[1:] == ["a"]
    assert isinstance(found[0], CheckpointBarrier) is after_finish


# --- unaligned checkpoints


def unaligned(checkpoint_id: int = 1) -> CheckpointBarrier:
    return CheckpointBarrier(checkpoint_id, 0, unaligned=True)


def test_a_barrier_overtakes_what_is_queued_while_there_is_no_room() -> None:
    """F.17: the checkpoint is complete without a record being processed."""
    joined = Joined(output=Output(available=False))
    joined.put(0, "a", "b")
    joined.put(1, "c")
    with running(joined.task):
        joined.settle()  # one record each loop: back pressure
        seen = joined.operator.count
        joined.put(0, Watermark(3), unaligned(), "behind")
        joined.put(1, "d", unaligned(), "behind, too")
        await_true(lambda: joined.responder.states)
        assert joined.operator.count == seen == 1
        joined.output.room.set_result(None)
        await_true(lambda: joined.operator.count == 6)
    state = joined.responder.states[1]
    assert state.operator == b"1"
    assert elements(state) == [["b", Watermark(3)], ["c", "d"]]
    assert joined.output.elements[1] == unaligned()
    assert sorted(joined.values()) == ["a", "b", "behind", "behind, too", "c", "d"]


def test_what_comes_before_the_last_barrier_is_kept_and_processed() -> None:
    joined = Joined()
    with running(joined.task):
        joined.settle()
        joined.put(0, unaligned(), "behind")
        await_true(lambda: joined.values() == ["behind"])
        joined.put(1, "before", Watermark(1), CheckpointBarrier(0, 0))
        await_true(lambda: joined.values() == ["behind", "before"])
        assert joined.responder.states == {}
        joined.put(1, unaligned(), "behind, too")
        await_true(lambda: joined.responder.states)
    state = joined.responder.states[1]
    assert state.operator == b"0"
    assert elements(state) == [[], ["before", Watermark(1)]]


def test_an_unaligned_barrier_is_read_in_its_order_where_nothing_can_be_overtaken() -> None:
    """Before the task runs, and from channels of another kind."""
    rig = Rig()
    rig.put(0, "a", unaligned(), "b")
    found = rig.polled()
    assert found == ["a", unaligned(), "b"]
    collected = rig.input.in_flight(1)
    assert collected is not None
    assert not collected.done()
    rig.put(1, "c", unaligned(), "d")
    assert rig.polled() == ["c", "d"]
    assert [[pickle.loads(one).value for one in c] for c in collected.result(0)] == [[], ["c"]]
    assert rig.input.in_flight(2) is None


def test_barriers_that_are_queued_when_the_task_starts_overtake() -> None:
    joined = Joined(output=Output(available=False))
    joined.put(0, *range(10), unaligned())
    joined.put(1, unaligned())
    with running(joined.task):
        await_true(lambda: joined.responder.states)
    assert elements(joined.responder.states[1]) == [list(range(10)), []]


def test_an_overtaking_checkpoint_that_a_newer_one_ends_is_declined() -> None:
    joined = Joined()
    with running(joined.task):
        joined.settle()
        joined.put(0, unaligned(1))
        await_true(lambda: joined.operator.events[-1] == "snapshot 1")
        joined.put(0, unaligned(2))
        joined.put(1, unaligned(1), unaligned(2))
        await_true(lambda: 2 in joined.responder.states)
    assert joined.responder.declined == [(1, "CHECKPOINT_DECLINED_SUBSUMED")]
    assert list(joined.responder.states) == [2]


def test_an_aligned_checkpoint_overtakes_when_its_time_is_over() -> None:
    """F.17: measured from the beginning of the checkpoint, armed when a barrier is put."""
    clock = TestProcessingTimeService()
    clock.set_current_time(0)
    joined = Joined(output=Output(available=False), processing_time_service=clock)
    late = CheckpointBarrier(1, 100, alignment_timeout=50)
    with running(joined.task):
        joined.settle()
        joined.put(0, "a", "b", late)
        joined.put(1, "c")
        joined.settle()
        await_true(lambda: 150 in clock.active_timer_timestamps)
        clock.set_current_time(149)
        joined.settle()
        assert "snapshot 1" not in joined.operator.events
        clock.set_current_time(150)
        await_true(lambda: "snapshot 1" in joined.operator.events)
        joined.put(1, CheckpointBarrier(1, 100, alignment_timeout=50))  # does not wait at all
        await_true(lambda: joined.responder.states)
    first, second = elements(joined.responder.states[1])
    assert (first, second) == (["a", "b"], ["c"])
    assert joined.output.elements[0] == CheckpointBarrier(1, 100, True, 50)


def test_a_checkpoint_that_is_in_time_stays_aligned() -> None:
    """F.17"""
    clock = TestProcessingTimeService()
    clock.set_current_time(0)
    joined = Joined(processing_time_service=clock)
    barrier = CheckpointBarrier(1, 100, alignment_timeout=50)
    with running(joined.task):
        for channel in (0, 1):
            joined.put(channel, barrier)
        await_true(lambda: joined.responder.states)
        await_true(lambda: clock.active_timer_timestamps.count(150) == 2)
        clock.set_current_time(200)
        joined.task.trigger_checkpoint_async(CheckpointMetaData(2, 0)).result(20)
    assert joined.output.elements[:2] == [barrier, CheckpointBarrier(2, 0)]
    assert joined.operator.events.count("snapshot 1") == 1


def test_channels_that_announce_nothing_have_the_timeout_from_their_first_barrier() -> None:
    """F.17"""

    class Plain:
        def __init__(self, channel: ElementChannel) -> None:
            self.poll_next = channel.input.poll_next
            self.get_available_future = channel.input.get_available_future

    channels = [ElementChannel(), ElementChannel()]
    clock, operator, responder = TestProcessingTimeService(), Tracing(), Responder()
    clock.set_current_time(0)
    task = OneInputStreamTask(
        operator,
        MultiChannelInput([Plain(channel) for channel in channels]),
        Output(),
        processing_time_service=clock,
    )
    task.set_checkpoint_responder(responder)
    with running(task):
        channels[0].output.emit(CheckpointBarrier(1, 0, alignment_timeout=10))
        await_true(lambda: 10 in clock.active_timer_timestamps)
        clock.set_current_time(10)
        await_true(lambda: "snapshot 1" in operator.events)
        channels[1].output.emit(StreamRecord("late"))
        channels[1].output.emit(CheckpointBarrier(1, 0, alignment_timeout=10))
        await_true(lambda: responder.states)
    assert elements(responder.states[1]) == [[], ["late"]]


# --- from a checkpoint on


def test_elements_in_flight_come_first_after_a_restart() -> None:
    state = TaskSnapshot(
        b"3", [[pickle.dumps(StreamRecord("a"))], [pickle.dumps(Watermark(2))]]
    ).to_bytes()
    joined = Joined(state=state)
    joined.put(0, "new", Watermark(2))
    with running(joined.task):
        await_true(lambda: joined.operator.events[-1] == "watermark 2")
    assert joined.operator.events[:4] == ["restore 3", "open", "element a", "element new"]


def test_elements_in_flight_that_were_not_read_yet_are_in_flight_again() -> None:
    state = TaskSnapshot(b"3", [[pickle.dumps(StreamRecord("a"))] * 3, []]).to_bytes()
    joined = Joined(output=Output(available=False), state=state)
    joined.put(0, "new")
    with running(joined.task):
        joined.settle()
        for channel in (0, 1):
            joined.put(channel, unaligned(2))
        await_true(lambda: joined.responder.states)
    snapshot = joined.responder.states[2]
    assert snapshot.operator == b"4"
    assert elements(snapshot) == [["a", "a", "new"], []]


def test_a_state_with_elements_in_flight_needs_an_input_of_as_many_channels() -> None:
    state = TaskSnapshot(b"3", [[pickle.dumps(StreamRecord("a"))]]).to_bytes()
    joined = Joined(state=state)
    with pytest.raises(IncompatibleStateError, match="of 1 channels, and this input has 2"):
        joined.task.invoke()
    single = OneInputStreamTask(Tracing(), ElementChannel().input)
    single.set_initial_state(1, state)
    with pytest.raises(IncompatibleStateError, match="with a MultiChannelInput of as many"):
        single.invoke()


def test_a_damaged_state_is_refused() -> None:
    state = bytearray(TaskSnapshot(b"3", [[b"x"]]).to_bytes())
    state[-1] ^= 1
    with pytest.raises(CorruptStateError, match="damaged"):
        TaskSnapshot.from_bytes(bytes(state))


def test_a_task_with_nothing_in_flight_gives_the_bytes_of_its_operator() -> None:
    assert TaskSnapshot(b"3", [[], []]).to_bytes() == b"3"
    assert TaskSnapshot.from_bytes(b"3") == TaskSnapshot(b"3")


def test_values_that_cannot_be_pickled_fail_the_task() -> None:
    joined = Joined(output=Output(available=False))
    joined.put(0, "a", threading.Lock())
    with running(joined.task) as (run,):
        joined.settle()
        joined.put(0, unaligned())
        assert isinstance(run.join(), SerializationError)
