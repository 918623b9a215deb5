"""The purgatory, by hand: Kafka's cases, and what ours does otherwise."""

import gc
import weakref
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    IllegalStateError,
    RejectedExecutionError,
)
from flinkish.purgatory import (
    DelayedOperationPurgatory,
    ManualTimer,
    SystemTimer,
)
from tests.purgatory.operations import Operation, Scripted


@pytest.fixture
def timer() -> ManualTimer:
    return ManualTimer()


@pytest.fixture
def home(timer: ManualTimer) -> DelayedOperationPurgatory:
    return DelayedOperationPurgatory("test", timer=timer, reaper_enabled=False)


def test_requests_are_satisfied(home: DelayedOperationPurgatory) -> None:
    """P.6 [DelayedOperationTest.testRequestSatisfaction]."""
    one, two = Operation(), Operation()
    assert home.check_and_complete("test1") == 0
    assert not home.try_complete_else_watch(one, ["test1"])
    assert home.check_and_complete("test1") == 0
    assert not home.try_complete_else_watch(two, ["test2"])
    assert home.check_and_complete("test2") == 0
    one.completable = True
    assert home.check_and_complete("test1") == 1
    assert home.check_and_complete("test1") == 0
    two.completable = True
    assert home.check_and_complete("test2") == 1
    assert home.check_and_complete("test2") == 0
    assert (one.completions, two.completions) == (1, 1)


def test_how_often_it_is_tried(home: DelayedOperationPurgatory) -> None:
    """P.3: twice when it gets watched, once when it completes at once."""
    waits, ready = Operation(), Operation(completable=True)
    home.try_complete_else_watch(waits, ["a", "b", "c"])
    assert waits.tries == 2
    assert home.try_complete_else_watch(ready, ["a"])
    assert ready.tries == 1
    assert (home.watched(), home.num_delayed()) == (3, 1)


def test_a_change_between_the_tries_is_not_missed(home: DelayedOperationPurgatory) -> None:
    """P.3."""
    operation = Scripted(attempt=lambda self: self.force_complete() if self.tries == 2 else False)
    assert home.try_complete_else_watch(operation, ["a", "b"])
    assert operation.completions == 1
    assert (home.watched(), home.num_delayed()) == (0, 0)
    home._check()


def test_requests_expire(home: DelayedOperationPurgatory, timer: ManualTimer) -> None:
    """P.6 [testRequestExpiry]: not early, and others are left alone."""
    one, two = Operation(20), Operation(200_000)
    home.try_complete_else_watch(one, ["test1"])
    home.try_complete_else_watch(two, ["test2"])
    home.advance_clock(19)
    assert not one.is_completed()
    home.advance_clock(1)
    assert one.events == ["complete", "expiration"]
    assert not two.is_completed()
    assert (home.watched(), home.num_delayed()) == (1, 1)
    assert (home.statistics().expired, home.statistics().completed) == (1, 1)


def test_completed_operations_leave_at_once(home: DelayedOperationPurgatory) -> None:
    """P.7 [testRequestPurge]: Kafka's `watched` waits for a check or a purge."""
    operations = [Operation() for _ in range(3)]
    for operation in operations:
        home.try_complete_else_watch(operation, ["test1", "test2"])
    assert (home.num_delayed(), home.watched()) == (3, 6)
    for left, operation in zip((2, 1, 0), operations, strict=True):
        operation.completable = True
        operation.safe_try_complete()
        assert (home.num_delayed(), home.watched()) == (left, 2 * left)
        home._check()
    assert home.statistics().keys == 0


def test_completed_operations_are_not_held(home: DelayedOperationPurgatory) -> None:
    """P.7, H: KAFKA-664."""
    operation = Operation()
    home.try_complete_else_watch(operation, [1, 2, 3])
    gone = weakref.ref(operation)
    operation.force_complete()
    del operation
    gc.collect()
    assert gone() is None


def test_cancel_for_key(home: DelayedOperationPurgatory, timer: ManualTimer) -> None:
    """P.8 [shouldCancelForKeyReturningCancelledOperations]."""
    one, two, other = Operation(50), Operation(50), Operation(50)
    home.try_complete_else_watch(one, ["key"])
    home.try_complete_else_watch(two, ["key"])
    home.try_complete_else_watch(other, ["other"])
    assert home.cancel_for_key("key") == [one, two]
    assert home.cancel_for_key("key") == []
    assert (home.watched(), home.num_delayed()) == (1, 1)
    assert one.is_cancelled()
    home.advance_clock(50)
    assert not one.is_completed()
    assert not two.is_completed()
    assert other.is_completed()


