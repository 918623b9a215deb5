"""One operation: completed once, under its lock, and never in a deadlock."""

import threading
import time

import pytest

from flinkish.common.errors import DeadlockError, IllegalStateError
from flinkish.purgatory import DelayedOperationPurgatory, ManualTimer, TimerTaskState
from tests.purgatory.operations import Operation, Scripted, ended, in_thread
from tests.waiting import PATIENCE


def purgatory(timer: ManualTimer | None = None, **options: bool) -> DelayedOperationPurgatory:
    """One without threads."""
    timer = timer or ManualTimer()
    home = DelayedOperationPurgatory("test", timer=timer, reaper_enabled=False, **options)
    home.patience_ms = 600_000  # tests that try it set their own
    return home


def until_waited_for(operation: Operation, threads: int = 1) -> None:
    """Return when so many threads wait for the operation's lock."""
    while operation._waiters < threads:
        time.sleep(0.001)


def test_the_first_force_complete_wins() -> None:
    """P.1: it cancels the timer and runs `on_complete`."""
    timer, operation = ManualTimer(), Operation(10)
    timer.add(operation)
    assert operation.force_complete()
    assert not operation.force_complete()
    assert operation.is_completed()
    assert operation.completions == 1
    assert timer.size() == 0
    assert operation.state is TimerTaskState.CANCELLED
    timer.advance_clock(10)
    assert operation.expirations == 0


def test_expiry_completes_first() -> None:
    """P.1: `on_complete`, then `on_expiration`."""
    timer, operation = ManualTimer(), Operation(10)
    timer.add(operation)
    timer.advance_clock(10)
    assert operation.events == ["complete", "expiration"]
    assert operation.state is TimerTaskState.EXPIRED


def test_safe_try_complete_or_else() -> None:
    """P.2 [DelayedOperationTest.testSafeTryCompleteOrElse]."""
    ran = []
    operation = Operation()
    assert not operation.safe_try_complete_or_else(lambda: ran.append("action"))
    assert (operation.tries, ran) == (2, ["action"])

    def make_completable() -> None:
        operation.completable = True

    assert operation.safe_try_complete_or_else(make_completable)
    assert operation.tries == 4
    assert operation.completions == 1
    other = Operation(completable=True)
    assert other.safe_try_complete_or_else(lambda: ran.append("not run"))
    assert (other.tries, ran) == (1, ["action"])
    assert not other.safe_try_complete()
    assert other.tries == 1, "a completed operation is not tried"


def test_the_lock_is_held_over_try_action_try() -> None:
    """P.2, P.3 [testLockInTryCompleteElseWatch]: nobody else tries in between."""
    inside, others = threading.Event(), []
    operation = Operation()
    purgatory().try_complete_else_watch(operation, ["key"])  # whose patience does not end

    def try_from_elsewhere() -> None:
        others.append(in_thread(operation.safe_try_complete))
        others.append(in_thread(operation.force_complete))
        inside.wait(0.05)
        assert operation.tries == 3
        assert operation.completions == 0
        assert all(thread.is_alive() for thread in others)

    assert not operation.safe_try_complete_or_else(try_from_elsewhere)
    for thread in others:
        ended(thread)
    assert operation.completions == 1


def test_on_complete_never_runs_beside_try_complete() -> None:
    """P.5."""
    running, overlaps = threading.Lock(), []

    def attempt(operation: Scripted) -> bool:
        if not running.acquire(blocking=False):
            overlaps.append("try")
        time.sleep(0.0005)
        running.release()
        return False

    def complete(operation: Scripted) -> None:
        if not running.acquire(blocking=False):
            overlaps.append("complete")
        else:
            running.release()

    for _ in range(20):
        operation = Scripted(attempt=attempt, complete=complete)
        threads = [in_thread(operation.safe_try_complete) for _ in range(3)]
        threads.append(in_thread(operation.force_complete))
        for thread in threads:
            ended(thread)
        assert operation.completions == 1
    assert overlaps == []


def test_an_operation_may_complete_itself_in_any_of_its_methods() -> None:
    operation = Scripted(
        attempt=lambda self: self.force_complete(),
        complete=lambda self: (self.force_complete(), self.safe_try_complete()),
    )
    assert operation.safe_try_complete()
    assert operation.completions == 1


