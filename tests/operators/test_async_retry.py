"""Retries, and where they meet timeouts, step by step (Flink: D.15 - D.20)."""

import itertools
from typing import Any

import pytest

from flinkish.common.errors import AsyncTimeoutError, DeadlockError
from flinkish.functions import AsyncRetryPredicate, AsyncRetryStrategy
from flinkish.functions.async_retry import RetryPredicate, empty_result_predicate
from flinkish.operators import AsyncWaitOperator
from tests.operators.async_rig import Defaulting, Manual, Stage

RETRY = AsyncRetryStrategy.fixed_delay(2, 10, empty_result_predicate, lambda error: True)


def staged(fn: Any = None, snapshot: bytes | None = None, **settings: Any) -> tuple[Manual, Stage]:
    fn = Manual() if fn is None else fn
    settings = {"timeout": 100, "retry": RETRY, **settings}
    return fn, Stage(AsyncWaitOperator(fn, **settings), snapshot)


def test_an_element_keeps_its_place_while_it_is_tried_again() -> None:
    """D.18: attempts start at 1; max_attempts counts the attempts behind the first."""
    fn, stage = staged()
    stage.give(1, 2)
    fn.done(2)
    assert fn.attempts[1][0].attempt == 1
    fn.failed(1, KeyError())
    stage.at(9)
    assert len(fn.attempts[1]) == 1
    stage.at(10)
    assert fn.attempts[1][1].attempt == 2
    fn.attempts[1][1].complete([])
    stage.at(20)
    assert fn.attempts[1][2].attempt == 3
    assert stage.values == []
    fn.done(1, "third")
    stage.run()
    assert stage.values == ["third", 2]
    assert stage.operator.statistics().retried == 2
    assert stage.clock.num_active_timers == 0


def test_after_the_last_attempt_its_end_counts() -> None:
    """D.18: be it an error or what the predicate does not like."""
    fn, stage = staged(retry=AsyncRetryStrategy.fixed_delay(1, 10, empty_result_predicate))
    stage.give(1)
    fn.attempts[1][0].complete([])
    stage.at(10)
    fn.attempts[1][1].complete([])
    stage.run()
    assert len(stage.operator._unemitted()) == 0
    fn, stage = staged(retry=AsyncRetryStrategy.fixed_delay(1, 10))
    stage.give(1)
    fn.failed(1, KeyError())
    stage.at(10)
    fn.failed(1, ValueError("last"))
    stage.run()
    assert isinstance(stage.failures[0], ValueError)
    assert "attempt 2" in stage.failures[0].__notes__[0]


def test_what_the_predicates_do_not_name_is_not_tried_again() -> None:
    """D.18."""
    strategy = AsyncRetryStrategy.fixed_delay(
        5, 10, exception_predicate=lambda error: isinstance(error, OSError)
    )
    fn, stage = staged(retry=strategy)
    stage.give(1, 2)
    fn.failed(1, KeyError())
    fn.attempts[2][0].complete([])
    stage.at(50)
    assert [len(futures) for futures in fn.attempts.values()] == [1, 1]
    assert isinstance(stage.failures[0], KeyError)


class Neither(AsyncRetryStrategy):
    """A user's strategy without predicates."""

    def can_retry(self, current_attempts: int) -> bool:
        return True

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return 1

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return RetryPredicate()


@pytest.mark.parametrize("strategy", [Neither(), AsyncRetryStrategy.no_restart()])
@pytest.mark.parametrize("timeout", [None, 100])
def test_without_predicates_nothing_is_tried_again(
    strategy: AsyncRetryStrategy, timeout: int | None
) -> None:
    """D.17: and no timeout is asked for."""
    fn, stage = staged(retry=strategy, timeout=timeout)
    stage.give(1)
    fn.failed(1, KeyError())
    stage.at(50)
    assert len(fn.attempts[1]) == 1
    assert isinstance(stage.failures[0], KeyError)


def test_a_predicate_that_raises_fails_the_task() -> None:
    def broken(result: Any) -> bool:
        raise ZeroDivisionError

    fn, stage = staged(retry=AsyncRetryStrategy.fixed_delay(1, 1, result_predicate=broken))
    stage.give(1, 2)
    fn.done(1)
    stage.run()
    assert "raised by the retry predicate" in stage.failures[0].__notes__[0]


