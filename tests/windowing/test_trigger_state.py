"""State of triggers whose windows merge: fact C.13."""

from typing import Any

import pytest

from flinkish.common.errors import ArgumentTypeError, IllegalStateError
from flinkish.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from flinkish.testing import TriggerTestHarness
from flinkish.windowing import NeverTrigger, TimeWindow, TriggerResult
from tests.windowing.triggers import BIG, CONTINUE, ONE, TWO


class Merging(NeverTrigger):
    """Keeps each kind of state."""

    def __init__(self, descriptor: Any) -> None:
        self.descriptor = descriptor

    def on_element(self, element: Any, timestamp: Any, window: Any, ctx: Any) -> TriggerResult:
        ctx.get_partitioned_state(self.descriptor).add(element)
        return CONTINUE

    def on_merge(self, window: Any, ctx: Any) -> None:
        ctx.merge_partitioned_state(self.descriptor)
        self.merged = list(ctx.get_partitioned_state(self.descriptor).get())


class Gather:
    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        return [*accumulator, value]

    def get_result(self, accumulator: list[Any]) -> list[Any]:
        return accumulator

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        return acc_a + acc_b


@pytest.mark.parametrize(
    "descriptor", [ListStateDescriptor("held"), AggregatingStateDescriptor("held", Gather())]
)
def test_state_of_triggers_merges(descriptor: Any) -> None:
    """C.13."""
    trigger = Merging(descriptor)
    harness = TriggerTestHarness(trigger)
    harness.process_element(1, ONE)
    harness.process_element(2, TWO)
    harness.process_element(3, TWO)
    harness.merge_windows(BIG, [ONE, TWO, TimeWindow(9, 10)])
    assert trigger.merged == [1, 2, 3]
    assert harness.num_state_entries() == 1


@pytest.mark.parametrize("descriptor", [ValueStateDescriptor("held"), MapStateDescriptor("held")])
def test_state_that_cannot_merge_is_refused(descriptor: Any) -> None:
    harness = TriggerTestHarness(Merging(descriptor))
    with pytest.raises(ArgumentTypeError, match="'held' cannot be merged"):
        harness.merge_windows(BIG, [ONE])


class Careless(NeverTrigger):
    def on_element(self, element: Any, timestamp: Any, window: Any, ctx: Any) -> TriggerResult:
        ctx.merge_partitioned_state(ListStateDescriptor("held"))
        return CONTINUE


def test_merging_state_elsewhere_is_refused() -> None:
    with pytest.raises(IllegalStateError, match="in on_merge of a trigger only"):
        TriggerTestHarness(Careless()).process_element(1, ONE)
