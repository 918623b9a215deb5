"""The purgatory against lists, step by step, with methods that come back to it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, precondition, rule

from flinkish.common.errors import RejectedExecutionError
from flinkish.purgatory import DelayedOperation, DelayedOperationPurgatory, ManualTimer
from tests.models.purgatory import OperationModel, PurgatoryModel

# Few keys, so that lists are shared; 1, 1.0 and True are one key, -1 and -2 have one hash.
KEYS = st.sampled_from(["a", "b", 1, 1.0, True, -1, -2, ("t", 1), None, frozenset([3])])
SOME_KEYS = st.lists(KEYS, min_size=1, max_size=5)


class Twin(DelayedOperation):
    """An operation with its model."""

    def __init__(self, delay: int, machine: PurgatoryMachine) -> None:
        super().__init__(delay)
        self.model = OperationModel(delay)
        self.machine = machine
        self.completions = 0
        self.expirations = 0

    def try_complete(self) -> bool:
        return self.force_complete() if self.model.completable else False

    def on_complete(self) -> None:
        self.completions += 1
        assert not self.force_complete()
        assert not self.safe_try_complete()
        # What it must not find: itself.  Nobody else is completable but those of this check.
        self.machine.home.check_and_complete("nobody")

    def on_expiration(self) -> None:
        self.expirations += 1
        assert self.completions == 1


class PurgatoryMachine(RuleBasedStateMachine):
    """Every rule does the same to both."""

    operations: Bundle[Twin] = Bundle("operations")

    def __init__(self) -> None:
        super().__init__()
        self.timer = ManualTimer(wheel_size=4)
        self.home = DelayedOperationPurgatory(
            "model", timer=self.timer, reaper_enabled=False, purge_interval=3
        )
        self.model = PurgatoryModel()
        self.twins: list[Twin] = []

    @rule(target=operations, delay=st.integers(-1, 40))
    def make(self, delay: int) -> Twin:
        twin = Twin(delay, self)
        self.twins.append(twin)
        return twin

    @rule(twin=operations, keys=SOME_KEYS, completable=st.booleans())
    def watch(self, twin: Twin, keys: list[Any], completable: bool) -> None:
        twin.model.completable = completable and twin.delay_ms % 3 == 0
        if self.model.closed and not twin.model.completed:
            with pytest.raises(RejectedExecutionError):
                self.home.try_complete_else_watch(twin, keys)
        else:
            expected = self.model.watch(twin.model, keys)
            assert self.home.try_complete_else_watch(twin, keys) is expected

    @rule(twin=operations, completable=st.booleans())
    def turn(self, twin: Twin, completable: bool) -> None:
        twin.model.completable = completable

    @rule(key=KEYS)
    def check(self, key: Any) -> None:
        assert self.home.check_and_complete(key) == self.model.check(key)

    @rule(key=KEYS)
    def cancel(self, key: Any) -> None:
        found: list[Twin] = self.home.cancel_for_key(key)
        expected = self.model.cancel(key)
        assert len(found) == len(expected)
        assert {id(twin.model) for twin in found} == {id(model) for model in expected}

    @rule(twin=operations)
    def force(self, twin: Twin) -> None:
        assert twin.force_complete() is twin.model.complete()

    @rule(twin=operations)
    def attempt(self, twin: Twin) -> None:
        assert twin.safe_try_complete() is twin.model.attempt()

    @rule(twin=operations)
    def stop_its_timer(self, twin: Twin) -> None:
        assert twin.cancel() is (twin.model.deadline is not None)
        twin.model.deadline = None

    @rule(millis=st.integers(0, 30))
    def advance(self, millis: int) -> None:
        assert self.home.advance_clock(millis) is bool(self.model.advance(millis))

    @precondition(lambda self: len(self.twins) > 20)
    @rule()
    def shut_down(self) -> None:
        self.home.shutdown()
        self.model.shutdown()

    @invariant()
    def agree(self) -> None:
        self.home._check()
        assert self.home.watched() == self.model.watched()
        assert self.home.num_delayed() == self.model.delayed()
        for twin in self.twins:
            assert twin.is_completed() is twin.model.completed
            assert twin.completions == twin.model.completed
            assert twin.expirations == twin.model.expired


TestPurgatoryMachine = PurgatoryMachine.TestCase
