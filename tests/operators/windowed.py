"""What tests of the window operator share."""

from collections.abc import Iterable, Iterator
from typing import Any

from flinkish.functions import AggregateFunction, ProcessWindowFunction
from flinkish.operators import WindowOperator
from flinkish.testing import KeyedOneInputStreamOperatorTestHarness
from flinkish.windowing import Trigger, TriggerResult


def harness_of(
    operator: WindowOperator, **options: Any
) -> KeyedOneInputStreamOperatorTestHarness[Any]:
    """An opened harness whose elements are (key, value) pairs."""
    harness = KeyedOneInputStreamOperatorTestHarness(operator, lambda value: value[0], **options)
    harness.open()
    return harness


def records(harness: KeyedOneInputStreamOperatorTestHarness[Any]) -> list[Any]:
    """Values of the main output."""
    harness.operator.table._check()
    return harness.extract_output_values()


class Elements(ProcessWindowFunction):
    """(key, start of the window if it has one, second fields of the elements)."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield key, getattr(context.window(), "start", 0), [element[1] for element in elements]


class Script(Trigger):
    """Answers as told, and remembers what it was asked."""

    def __init__(
        self,
        results: Iterable[TriggerResult] = (),
        event: Iterable[TriggerResult] = (),
        timers: Iterable[tuple[str, int]] = (),
        deletes: Iterable[tuple[str, int]] = (),
    ) -> None:
        self.results = list(results)
        self.event = list(event)
        self.timers = list(timers)
        self.deletes = list(deletes)
        self.calls: list[tuple[Any, ...]] = []
        self.cleared: list[Any] = []
        self.merged: list[Any] = []

    def on_element(self, element: Any, timestamp: Any, window: Any, ctx: Any) -> TriggerResult:
        self.calls.append(("element", window, element))
        for clock, time in self.timers:
            getattr(ctx, f"register_{clock}_time_timer")(time)
        for clock, time in self.deletes:
            getattr(ctx, f"delete_{clock}_time_timer")(time)
        return self.results.pop(0) if self.results else TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        self.calls.append(("event", window, time))
        return self.event.pop(0) if self.event else TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        self.calls.append(("processing", window, time))
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Any) -> None:
        self.merged.append(window)

    def clear(self, window: Any, ctx: Any) -> None:
        self.cleared.append(window)


class Spans(ProcessWindowFunction):
    """(key, start, end, sorted values)."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        window = context.window()
        yield key, window.start, window.end, sorted(element[1] for element in elements)


class Gather(AggregateFunction):
    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        return [*accumulator, value[1]]

    def get_result(self, accumulator: list[Any]) -> list[Any]:
        return sorted(accumulator)

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        return acc_a + acc_b


def give(harness: KeyedOneInputStreamOperatorTestHarness[Any], *times: int) -> None:
    for time in times:
        harness.process_element(("k", time), time)
        harness.operator.table._check()
