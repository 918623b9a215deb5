"""Timer tasks, by hand: states, cancelling, adding again."""

from datetime import timedelta

import pytest

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    IllegalStateError,
    RejectedExecutionError,
    UnsupportedOperationError,
)
from flinkish.purgatory import DelayedOperation, ManualTimer, TimerTask, TimerTaskState
from tests.purgatory.operations import Operation, Recorded


def test_states_are_told_apart() -> None:
    """K.14: Kafka cannot tell a new task from one that ran or was cancelled."""
    timer, ran = ManualTimer(), []
    task = Recorded(10, "a", ran)
    assert task.state is TimerTaskState.NEW
    assert not task.is_cancelled()
    assert not task.cancel()
    timer.add(task)
    assert task.state is TimerTaskState.PENDING
    assert task.cancel()
    assert task.state is TimerTaskState.CANCELLED
    assert task.is_cancelled()
    assert not task.cancel()
    timer.add(task)
    assert timer.advance_clock(10)
    assert task.state is TimerTaskState.EXPIRED
    assert not task.is_cancelled()
    assert not task.cancel()
    assert ran == ["a"]


def test_a_task_that_ran_may_run_again() -> None:
    """K.14."""
    timer, ran = ManualTimer(), []
    task = Recorded(10, "a", ran)
    for _ in range(3):
        timer.add(task)
        timer.advance_clock(10)
    assert ran == ["a"] * 3
    assert timer.statistics().expired == 3


def test_adding_again_moves_it() -> None:
    """K.13: the count is unchanged and the delay starts anew."""
    timer, ran = ManualTimer(), []
    task = Recorded(10, "a", ran)
    timer.add(task)
    timer.advance_clock(9)
    timer.add(task)
    assert timer.size() == 1
    timer.advance_clock(9)
    assert ran == []
    timer.advance_clock(1)
    assert ran == ["a"]


def test_adding_to_another_timer_moves_it() -> None:
    one, other, ran = ManualTimer(), ManualTimer(), []
    task = Recorded(10, "a", ran)
    one.add(task)
    other.add(task)
    assert (one.size(), other.size()) == (0, 1)
    one.advance_clock(10)
    assert ran == []
    other.advance_clock(10)
    assert ran == ["a"]


def test_iteration_skips_cancelled_ones() -> None:
    """K.13 [TimerTaskListTest.testAll]."""
    timer, ran = ManualTimer(), []
    tasks = [Recorded(5, i, ran) for i in range(10)]
    for task in tasks:
        timer.add(task)
    for task in tasks[::2]:
        assert task.cancel()
    assert timer.size() == 5
    timer.advance_clock(5)
    assert ran == [1, 3, 5, 7, 9]


def test_a_task_cancels_one_of_its_own_batch() -> None:
    """K.15: cancel wins until the task begins to run."""
    timer, ran = ManualTimer(), []
    second = Recorded(5, "second", ran)

    class First(TimerTask):
        def run(self) -> None:
            ran.append(second.cancel())

    timer.add(First(5))
    timer.add(second)
    timer.advance_clock(5)
    assert ran == [True]


def test_a_task_moves_one_of_its_own_batch() -> None:
    """The old entry comes out with the batch, and must not run it early."""
    timer, ran = ManualTimer(), []
    second = Recorded(5, "second", ran)

    class First(TimerTask):
        def run(self) -> None:
            timer.add(second)

    timer.add(First(5))
    timer.add(second)
    timer.advance_clock(5)
    assert ran == []
    assert timer.size() == 1
    timer.advance_clock(4)
    assert ran == []
    timer.advance_clock(1)
    assert ran == ["second"]


@pytest.mark.parametrize(
    ("delay", "millis"),
    [(5, 5), (timedelta(seconds=1), 1000), ("2 seconds", 2000), (-7, -7), (2**63 - 1, 2**63 - 1)],
)
def test_delays(delay: object, millis: int) -> None:
    assert Recorded(delay, "a", []).delay_ms == millis  # type: ignore[arg-type]
    assert Operation(delay).delay_ms == millis  # type: ignore[arg-type]


@pytest.mark.parametrize("delay", [1.5, None, True, b"1", object()])
def test_delays_of_wrong_types(delay: object) -> None:
    with pytest.raises(ArgumentTypeError, match="delay_ms"):
        TimerTask(delay)  # type: ignore[arg-type]


@pytest.mark.parametrize("delay", [2**63, -(2**63) - 1, "soon"])
def test_delays_that_do_not_fit(delay: object) -> None:
    with pytest.raises(IllegalArgumentError, match="delay_ms"):
        DelayedOperation(delay)  # type: ignore[arg-type]


def test_the_longest_delay_never_fires() -> None:
    """K.5: in Kafka it overflows and fires at once."""
    timer, ran = ManualTimer(), []
    timer.advance_clock(10_000)
    timer.add(Recorded(2**63 - 1, "never", ran))
    timer.advance_clock(2**40)
    assert ran == []
    assert timer.size() == 1


def test_a_task_without_delay_is_refused() -> None:
    class Forgot(TimerTask):
        def __init__(self) -> None:
            """Forgets its base."""

    timer = ManualTimer()
    with pytest.raises(IllegalStateError, match="super"):
        timer.add(Forgot())
    assert timer.size() == 0


def test_a_task_without_run_says_so() -> None:
    with pytest.raises(UnsupportedOperationError, match="override"):
        TimerTask(1).run()


def test_a_task_that_raises_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """K.6: also reported and counted."""
    timer, ran = ManualTimer("tick"), []

    class Bad(TimerTask):
        def run(self) -> None:
            raise ValueError("bad task")

    timer.add(Bad(5))
    timer.add(Recorded(5, "a", ran))
    timer.add(Bad(0))
    timer.advance_clock(5)
    assert ran == ["a"]
    assert timer.statistics().errors == 2
    assert "bad task" in caplog.text
    assert "tick" in caplog.text


def test_a_closed_timer_refuses_and_counts() -> None:
    """K.7."""
    timer, ran = ManualTimer(), []
    task = Recorded(5, "a", ran)
    timer.add(task)
    timer.close()
    timer.close()
    assert task.is_cancelled()
    for late in (Recorded(5, "b", ran), Recorded(0, "c", ran)):
        with pytest.raises(RejectedExecutionError, match="closed"):
            timer.add(late)
        assert late.state is not TimerTaskState.PENDING
    assert timer.statistics().cancelled_by_close == 1
    assert not timer.advance_clock(10)
    assert ran == []
