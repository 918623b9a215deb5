"""Barriers that overtake, and a restart from what they overtook (Flink: F.17)."""

import pickle
import threading

import pytest

from flinkish.common.elements import (
    CheckpointBarrier,
    StreamRecord,
    Watermark,
)
from flinkish.common.errors import (
    CorruptStateError,
    IncompatibleStateError,
    SerializationError,
)
from flinkish.task import (
    CheckpointMetaData,
    ElementChannel,
    MultiChannelInput,
    OneInputStreamTask,
)
from flinkish.task.in_flight import TaskSnapshot
from flinkish.testing import TestProcessingTimeService
from tests.task.jobs import Output, Tracing, running
from tests.task.joined import Joined, Responder, Rig, elements
from tests.waiting import PATIENCE, until


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
        until(lambda: joined.responder.states)
        assert joined.operator.count == seen == 1
        joined.output.room.set_result(None)
        until(lambda: joined.operator.count == 6)
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
        until(lambda: joined.values() == ["behind"])
        joined.put(1, "before", Watermark(1), CheckpointBarrier(0, 0))
        until(lambda: joined.values() == ["behind", "before"])
        assert joined.responder.states == {}
        joined.put(1, unaligned(), "behind, too")
        until(lambda: joined.responder.states)
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
        until(lambda: joined.responder.states)
    assert elements(joined.responder.states[1]) == [list(range(10)), []]


def test_an_overtaking_checkpoint_that_a_newer_one_ends_is_declined() -> None:
    joined = Joined()
    with running(joined.task):
        joined.settle()
        joined.put(0, unaligned(1))
        until(lambda: joined.operator.events[-1] == "snapshot 1")
        joined.put(0, unaligned(2))
        until(lambda: joined.operator.events[-1] == "snapshot 2")
        joined.put(1, unaligned(1), unaligned(2))
        until(lambda: 2 in joined.responder.states)
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
        until(lambda: 150 in clock.active_timer_timestamps)
        clock.set_current_time(149)
        joined.settle()
        assert "snapshot 1" not in joined.operator.events
        clock.set_current_time(150)
        until(lambda: "snapshot 1" in joined.operator.events)
        joined.put(1, CheckpointBarrier(1, 100, alignment_timeout=50))  # does not wait at all
        until(lambda: joined.responder.states)
    first, second = elements(joined.responder.states[1])
    assert (first, second) == (["a", "b"], ["c"])
    assert joined.output.elements[0] == CheckpointBarrier(1, 100, True, 50)


def test_a_checkpoint_without_any_time_overtakes_at_once() -> None:
    """F.17"""
    joined = Joined(output=Output(available=False))
    with running(joined.task):
        joined.settle()
        for channel in (0, 1):
            joined.put(channel, "a", CheckpointBarrier(1, 100, alignment_timeout=0))
        until(lambda: joined.responder.states)
    assert elements(joined.responder.states[1]) == [["a"], ["a"]]


def test_a_checkpoint_that_is_in_time_stays_aligned() -> None:
    """F.17"""
    clock = TestProcessingTimeService()
    clock.set_current_time(0)
    joined = Joined(processing_time_service=clock)
    barrier = CheckpointBarrier(1, 100, alignment_timeout=50)
    with running(joined.task):
        for channel in (0, 1):
            joined.put(channel, barrier)
        until(lambda: joined.responder.states)
        until(lambda: clock.active_timer_timestamps.count(150) == 2)
        clock.set_current_time(200)
        joined.task.trigger_checkpoint_async(CheckpointMetaData(2, 0)).result(PATIENCE)
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
        until(lambda: 10 in clock.active_timer_timestamps)
        clock.set_current_time(10)
        until(lambda: "snapshot 1" in operator.events)
        channels[1].output.emit(StreamRecord("late"))
        channels[1].output.emit(CheckpointBarrier(1, 0, alignment_timeout=10))
        until(lambda: responder.states)
    assert elements(responder.states[1]) == [[], ["late"]]


# --- from a checkpoint on


def test_elements_in_flight_come_first_after_a_restart() -> None:
    state = TaskSnapshot(
        b"3", [[pickle.dumps(StreamRecord("a"))], [pickle.dumps(Watermark(2))]]
    ).to_bytes()
    joined = Joined(state=state)
    joined.put(0, "new", Watermark(2))
    with running(joined.task):
        until(lambda: joined.operator.events[-1] == "watermark 2")
    assert joined.operator.events[:4] == ["restore 3", "open", "element a", "element new"]


def test_elements_in_flight_that_were_not_read_yet_are_in_flight_again() -> None:
    state = TaskSnapshot(b"3", [[pickle.dumps(StreamRecord("a"))] * 3, []]).to_bytes()
    joined = Joined(output=Output(available=False), state=state)
    joined.put(0, "new")
    with running(joined.task):
        joined.settle()
        for channel in (0, 1):
            joined.put(channel, unaligned(2))
        until(lambda: joined.responder.states)
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