def test_a_cancelled_operation_completes_through_another_key(
    home: DelayedOperationPurgatory,
) -> None:
    """P.8."""
    operation = Operation(50)
    home.try_complete_else_watch(operation, ["a", "b", "a"])
    assert home.cancel_for_key("a") == [operation], "once, though it was watched twice"
    home.try_complete_else_watch(stranger := Operation(), ["a"])  # takes the free place
    operation.completable = True
    assert home.check_and_complete("b") == 1
    assert home.watched() == 1
    assert not stranger.is_completed()
    home._check()


def test_duplicate_keys(home: DelayedOperationPurgatory) -> None:
    """P.9: watched twice and completed once."""
    operation = Operation()
    home.try_complete_else_watch(operation, ["a", "a"])
    assert home.watched() == 2
    operation.completable = True
    assert home.check_and_complete("a") == 1
    assert (operation.completions, home.watched()) == (1, 0)


@pytest.mark.parametrize(
    ("keys", "error"),
    [([], IllegalArgumentError), ("key", ArgumentTypeError), (7, ArgumentTypeError)],
)
def test_keys_that_are_none(
    home: DelayedOperationPurgatory, keys: object, error: type[Exception]
) -> None:
    """P.9: an empty list is refused; a string is not a list of keys."""
    with pytest.raises(error, match="key"):
        home.try_complete_else_watch(operation := Operation(), keys)  # type: ignore[arg-type]
    assert operation.tries == 0


