"""Several channels as one input of a task (Flink: F.14 - F.17)."""

import pytest

from flinkish.common.elements import (
    CancelCheckpointMarker,
    CheckpointBarrier,
    LatencyMarker,
    Watermark,
    WatermarkStatus,
)
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
)
from flinkish.task import (
    ElementChannel,
    InputStatus,
    MultiChannelInput,
    StopMode,
)
from flinkish.task.in_flight import TaskSnapshot
from tests.task.jobs import running
from tests.task.joined import Joined, Rig
from tests.waiting import until

NOTHING = InputStatus.NOTHING_AVAILABLE
END_OF_DATA, END_OF_INPUT = InputStatus.END_OF_DATA, InputStatus.END_OF_INPUT


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
        until(lambda: joined.values() == ["a"])
        joined.put(2, CheckpointBarrier(1, 0), "c")
        until(lambda: joined.values() == ["a", "c"])
        joined.put(2, CheckpointBarrier(2, 0))
        joined.put(0, CheckpointBarrier(2, 0))
        until(lambda: joined.values() == ["a", "c", "b"])
    assert joined.responder.declined == [(1, "CHECKPOINT_DECLINED_SUBSUMED")]
    assert joined.responder.states == {2: TaskSnapshot(b"2")}
    assert joined.output.elements[0] == CancelCheckpointMarker(1)


def test_a_marker_ends_the_alignment() -> None:
    """F.16"""
    joined = Joined()
    with running(joined.task):
        joined.put(0, CheckpointBarrier(1, 0), "a")
        joined.put(1, CancelCheckpointMarker(1), CheckpointBarrier(1, 0))
        until(lambda: joined.values() == ["a"])
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
