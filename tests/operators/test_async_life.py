"""The asynchronous operator: timeouts, snapshots, its end (Flink: D)."""

import threading
from typing import Any

import pytest

from flinkish.common.elements import StreamRecord, Watermark
from flinkish.common.errors import (
    ArgumentTypeError,
    AsyncTimeoutError,
    CorruptStateError,
    DeadlockError,
    SerializationError,
)
from flinkish.functions import AsyncFunction, AsyncRetryStrategy
from flinkish.operators import (
    AsyncWaitOperator,
)
from flinkish.testing import OneInputStreamOperatorTestHarness
from tests.operators.async_rig import Defaulting, Manual, Stage

ANY = AsyncRetryStrategy.fixed_delay(1, 10)


def staged(fn: Any = None, snapshot: bytes | None = None, **settings: Any) -> tuple[Manual, Stage]:
    fn = Manual() if fn is None else fn
    return fn, Stage(AsyncWaitOperator(fn, **{"timeout": None, **settings}), snapshot)


# --- timeouts


def test_a_timeout_fails_the_task_by_default() -> None:
    """D.9: and lets the next elements go on (D.11)."""
    fn, stage = staged(Defaulting(), timeout="5 seconds")
    stage.give(1)
    stage.at(1)
    stage.give(2)
    fn.done(2)
    stage.at(4_999)
    assert stage.values == []
    stage.at(5_000)
    assert stage.values == [2]
    with pytest.raises(
        AsyncTimeoutError, match=r"Defaulting.async_invoke was not done in time for 1; raise"
    ) as raised:
        raise stage.failures[0]
    assert isinstance(raised.value, TimeoutError)
    assert stage.operator.statistics().timed_out == 1


@pytest.mark.parametrize("mode", ["ordered", "unordered"])
def test_timeout_gives_something_instead(mode: str) -> None:
    """D.9 (testAsyncTimeoutIgnore), D.11: the head is released."""
    fn, stage = staged(timeout=10, mode=mode)
    stage.give(StreamRecord(1, 0))
    stage.at(5)
    stage.give(StreamRecord(2, 5))
    fn.done(2, 2)
    stage.at(10)
    fn.timeouts[1].complete([3])
    stage.run()
    assert sorted(stage.out, key=lambda one: one.timestamp or 0) == [  # type: ignore[attr-defined]
        StreamRecord(3, 0),
        StreamRecord(2, 5),
    ]
    assert (stage.values == [3, 2]) is (mode == "ordered")
    assert not fn.done(1), "the attempt comes too late"
    assert stage.failures == []


def test_no_timer_is_left_when_all_is_done() -> None:
    """D.10 (testTimeoutCleanup): and one of the service serves any number of elements."""
    fn, stage = staged(timeout=1_000)
    stage.give(*range(50))
    assert stage.operator.statistics().timers == 50
    assert stage.clock.num_active_timers == 1
    for value in range(49):
        fn.done(value)
    stage.run()
    assert stage.operator.statistics().timers == 1
    fn.done(49)
    stage.run()
    assert stage.operator.statistics().timers == 0
    assert stage.clock.num_active_timers == 0
    stage.at(5_000)
    assert fn.timeouts == {}


def test_a_completion_before_the_timers_mail_wins() -> None:
    """D.10 (FLINK-22573): the clock has passed, the mail has not run."""
    fn, stage = staged(timeout=10)
    stage.give(1)
    stage.clock.set_current_time(10)
    fn.done(1, "in time")
    stage.run()
    assert stage.values == ["in time"]
    assert fn.timeouts == {}


def test_without_a_timeout_there_are_no_timers() -> None:
    for timeout in (None, 0):
        _fn, stage = staged(timeout=timeout)
        stage.give(1)
        assert stage.operator.statistics().timers == 0
        assert stage.clock.num_active_timers == 0


def test_timeouts_far_and_near_come_in_their_time() -> None:
    fn, stage = staged(timeout="1 hour")
    stage.give(1)
    stage.at(1_800_000)
    stage.give(2)
    stage.at(3_599_999)
    assert fn.timeouts == {}
    stage.at(3_600_000)
    assert list(fn.timeouts) == [1]
    stage.at(5_400_000)
    assert list(fn.timeouts) == [1, 2]


# --- snapshots


def test_a_snapshot_holds_what_is_not_emitted() -> None:
    """D.12: also what is completed, without its results; a restore calls again.

    PyFlink has none: it waits for what is in flight whenever a bundle ends (D.28).
    """
    fn, stage = staged(mode="unordered", timeout=100)
    stage.give(1, 2, "W5", 3)
    fn.done(3)
    fn.done(2)
    stage.run()
    assert stage.values == [2]
    again, restored = staged(snapshot=stage.operator.snapshot_state(1), mode="unordered")
    assert list(again.attempts) == [1, 3]
    assert restored.operator.snapshot_state(2) == stage.operator.snapshot_state(1)
    again.done(3)
    again.done(1)
    restored.run()
    assert restored.values == [1, "W5", 3]
    assert fn.done(1)
    stage.run()
    assert stage.values == [2, 1, "W5", 3]


