"""The asynchronous operator through random schedules: every element is emitted exactly once.

Attempts end in any order and more than once, the clock jumps, mails run one at a time, snapshots
are taken and restored into new operators.  A restore goes back: what was emitted since is undone,
as a sink that commits with the checkpoint would.
"""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from flinkish.functions import AsyncRetryStrategy, ResultFuture
from flinkish.operators import AsyncWaitOperator
from tests.operators.async_rig import Manual, Stage

TIMEOUT, BACKOFF = 40, 15


def wants_another(results: list[Any]) -> bool:
    return bool(results[0][0] == "again")


class Logged(Manual):
    """Answers by ("done", value) or ("timeout", value)."""

    def __init__(self) -> None:
        super().__init__()
        self.futures: list[tuple[int, ResultFuture]] = []

    def async_invoke(self, value: int, result_future: ResultFuture) -> None:
        assert value not in self.timeouts, "an attempt after the timeout"
        self.futures.append((value, result_future))


class AsyncWaitMachine(RuleBasedStateMachine):
    @initialize(
        mode=st.sampled_from(["ordered", "unordered"]),
        capacity=st.sampled_from([1, 2, 5]),
        retries=st.sampled_from([0, 1, 3]),
    )
    def start(self, mode: str, capacity: int, retries: int) -> None:
        self.mode, self.capacity, self.retries = mode, capacity, retries
        self.given: list[Any] = []  # values, and watermarks as "W5"
        self.kept: tuple[bytes | None, int, int] = (None, 0, 0)
        self.stage = self.stage_of(None, 0)
        self.before: list[Any] = []  # what earlier stages have emitted, and is kept

    def stage_of(self, snapshot: bytes | None, capacity: int) -> Stage:
        self.fn = Logged()
        retry = (
            AsyncRetryStrategy.fixed_delay(self.retries, BACKOFF, wants_another, lambda error: True)
            if self.retries
            else None
        )
        operator = AsyncWaitOperator(
            self.fn,
            timeout=TIMEOUT,
            capacity=capacity or self.capacity,
            mode=self.mode,
            retry=retry,
            on_failure=lambda value, error, attempts: [("failed", value)],
        )
        return Stage(operator, snapshot)

    @property
    def started(self) -> bool:
        return hasattr(self, "stage")

    @precondition(lambda self: self.stage.operator.is_available())
    @rule()
    def element(self) -> None:
        self.given.append(len(self.given))
        self.stage.give(self.given[-1])

    @precondition(lambda self: self.stage.operator.is_available())
    @rule()
    def watermark(self) -> None:
        self.given.append(f"W{len(self.given)}")
        self.stage.give(self.given[-1])

    @precondition(lambda self: self.fn.futures)
    @rule(data=st.data(), how=st.sampled_from(["done", "done", "fail", "again", "supply"]))
    def end_an_attempt(self, data: st.DataObject, how: str) -> None:
        """Of any attempt, also those that are over."""
        value, future = data.draw(st.sampled_from(self.fn.futures[-8:]))
        self.end(value, future, how)

    def end(self, value: int, future: ResultFuture, how: str) -> None:
        if how == "done":
            future.complete([("done", value)])
        elif how == "supply":
            future.complete(lambda: [("done", value)])
        elif how == "fail":
            future.complete_exceptionally(KeyError())
        else:
            future.complete([("again", value)])

    @precondition(lambda self: self.fn.timeouts)
    @rule(data=st.data())
    def end_a_timeout(self, data: st.DataObject) -> None:
        value = data.draw(st.sampled_from(sorted(self.fn.timeouts)))
        self.fn.timeouts[value].complete([("timeout", value)])

    @rule(count=st.integers(1, 3))
    def mails(self, count: int) -> None:
        for _ in range(count):
            self.stage.mailbox.step()

    @rule(delta=st.sampled_from([1, BACKOFF, TIMEOUT - BACKOFF, TIMEOUT]))
    def time(self, delta: int) -> None:
        self.stage.clock.advance(delta)

    @rule()
    def checkpoint(self) -> None:
        emitted = len(self.before) + len(self.stage.values)
        self.kept = (self.stage.operator.snapshot_state(1), len(self.given), emitted)

    @rule(capacity=st.sampled_from([1, 2, 5]))
    def restart(self, capacity: int) -> None:
        snapshot, given, emitted = self.kept
        everything = self.before + self.stage.values
        self.stage.close()
        self.before = everything[:emitted]
        del self.given[given:]
        self.stage = self.stage_of(snapshot, capacity)

    @invariant()
    def emitted_once_and_in_order(self) -> None:
        if not self.started:
            return
        assert self.stage.failures == []
        self.stage.operator._queue._check()
        out = [one if isinstance(one, str) else one[1] for one in self.before + self.stage.values]
        seen = [one for one in out if isinstance(one, int)]
        assert len(set(seen)) == len(seen)
        watermarks = [one for one in self.given if isinstance(one, str)]
        assert [one for one in out if isinstance(one, str)] == watermarks[: len(out) - len(seen)]
        if self.mode == "ordered":
            assert out == self.given[: len(out)]
        else:
            for at, one in enumerate(out):
                if isinstance(one, str):
                    later = self.given[self.given.index(one) :]
                    assert not set(out[:at]) & set(later)

    def teardown(self) -> None:
        """Whatever has happened, all comes out in the end."""
        if not self.started:
            return
        for _ in range(20 * len(self.given) + 20):
            for value, future in list(self.fn.futures):
                self.end(value, future, "done")
            for value, future in list(self.fn.timeouts.items()):
                future.complete([("timeout", value)])
            self.stage.run()
            if not self.stage.operator._unemitted():
                break
            self.stage.clock.advance(BACKOFF)
        assert self.stage.operator._unemitted() == []
        self.emitted_once_and_in_order()
        out = [one if isinstance(one, str) else one[1] for one in self.before + self.stage.values]
        assert sorted(map(str, out)) == sorted(map(str, self.given))
        assert self.stage.operator.statistics().timers == 0
        assert self.stage.clock.num_active_timers == 0
        self.stage.close()


AsyncWaitMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=50)
TestAsyncWait = AsyncWaitMachine.TestCase