class Sour(Operation):
    """Completes at its `at`-th try, with an error."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at

    def try_complete(self) -> bool:
        self.tries += 1
        return self.force_complete() if self.tries == self.at else False

    def on_complete(self) -> None:
        raise RuntimeError("sour")


@pytest.mark.parametrize("at", [2, 4])
def test_an_operation_leaves_once_though_its_completion_fails(
    home: DelayedOperationPurgatory, at: int
) -> None:
    """At its second try it is being watched for the first time, at its fourth for the second."""
    operation = Sour(at)
    for _ in range(at // 2 - 1):
        assert not home.try_complete_else_watch(operation, ["a", "b"])
    with pytest.raises(RuntimeError, match="sour"):
        home.try_complete_else_watch(operation, ["a", "c"])
    assert (home.statistics().entered, home.left, home.watched()) == (1, 1, 0)
    home.try_complete_else_watch(Operation(), ["a", "b", "c"])
    assert home.check_and_complete("a") == 0
    assert (home.statistics().entered, home.left, home.watched()) == (2, 1, 3)


def test_watching_again_adds_keys_and_moves_the_timer(
    home: DelayedOperationPurgatory, timer: ManualTimer
) -> None:
    operation = Operation(10)
    home.try_complete_else_watch(operation, ["a"])
    home.advance_clock(9)
    home.try_complete_else_watch(operation, [f"b{i}" for i in range(20)])
    assert (home.watched(), home.num_delayed(), home.statistics().entered) == (21, 1, 1)
    home.advance_clock(9)
    assert not operation.is_completed()
    home.advance_clock(1)
    assert operation.events == ["complete", "expiration"]
    assert (home.watched(), home.left) == (0, 1)
    assert not home.try_complete_else_watch(operation, ["a"]), "completed: not watched again"
    assert home.watched() == 0


def test_one_home(home: DelayedOperationPurgatory) -> None:
    other = DelayedOperationPurgatory("other", timer=ManualTimer(), reaper_enabled=False)
    home.try_complete_else_watch(operation := Operation(), ["a"])
    with pytest.raises(IllegalStateError, match="belongs to"):
        other.try_complete_else_watch(operation, ["a"])
    assert home.watched() == 1


def test_no_delay_expires_at_once(home: DelayedOperationPurgatory) -> None:
    """K.2."""
    for delay in (0, -5):
        operation = Operation(delay)
        assert not home.try_complete_else_watch(operation, ["a"])
        assert operation.events == ["complete", "expiration"]
    assert (home.watched(), home.num_delayed()) == (0, 0)


def test_shutdown_completes_and_refuses(home: DelayedOperationPurgatory) -> None:
    """P.11: in Kafka operations are forgotten, and those that come later never expire."""

    def fail(operation: Scripted) -> None:
        raise ValueError("no")

    operations = [Operation(), Operation(), Scripted(complete=fail)]
    for operation in operations:
        home.try_complete_else_watch(operation, ["a", "b"])
    cancelled = Operation()
    home.try_complete_else_watch(cancelled, ["c"])
    home.cancel_for_key("c")
    home.shutdown()
    home.shutdown()
    assert [operation.events for operation in operations] == [["complete"]] * 3
    assert not cancelled.is_completed(), "it was out already"
    statistics = home.statistics()
    assert (statistics.watched, statistics.delayed) == (0, 0)
    assert (statistics.completed_by_shutdown, statistics.errors) == (3, 1)
    late = Operation()
    with pytest.raises(RejectedExecutionError, match="shut down"):
        home.try_complete_else_watch(late, ["a"])
    assert (late.tries, home.watched(), home.num_delayed()) == (0, 0, 0)
    assert home.check_and_complete("a") == 0
    assert home.cancel_for_key("a") == []


def test_operations_that_raise(
    home: DelayedOperationPurgatory, caplog: pytest.LogCaptureFixture
) -> None:
    """One keeps no other from its turn."""

    def fail(operation: Scripted) -> bool:
        if operation.tries > 2:
            raise ValueError("bad attempt")
        return False

    bad, good = Scripted(50, attempt=fail), Operation()
    home.try_complete_else_watch(bad, ["a"])
    home.try_complete_else_watch(good, ["a"])
    good.completable = True
    assert home.check_and_complete("a") == 1
    assert home.statistics().errors == 1
    assert "bad attempt" in caplog.text
    home.advance_clock(50)
    assert bad.events == ["complete", "expiration"], "its time runs on"


@pytest.mark.parametrize("fails_in_try", [1, 2])
def test_an_operation_that_raises_when_it_comes_is_not_watched(
    home: DelayedOperationPurgatory, fails_in_try: int
) -> None:
    def fail(operation: Scripted) -> bool:
        if operation.tries == fails_in_try:
            raise ValueError("bad attempt")
        return False

    with pytest.raises(ValueError, match="bad attempt"):
        home.try_complete_else_watch(Scripted(attempt=fail), ["a", "b"])
    assert (home.watched(), home.num_delayed(), home.statistics().errors) == (0, 0, 0)
    assert home.entered == home.left


def test_an_operation_that_raises_when_it_comes_again_stays_as_it_was(
    home: DelayedOperationPurgatory,
) -> None:
    def fail(operation: Scripted) -> bool:
        if operation.tries == 4:
            raise ValueError("bad attempt")
        return False

    operation = Scripted(50, attempt=fail)
    home.try_complete_else_watch(operation, ["a", "b"])
    with pytest.raises(ValueError, match="bad attempt"):
        home.try_complete_else_watch(operation, ["c", "d", "e"])
    assert (home.watched(), home.num_delayed(), home.left) == (2, 1, 0)
    home.advance_clock(50)
    assert operation.events == ["complete", "expiration"]
    home._check()


def test_unhashable_and_hostile_keys(home: DelayedOperationPurgatory) -> None:
    class Hostile:
        def __hash__(self) -> int:
            return 5

        def __eq__(self, other: object) -> bool:
            raise RuntimeError("not comparable")

    with pytest.raises(TypeError, match="unhashable"):
        home.try_complete_else_watch(Operation(), ["a", []])
    assert (home.watched(), home.num_delayed()) == (0, 0)
    assert home.entered == home.left
    home.try_complete_else_watch(Operation(), [key := Hostile()])
    home.try_complete_else_watch(Operation(), [key])
    with pytest.raises(RuntimeError, match="not comparable"):
        home.try_complete_else_watch(Operation(), ["a", 5, Hostile()])
    assert home.watched() == 2
    home._check()


def test_keys_are_told_apart_by_equality(home: DelayedOperationPurgatory) -> None:
    @dataclass(frozen=True)
    class Key:
        number: int

        def __hash__(self) -> int:
            return 7

    operations = {number: Operation(completable=False) for number in range(10)}
    for number, operation in operations.items():
        home.try_complete_else_watch(operation, [Key(number), (number, "tuple"), float(number)])
        operation.completable = True
    home._check()
    for number, operation in operations.items():
        key = [Key(number), (number, "tuple"), number][number % 3]
        assert home.check_and_complete(key) == 1
        assert operation.completions == 1
    assert home.watched() == 0


def test_memory_of_watch_lists_comes_back(timer: ManualTimer) -> None:
    """P.10."""
    home = DelayedOperationPurgatory("test", timer=timer, reaper_enabled=False, purge_interval=10)
    operations = [Operation() for _ in range(200)]
    for operation in operations:
        home.try_complete_else_watch(operation, ["one key"])
    assert home.statistics().keys == 1
    home._check()
    for operation in operations[::-1]:
        operation.force_complete()
    home.advance_clock(0)
    home._check()
    home.try_complete_else_watch(operation := Operation(), ["one key"])
    operation.completable = True
    assert home.check_and_complete("one key") == 1
    home._check()


@pytest.mark.parametrize(
    "make",
    [
        lambda: DelayedOperationPurgatory("bad", purge_interval=0),
        lambda: DelayedOperationPurgatory("bad", timer=ManualTimer()),
        lambda: DelayedOperationPurgatory("bad", timer=SystemTimer("t", reaper_enabled=False)),
    ],
)
def test_bad_arguments(make: Callable[[], DelayedOperationPurgatory]) -> None:
    with pytest.raises(IllegalArgumentError, match=r"purge_interval|reaper_enabled"):
        make()
