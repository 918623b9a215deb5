"""What windows call, and windows of the user's own: fact C.29."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from flinkish.common import StreamRecord
from flinkish.functions import (
    AggregateFunction,
    ReduceFunction,
    WindowFunction,
)
from flinkish.operators import WindowOperatorBuilder as Builder
from flinkish.testing import KeyedOneInputStreamOperatorTestHarness
from flinkish.windowing import (
    CountTrigger,
    EventTimeTrigger,
    GlobalWindows,
    NeverTrigger,
    SlidingEventTimeWindows,
    Trigger,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from tests.operators.windowed import Elements, harness_of, records


class Sum(AggregateFunction):
    def create_accumulator(self) -> list[int]:
        return [0]

    def add(self, value: Any, accumulator: list[int]) -> list[int]:
        accumulator[0] += value[1]
        return accumulator

    def get_result(self, accumulator: list[int]) -> int:
        return accumulator[0]

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return [acc_a[0] + acc_b[0]]


class Plus(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1[0], value1[1] + value2[1]


class Named(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterator[Any]:
        yield key, window.end, list(inputs)


def feed(harness: KeyedOneInputStreamOperatorTestHarness[Any]) -> list[Any]:
    for value, time in (("a", 1), ("b", 2), ("a", 4), ("a", 11)):
        harness.process_element((value, time), time)
    harness.process_watermark(30)
    return records(harness)


@pytest.mark.parametrize(
    ("put_together", "expected"),
    [
        (lambda b: b.apply(Named()), [("a", 10, [("a", 1), ("a", 4)]), ("b", 10, [("b", 2)])]),
        (lambda b: b.reduce(Plus()), [("a", 5), ("b", 2)]),
        (lambda b: b.reduce(lambda x, y: (x[0], max(x[1], y[1]))), [("a", 4), ("b", 2)]),
        (lambda b: b.reduce(Plus(), Named()), [("a", 10, [("a", 5)]), ("b", 10, [("b", 2)])]),
        (lambda b: b.reduce(Plus(), Elements()), [("a", 0, [5]), ("b", 0, [2])]),
        (lambda b: b.aggregate(Sum()), [5, 2]),
        (lambda b: b.aggregate(Sum(), Named()), [("a", 10, [5]), ("b", 10, [2])]),
    ],
)
def test_functions_of_windows(put_together: Any, expected: list[Any]) -> None:
    with harness_of(put_together(Builder(TumblingEventTimeWindows.of(10)))) as harness:
        assert feed(harness)[:2] == expected
        assert harness.num_keyed_state_entries() == 0


def test_one_window_for_all() -> None:
    """C.29."""
    builder = Builder(GlobalWindows.create()).trigger(CountTrigger.of(2))
    with harness_of(builder.aggregate(Sum())) as harness:
        for value in (1, 2, 3, 4):
            harness.process_element(("k", value), value)
        assert harness.extract_output_stream_records() == [
            StreamRecord(3, (1 << 63) - 1),
            StreamRecord(10, (1 << 63) - 1),
        ]
        assert harness.num_event_time_timers() == 0
    silent = Builder(GlobalWindows.create()).process(Elements())
    assert isinstance(silent.definition.trigger, NeverTrigger)
    ending = Builder(GlobalWindows.create_with_end_of_stream_trigger())
    with harness_of(ending.aggregate(Sum())) as harness:
        harness.process_element(("k", 5), 1)
        harness.process_watermark(1 << 62)
        assert records(harness) == []
        harness.process_watermark((1 << 63) - 1)
        assert records(harness) == [5]


def test_batches_are_the_same_as_elements() -> None:
    builder = Builder(SlidingEventTimeWindows.of(10, 5))
    with harness_of(builder.process(Elements())) as single:
        expected = feed(single)
    with harness_of(builder.process(Elements())) as harness:
        values = [("a", 1), ("b", 2), ("a", 4), ("a", 11)]
        harness.operator.process_batch(values, [1, 2, 4, 11])
        harness.process_watermark(30)
        assert records(harness) == expected


class Numbered:
    """A window of the user's own, and its serializer."""

    def __init__(self, number: int) -> None:
        self.number = number

    def max_timestamp(self) -> int:
        return self.number * 10 + 9

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Numbered) and other.number == self.number

    def __hash__(self) -> int:
        return self.number


class NumberedSerializer:
    def serialize(self, element: Numbered, stream: Any) -> None:
        stream.write(element.number.to_bytes(4, "big"))

    def deserialize(self, stream: Any) -> Numbered:
        return Numbered(int.from_bytes(stream.read(4), "big"))


class NumberedWindows(WindowAssigner):
    def assign_windows(self, element: Any, timestamp: Any, context: Any) -> Any:
        return [Numbered(timestamp // 10)]

    def get_default_trigger(self, env: Any = None) -> Trigger:
        return EventTimeTrigger.create()

    def get_window_serializer(self) -> Any:
        return NumberedSerializer()

    def is_event_time(self) -> bool:
        return True


class NamesNumbers(WindowFunction):
    def apply(self, key: Any, window: Numbered, inputs: Iterable[Any]) -> Iterator[Any]:
        yield key, window.number, len(list(inputs))


def test_windows_of_the_users_own() -> None:
    builder = Builder(NumberedWindows())
    with harness_of(builder.apply(NamesNumbers())) as harness:
        assert feed(harness) == [("a", 0, 2), ("b", 0, 1), ("a", 1, 1)]