def test_each_element_has_a_back_off_of_its_own() -> None:
    """D.20: elements that fail alternately do not disturb each other's sequence."""
    strategy = AsyncRetryStrategy.exponential_backoff(4, 10, 1_000, 2.0)
    fn, stage = staged(retry=strategy, timeout=10_000)
    stage.give("a", "b")
    starts: dict[str, list[int]] = {"a": [], "b": []}
    for time in range(0, 160, 5):
        stage.at(time)
        for value in "ab":
            if len(fn.attempts[value]) > len(starts[value]):
                starts[value].append(time)
                fn.failed(value, KeyError())
                stage.run()
    assert starts == {"a": [0, 10, 30, 70, 150], "b": [0, 10, 30, 70, 150]}


def test_end_input_tries_what_waits_at_once_and_then_no_more() -> None:
    """D.15."""
    fn, stage = staged()
    stage.give(1, 2)
    fn.failed(1, KeyError())
    stage.run()
    stage.executor.execute(lambda: fn.done(2), "2 is done")
    stage.executor.execute(lambda: fn.failed(1, ValueError()), "1 fails again")
    stage.operator.end_input()
    assert len(fn.attempts[1]) == 2
    assert stage.values == [2]
    assert isinstance(stage.failures[0], ValueError)
    stage.at(50)
    assert len(fn.attempts[1]) == 2


def test_drain_goes_on_trying() -> None:
    """Unlike the end of the input: for whoever has no more for now, but is not at the end."""
    fn, stage = staged()
    stage.give(1)
    fn.failed(1, KeyError())
    stage.at(10)
    fn.failed(1, KeyError())
    with pytest.raises(DeadlockError):
        stage.operator.drain()
    stage.at(20)
    fn.done(1)
    stage.operator.drain()
    assert fn.attempts[1][-1].attempt == 3
    assert stage.values == [1]
    stage.give(2)


def test_a_snapshot_knows_no_attempts() -> None:
    """D.12: a restored element starts from its first one."""
    fn, stage = staged()
    stage.give(1)
    fn.failed(1, KeyError())
    stage.at(10)
    assert fn.attempts[1][-1].attempt == 2
    again, restored = staged(snapshot=stage.operator.snapshot_state(1))
    assert again.attempts[1][0].attempt == 1
    assert restored.operator.statistics().timers == 1


# --- a retry and a timeout that meet


def test_a_timeout_spans_all_attempts_and_ends_the_waiting_one() -> None:
    """D.19; FLINK-30477: what waits for its next attempt is not tried after the timeout."""
    fn, stage = staged(timeout=15, retry=AsyncRetryStrategy.fixed_delay(9, 10))
    stage.give(1)
    fn.failed(1, KeyError())
    stage.at(10)
    fn.failed(1, KeyError())
    stage.at(15)
    fn.timeouts[1].complete(["timeout"])
    stage.at(500)
    assert len(fn.attempts[1]) == 2
    assert stage.values == ["timeout"]
    assert stage.clock.num_active_timers == 0
    assert stage.operator.statistics().timers == 0


def test_a_failure_that_comes_before_the_timers_mail() -> None:
    """FLINK-38082: the attempt ends first, the timeout's mail runs first: neither is lost."""
    fn, stage = staged(timeout=50)
    stage.give(1)
    stage.clock.set_current_time(50)  # the timer's mail is queued
    assert fn.failed(1, KeyError())  # behind it that of the failure
    assert stage.mailbox.step()
    assert fn.timeouts == {}, "the end of the attempt is on its way"
    stage.run()
    fn.timeouts[1].complete(["timeout"])
    stage.at(500)
    assert stage.values == ["timeout"]
    assert len(fn.attempts[1]) == 1