def test_what_on_complete_raises_reaches_who_completed() -> None:
    def fail(operation: Scripted) -> None:
        raise ValueError("no")

    operation = Scripted(complete=fail)
    with pytest.raises(ValueError, match="no"):
        operation.force_complete()
    assert operation.is_completed()
    assert not operation.force_complete()
    assert operation.completions == 1
    ended(in_thread(operation.safe_try_complete))  # the lock is free


def test_what_on_complete_raises_does_not_stop_on_expiration(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(operation: Scripted) -> None:
        raise ValueError("no")

    timer, operation = ManualTimer(), Scripted(5, complete=fail)
    timer.add(operation)
    timer.advance_clock(5)
    assert operation.events == ["complete", "expiration"]
    assert timer.statistics().errors == 1


def test_a_false_success_is_an_error() -> None:
    operation = Scripted(attempt=lambda self: True)
    with pytest.raises(IllegalStateError, match="force_complete"):
        operation.safe_try_complete()


def test_waiters_get_the_lock_in_their_order() -> None:
    order: list[int] = []
    entered, go_on = threading.Event(), threading.Event()

    def hold(operation: Scripted) -> bool:
        if operation.tries < 3:  # it comes into the purgatory, whose patience does not end
            return False
        if not entered.is_set():
            entered.set()
            go_on.wait(PATIENCE)
        else:
            order.append(int(threading.current_thread().name))
        return False

    operation = Scripted(attempt=hold)
    purgatory().try_complete_else_watch(operation, ["key"])
    first = in_thread(operation.safe_try_complete)
    assert entered.wait(PATIENCE)
    waiting = []
    for number in range(5):
        thread = threading.Thread(target=operation.safe_try_complete, name=str(number))
        thread.start()
        waiting.append(thread)
        until_waited_for(operation, number + 1)
    go_on.set()
    for thread in [first, *waiting]:
        ended(thread)
    assert order == [0, 1, 2, 3, 4]


# --- deadlocks


def test_a_circle_of_operations_is_no_deadlock(caplog: pytest.LogCaptureFixture) -> None:
    """H: KAFKA-5970, 6042.  The attempt that must not wait is made by the other thread."""
    home = purgatory()
    barrier = threading.Barrier(2, timeout=PATIENCE)

    def crossing(other: str) -> Scripted:
        def attempt(self: Scripted) -> bool:
            if self.tries == 3:
                barrier.wait()
                home.check_and_complete(other)
            return self.force_complete() if self.completable else False

        return Scripted(attempt=attempt)

    one, two = crossing("two"), crossing("one")
    home.try_complete_else_watch(one, ["one"])
    home.try_complete_else_watch(two, ["two"])
    threads = [
        in_thread(lambda: home.check_and_complete("one")),
        in_thread(lambda: home.check_and_complete("two")),
    ]
    for thread in threads:
        ended(thread)
    assert home.statistics().deadlocks == 1
    assert one.tries + two.tries == 8, "the attempt that was left was made, and the one waited for"
    assert "left with that thread" in caplog.text


def test_a_completion_that_would_close_a_circle_is_left_with_the_holder() -> None:
    """P.1 holds all the same: once, and `on_expiration` after it."""
    timer, ready = ManualTimer(), threading.Barrier(2, timeout=PATIENCE)
    home = purgatory(timer)
    order: list[str] = []

    def first(self: Scripted) -> bool:
        if self.tries == 3:
            ready.wait()
            two.safe_try_complete()  # waits: the other thread holds it
            order.append("first tried")
        return False

    def second(self: Scripted) -> bool:
        if self.tries == 3:
            ready.wait()
            until_waited_for(two)
            assert one.force_complete()  # must not wait, and yet it is the winner
            assert one.is_completed()
            order.append("second tried")
        return False

    one, two = Scripted(attempt=first), Scripted(attempt=second)
    home.try_complete_else_watch(one, ["one"])
    home.try_complete_else_watch(two, ["two"])
    one_thread = in_thread(one.safe_try_complete)
    two_thread = in_thread(two.safe_try_complete)
    ended(one_thread)
    ended(two_thread)
    assert order == ["second tried", "first tried"]
    assert one.completions == 1
    assert (home.watched(), home.num_delayed()) == (1, 1)
    assert home.statistics().deadlocks == 1


def stuck_behind_a_lock(home: DelayedOperationPurgatory) -> tuple[list[BaseException], Operation]:
    """P.13: one thread checks with a lock in its hands that the operation's attempt wants."""
    trying = threading.Event()
    errors: list[BaseException] = []

    class Lock:
        """Says that it is tried, so that the holder stands at its ``with`` by then."""

        def __init__(self) -> None:
            self.lock = threading.Lock()

        def __enter__(self) -> None:
            trying.set()
            self.lock.acquire()

        def __exit__(self, *_: object) -> None:
            self.lock.release()

    lock = Lock()

    def attempt(self: Scripted) -> bool:
        if self.tries < 3:
            return False
        with lock:
            return self.force_complete() if self.completable else False

    operation = Scripted(attempt=attempt)
    home.try_complete_else_watch(operation, ["key"])
    home.patience_ms = 50
    with lock:
        trying.clear()
        holder = in_thread(lambda: home.check_and_complete("key"))
        assert trying.wait(PATIENCE)
        operation.completable = True
        try:
            home.check_and_complete("key")
        except DeadlockError as error:
            errors.append(error)
    ended(holder)
    return errors, operation


def test_a_lock_of_the_users_is_no_deadlock(caplog: pytest.LogCaptureFixture) -> None:
    """P.13: the remaining deadlock of Kafka."""
    home = purgatory()
    errors, operation = stuck_behind_a_lock(home)
    assert errors == []
    assert operation.completions == 1
    assert home.statistics().deadlocks == 1
    assert "with lock" in caplog.text, "the log shows where the holder is"


def test_debug_mode_raises_where_the_deadlock_was(caplog: pytest.LogCaptureFixture) -> None:
    """P.13."""
    home = purgatory(debug=True)
    errors, operation = stuck_behind_a_lock(home)
    assert len(errors) == 1
    assert "do not hold a lock" in str(errors[0]).lower()
    assert operation.completions == 1, "and nothing was lost"


def test_an_expiry_that_is_stuck_is_left_with_the_holder() -> None:
    """P.1, P.13: the timer's thread goes on, and both methods run, in their order."""
    timer = ManualTimer()
    home = purgatory(timer)
    home.patience_ms = 20
    trying, go_on = threading.Event(), threading.Event()

    def attempt(self: Scripted) -> bool:
        if self.tries == 3:
            trying.set()
            go_on.wait(PATIENCE)
        return False

    operation = Scripted(10, attempt=attempt)
    home.try_complete_else_watch(operation, ["key"])
    holder = in_thread(lambda: home.check_and_complete("key"))
    assert trying.wait(PATIENCE)
    home.advance_clock(10)
    assert operation.is_completed()
    assert operation.events == []
    go_on.set()
    ended(holder)
    assert operation.events == ["complete", "expiration"]
    assert (home.watched(), home.num_delayed()) == (0, 0)


def test_what_was_left_raises_where_it_is_served() -> None:
    """Without a purgatory to report to, the holder gets it, and the lock is free all the same."""
    ready = threading.Barrier(2, timeout=PATIENCE)
    left = threading.Event()
    errors: list[BaseException] = []

    def fail() -> None:
        raise ValueError("served")

    def first(self: Scripted) -> bool:
        ready.wait()
        two.safe_try_complete()  # waits, until the other thread has left its request
        return False

    def second(self: Scripted) -> bool:
        if not left.is_set():
            ready.wait()
            until_waited_for(two)
            assert not one.safe_try_complete_or_else(fail)
            left.set()
        return False

    def run_first() -> None:
        try:
            one.safe_try_complete()
        except ValueError as error:
            errors.append(error)

    one = Scripted(attempt=lambda self: first(self) if self.tries == 1 else False)
    two = Scripted(attempt=second)
    one_thread = in_thread(run_first)
    ended(in_thread(two.safe_try_complete))
    ended(one_thread)
    assert [str(error) for error in errors] == ["served"]
    assert one.force_complete()