def test_a_restore_with_more_than_there_is_room_for() -> None:
    """D.13: one more, and many more; nothing new is taken before, and the order holds."""
    _fn, stage = staged(capacity=8)
    stage.give(1, 2, "W1", 3, "W2", "W3", 4, 5)
    snapshot = stage.operator.snapshot_state(1)
    for capacity in (7, 1, 2):
        fn, small = staged(snapshot=snapshot, capacity=capacity)
        assert not small.operator.is_available()
        assert small.operator.snapshot_state(1) == snapshot
        for value in (1, 2, 3, 4, 5):
            assert fn.done(value)
            small.run()
        assert small.values == [1, 2, "W1", 3, "W2", "W3", 4, 5]
        assert small.operator.is_available()


def test_an_element_waits_until_what_was_restored_has_room() -> None:
    _fn, stage = staged(capacity=3)
    stage.give(1, 2, 3)
    fn, small = staged(snapshot=stage.operator.snapshot_state(1), capacity=1)
    with pytest.raises(DeadlockError):
        small.give(4)
    fn.done(1)
    small.run()
    fn.done(2)
    small.run()
    assert list(fn.attempts) == [1, 2, 3]
    fn.done(3)
    small.give(4)
    fn.done(4)
    small.run()
    assert small.values == [1, 2, 3, 4]


def test_many_watermarks_are_restored_through_a_small_queue() -> None:
    _fn, stage = staged(capacity=5_000)
    stage.give(0, *(f"W{n}" for n in range(4_000)))
    fn, small = staged(snapshot=stage.operator.snapshot_state(1), capacity=1)
    fn.done(0)
    small.run()
    assert small.values == [0, *(f"W{n}" for n in range(4_000))]


def test_elements_are_kept_as_they_came() -> None:
    """D.14: no object is used twice here, so there is nothing to copy."""
    fn, stage = staged()
    record = StreamRecord(("a", "value"), 3)
    stage.give(record)
    assert next(iter(fn.attempts)) is record.value
    assert stage.operator._unemitted()[0] is record


def test_damaged_snapshots_are_refused() -> None:
    _fn, stage = staged()
    stage.give(1)
    snapshot = stage.operator.snapshot_state(1)
    with pytest.raises(CorruptStateError, match="refused"):
        staged(snapshot=snapshot[:-1] + b"?")
    with pytest.raises(ArgumentTypeError, match="of type bytes, not str"):
        staged(snapshot="text")  # type: ignore[arg-type]


def test_an_element_that_cannot_be_pickled_is_named() -> None:
    _fn, stage = staged()
    stage.give(1, ("a lock", threading.Lock()))
    with pytest.raises(SerializationError, match=r"'a lock'.* cannot be pickled") as raised:
        stage.operator.snapshot_state(1)
    assert raised.value.path == "tuple"


# --- the end


def test_end_input_waits_for_all() -> None:
    """D.15."""
    fn, stage = staged()
    stage.give(1, "W2")
    with pytest.raises(DeadlockError):
        stage.operator.end_input()
    fn.done(1)
    stage.operator.end_input()
    assert stage.values == [1, "W2"]


def test_results_after_the_end_are_dropped() -> None:
    """D.16 (testIgnoreAsyncOperatorRecordsOnDrain): counted, and nothing is raised."""
    fn, stage = staged()
    stage.give(1, 2, 3)
    stage.mailbox.close()
    assert fn.done(1)
    assert fn.done(3)
    assert stage.operator.statistics().dropped == 2
    stage.operator.close()
    assert stage.values == []


def test_close_ends_timers_and_the_function_once() -> None:
    fn, stage = staged(timeout=100)
    stage.give(1)
    stage.operator.close()
    stage.operator.close()
    assert fn.closed == 1
    assert stage.clock.num_active_timers == 0
    stage.at(1_000)
    assert fn.timeouts == {}
    stage.close()


def test_an_operator_that_was_not_opened_can_be_closed() -> None:
    fn = Manual()
    AsyncWaitOperator(fn, timeout=None).close()
    assert fn.closed == 0


# --- in a harness


def test_a_harness_runs_it() -> None:
    class Twice(AsyncFunction):
        async def async_invoke(self, value: int) -> list[int]:
            return [value, value]

    with OneInputStreamOperatorTestHarness(
        AsyncWaitOperator(Twice(), timeout=1_000, capacity=2)
    ) as harness:
        harness.open()
        for value in range(10):  # waits while the operator is full
            harness.process_element(value, value)
        harness.process_watermark(9)
        harness.end_input()
        assert harness.extract_output_values() == [value for value in range(10) for _ in range(2)]
        assert harness.get_output()[-1] == Watermark(9)
        assert harness.failure is None
        assert harness.get_metric("numRecordsIn") == 10
        assert harness.get_metric("asyncInFlight") == 0


def test_a_harness_keeps_the_failure() -> None:
    fn = Manual()
    with OneInputStreamOperatorTestHarness(AsyncWaitOperator(fn, timeout=None)) as harness:
        harness.open()
        harness.process_element(1)
        fn.failed(1, KeyError("gone"))
        harness.run_mailbox()
        assert isinstance(harness.failure, KeyError)