def test_a_failure_whose_mail_comes_before_the_timers() -> None:
    """The same the other way round: time is over when the failure is settled (the guard, D.19)."""
    fn, stage = staged(timeout=50)
    stage.give(1)
    assert fn.failed(1, KeyError())
    stage.clock.set_current_time(50)
    assert stage.mailbox.step()
    assert list(fn.timeouts) == [1]
    stage.run()
    fn.timeouts[1].complete(["timeout"])
    stage.at(500)
    assert stage.values == ["timeout"]
    assert len(fn.attempts[1]) == 1


def test_a_result_that_comes_after_the_timeout_is_refused() -> None:
    """FLINK-40456: the first one emits, the other does not double it."""
    fn, stage = staged(timeout=50)
    stage.give(1)
    stage.at(50)
    assert not fn.done(1, "too late")
    assert not fn.failed(1, KeyError())
    stage.run()
    assert stage.values == []
    assert fn.timeouts[1].complete(["timeout"])
    assert not fn.timeouts[1].complete(["again"])
    stage.at(500)
    assert stage.values == ["timeout"]
    assert stage.failures == []


def test_a_retry_and_a_timeout_of_the_same_millisecond() -> None:
    """The attempt may start or not; the element ends once, by its timeout."""
    for backoff in (50, 49):
        fn, stage = staged(timeout=50, retry=AsyncRetryStrategy.fixed_delay(9, backoff))
        stage.give(1)
        fn.failed(1, KeyError())
        stage.run()
        stage.at(50)
        assert not fn.done(1, "attempt")
        fn.timeouts[1].complete(["timeout"])
        stage.at(500)
        assert stage.values == ["timeout"]
        assert stage.operator.statistics().timers == 0


def test_what_timeout_gives_is_not_tried_again() -> None:
    """D.19: an error or a result of timeout() that the predicates like ends the element."""
    fn, stage = staged(timeout=50)
    stage.give(1)
    stage.at(50)
    fn.timeouts[1].complete([])
    stage.at(500)
    assert stage.operator._unemitted() == []
    other, stage = staged(Defaulting(), timeout=50)
    stage.give(1)
    stage.at(50)
    stage.at(500)
    assert len(other.attempts[1]) == 1
    assert isinstance(stage.failures[0], AsyncTimeoutError)
    assert stage.operator._unemitted() == []


def test_results_of_an_earlier_attempt_are_refused() -> None:
    """testProcessingTimeRepeatedComplete...WithRetry (D.6): in any order, of any attempt."""
    fn, stage = staged()
    stage.give(1)
    first = fn.attempts[1][0]
    assert first.complete_exceptionally(KeyError())
    assert not first.complete(["again"])
    stage.at(10)
    assert not first.complete(["later"])
    assert fn.done(1, "second")
    assert not first.complete(["much later"])
    stage.at(500)
    assert stage.values == ["second"]
    assert len(fn.attempts[1]) == 2


STEPS = ("fail", "clock to the retry", "clock to the timeout", "mail", "mail", "succeed")


@pytest.mark.parametrize("mode", ["ordered", "unordered"])
def test_every_order_of_a_failure_a_retry_a_timeout_and_a_result(mode: str) -> None:
    """All 360 orders of these steps: each element is emitted once, and nothing is left."""
    for order in sorted(set(itertools.permutations(STEPS))):
        fn, stage = staged(timeout=30, mode=mode, retry=AsyncRetryStrategy.fixed_delay(1, 10))
        stage.give(1, "W1")
        for step in order:
            if step == "fail":
                fn.failed(1, KeyError())
            elif step == "succeed":
                fn.done(1, "attempt")
            elif step == "mail":
                stage.mailbox.step()
            else:
                stage.clock.advance(10 if step.endswith("retry") else 30)
        attempts = len(fn.attempts[1])
        stage.at(1_000)
        fn.done(1, "attempt")
        if 1 in fn.timeouts:
            assert len(fn.attempts[1]) <= max(attempts, 2)
            fn.timeouts[1].complete(["timeout"])
        stage.at(2_000)
        assert stage.values in (["attempt", "W1"], ["timeout", "W1"]), order
        assert (stage.values[0] == "timeout") == (1 in fn.timeouts), order
        assert stage.failures == []
        assert stage.operator.statistics().timers == 0
        assert stage.clock.num_active_timers == 0
