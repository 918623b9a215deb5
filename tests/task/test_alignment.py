"""Barriers of several channels (Flink: F.14 - F.17)."""

import pytest

from flinkish.common.elements import CheckpointBarrier
from flinkish.common.errors import CheckpointError, IllegalStateError
from flinkish.task import CheckpointFailureReason
from flinkish.task.alignment import AlignmentAborted, BarrierAlignment

SUBSUMED = CheckpointFailureReason.CHECKPOINT_DECLINED_SUBSUMED
CANCELLED = CheckpointFailureReason.CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER
ENDED = CheckpointFailureReason.CHECKPOINT_DECLINED_INPUT_END_OF_STREAM


def barrier(checkpoint_id: int, unaligned: bool = False) -> CheckpointBarrier:
    return CheckpointBarrier(checkpoint_id, 10, unaligned)


def test_channels_are_blocked_until_all_barriers_are_there() -> None:
    alignment = BarrierAlignment(3)
    assert alignment.on_barrier(0, barrier(1)) == []
    assert alignment.on_barrier(2, barrier(1)) == []
    assert alignment.blocked == {0, 2}
    assert alignment.on_barrier(1, barrier(1)) == [barrier(1)]
    assert alignment.blocked == set()
    assert alignment.pending is None


def test_one_channel_needs_no_alignment() -> None:
    assert BarrierAlignment(1).on_barrier(0, barrier(1)) == [barrier(1)]
    assert BarrierAlignment(1).on_barrier(0, barrier(1, True)) == [barrier(1, True)]


def test_older_and_finished_barriers_are_dropped() -> None:
    """F.14: and the channel is not blocked by them."""
    alignment = BarrierAlignment(2)
    alignment.on_barrier(0, barrier(5))
    assert alignment.on_barrier(1, barrier(4)) == []
    assert alignment.blocked == {0}
    assert alignment.on_barrier(1, barrier(5)) == [barrier(5)]
    assert alignment.on_barrier(0, barrier(5)) == []
    assert alignment.blocked == set()


def test_a_newer_barrier_ends_the_pending_checkpoint() -> None:
    """F.14: what it blocked is free, and the newer one blocks its own channel."""
    alignment = BarrierAlignment(3)
    alignment.on_barrier(0, barrier(1))
    received = alignment.all_barriers_received(1)
    assert alignment.on_barrier(1, barrier(2)) == [AlignmentAborted(1, SUBSUMED)]
    assert alignment.blocked == {1}
    assert received.exception() is not None
    assert alignment.on_barrier(2, barrier(1)) == []
    assert alignment.on_barrier(0, barrier(2)) == []
    assert alignment.on_barrier(2, barrier(2)) == [barrier(2)]


def test_the_end_of_a_channel_counts_as_its_barrier() -> None:
    """F.15"""
    alignment = BarrierAlignment(3)
    alignment.on_barrier(0, barrier(1))
    assert alignment.on_end(1) == []
    assert alignment.on_end(2) == [barrier(1)]
    assert alignment.on_barrier(0, barrier(2)) == [barrier(2)]  # alone by now
    assert alignment.on_end(0) == []


def test_how_many_are_awaited_is_fixed_by_the_first_barrier() -> None:
    """F.15: those that are open then."""
    alignment = BarrierAlignment(3)
    alignment.on_end(2)
    assert alignment.on_barrier(0, barrier(1)) == []
    assert alignment.on_barrier(1, barrier(1)) == [barrier(1)]


def test_an_end_behind_an_unaligned_barrier_is_not_counted_again() -> None:
    """F.15"""
    alignment = BarrierAlignment(3)
    alignment.on_barrier(0, barrier(1, True))
    assert alignment.on_end(0) == []
    assert not alignment.all_barriers_received(1).done()
    alignment.on_barrier(1, barrier(1, True))
    alignment.on_barrier(2, barrier(1, True))
    assert alignment.all_barriers_received(1).result(0) is None


def test_the_end_of_a_channel_aborts_where_checkpoints_end_with_it() -> None:
    """F.15"""
    alignment = BarrierAlignment(3, checkpoints_after_finish=False)
    assert alignment.on_end(2) == []
    alignment.on_barrier(0, barrier(1))
    assert alignment.on_end(1) == [AlignmentAborted(1, ENDED)]
    assert alignment.blocked == set()


def test_markers_cancel() -> None:
    """F.16: the current one while it is pending, and any newer one; later barriers are ignored."""
    alignment = BarrierAlignment(2)
    alignment.on_barrier(0, barrier(1))
    assert alignment.on_cancel(1) == [AlignmentAborted(1, CANCELLED)]
    assert alignment.blocked == set()
    assert alignment.on_cancel(1) == []
    assert alignment.on_barrier(1, barrier(1)) == []

    assert alignment.on_cancel(2) == [AlignmentAborted(2, CANCELLED)]
    assert alignment.on_barrier(0, barrier(2)) == []
    assert isinstance(alignment.all_barriers_received(2).exception(), CheckpointError)

    alignment.on_barrier(0, barrier(3))
    told = alignment.on_cancel(4)
    assert told == [AlignmentAborted(3, SUBSUMED), AlignmentAborted(4, CANCELLED)]
    assert alignment.on_cancel(3) == []


def test_an_unaligned_checkpoint_is_taken_at_its_first_barrier() -> None:
    alignment = BarrierAlignment(2)
    assert alignment.on_barrier(0, barrier(1, True)) == [barrier(1, True)]
    assert alignment.blocked == set()
    assert alignment.is_overtaking
    assert alignment.on_barrier(1, barrier(1)) == []
    assert not alignment.is_overtaking
    assert alignment.all_barriers_received(1).result(0) is None


def test_an_aligned_checkpoint_becomes_unaligned() -> None:
    """F.17: the barrier goes out as unaligned, once, and blocked channels go on."""
    alignment = BarrierAlignment(3)
    alignment.on_barrier(0, barrier(1))
    assert alignment.overtake(1) == [barrier(1, True)]
    assert alignment.overtake(1) == []
    assert alignment.blocked == set()
    assert alignment.on_barrier(1, barrier(1)) == []
    assert alignment.on_barrier(2, barrier(1, True)) == []
    assert alignment.all_barriers_received(1).result(0) is None
    assert alignment.overtake(1) == []

    alignment.on_barrier(0, barrier(2))
    assert alignment.on_barrier(1, barrier(2, True)) == [barrier(2, True)]


def test_an_unaligned_checkpoint_that_is_taken_is_aborted_by_its_future_alone() -> None:
    alignment = BarrierAlignment(2)
    alignment.on_barrier(0, barrier(1, True))
    received = alignment.all_barriers_received(1)
    assert alignment.on_barrier(0, barrier(2)) == []
    error = received.exception()
    assert isinstance(error, CheckpointError)
    assert error.reason == SUBSUMED.name


def test_all_barriers_received() -> None:
    """F.17"""
    alignment = BarrierAlignment(2)
    with pytest.raises(IllegalStateError, match="no barrier of checkpoint 7"):
        alignment.all_barriers_received(7)
    alignment.on_barrier(0, barrier(7))
    received = alignment.all_barriers_received(7)
    assert not received.done()
    assert alignment.all_barriers_received(6).result(0) is None
    alignment.on_barrier(1, barrier(7))
    assert received.result(0) is None
