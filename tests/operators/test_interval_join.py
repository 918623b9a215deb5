"""IntervalJoinOperator: what Flink's IntervalJoinOperatorTest pins, and a model beside it."""

import random
from collections.abc import Iterator
from threading import Lock
from typing import Any

import pytest

from flinkish.common import OutputTag, StreamRecord, Watermark
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    SerializationError,
    UnsupportedOperationError,
)
from flinkish.functions import ProcessJoinFunction, RuntimeContext
from flinkish.operators import IntervalJoinOperator
from flinkish.state import ValueStateDescriptor
from flinkish.testing import KeyedTwoInputStreamOperatorTestHarness

LATE_LEFT, LATE_RIGHT, BOTH = OutputTag("left"), OutputTag("right"), OutputTag("both")


class Pair(ProcessJoinFunction):
    """Yields the pair with its times."""

    def process_element(
        self, left: Any, right: Any, ctx: ProcessJoinFunction.Context
    ) -> Iterator[Any]:
        assert isinstance(ctx, ProcessJoinFunction.Context)
        assert ctx.get_timestamp() == max(ctx.get_left_timestamp(), ctx.get_right_timestamp())
        yield left[1], right[1], ctx.get_left_timestamp(), ctx.get_right_timestamp()


def harness_of(lower: Any, upper: Any, *options: Any, function: Any = None, **others: Any) -> Any:
    operator = IntervalJoinOperator(function or Pair(), lower, upper, *options, **others)
    harness = KeyedTwoInputStreamOperatorTestHarness(
        operator, lambda value: value[0], lambda value: value[0]
    )
    harness.open()
    return harness


def times(harness: Any) -> list[tuple[int, int]]:
    return sorted((left, right) for _, _, left, right in harness.extract_output_values())


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize(
    ("lower", "upper", "inclusive", "pairs"),
    [
        (-2, -1, (True, True), [(2, 1), (3, 1), (3, 2), (4, 2), (4, 3)]),
        (-1, 1, (True, True), "1-1 1-2 2-1 2-2 2-3 3-2 3-3 3-4 4-3 4-4"),
        (1, 2, (True, True), "1-2 1-3 2-3 2-4 3-4"),
        (-3, -1, (False, False), "3-1 4-2"),
        (-1, 1, (False, False), "1-1 2-2 3-3 4-4"),
        (1, 3, (False, False), "1-3 2-4"),
        (1, 2, (True, False), "1-2 2-3 3-4"),
        (0, 0, (True, True), "1-1 2-2 3-3 4-4"),
    ],
)
def test_bounds(
    lower: int, upper: int, inclusive: tuple[bool, bool], pairs: Any, mirrored: bool
) -> None:
    """Right minus left is within the bounds, whichever came first."""
    if isinstance(pairs, str):
        pairs = [tuple(map(int, pair.split("-"))) for pair in pairs.split()]
    harness = harness_of(lower, upper, *inclusive)
    for at in range(1, 5):
        first, second = harness.process_element1, harness.process_element2
        for process in (second, first) if mirrored else (first, second):
            process(("key", at), at)
    assert times(harness) == sorted(pairs)


def test_output_has_the_later_time_of_the_two() -> None:
    harness = harness_of(-5, 5)
    harness.process_element1(("key", "a"), 10)
    harness.process_element2(("key", "b"), 7)
    harness.process_element2(("key", "c"), 12)
    assert harness.get_output() == [
        StreamRecord(("a", "b", 10, 7), 10),
        StreamRecord(("a", "c", 10, 12), 12),
    ]


def test_the_watermark_is_the_lower_of_both() -> None:
    harness = harness_of(0, 0)
    harness.process_watermark1(5)
    assert harness.get_output() == []
    harness.process_watermark2(3)
    harness.process_watermark2(2)  # not beneath what was
    harness.process_watermark2(9)
    assert harness.get_output() == [Watermark(3), Watermark(5)]


def test_keys_do_not_meet() -> None:
    harness = harness_of(-10, 10)
    harness.process_element1(("a", 1), 1)
    harness.process_element2(("b", 2), 2)
    assert harness.get_output() == []


@pytest.mark.parametrize(
    ("lower", "upper", "left_until", "right_until"),
    [(-2, 3, 13, 12), (1, 4, 14, 10), (-4, -1, 10, 14), (0, 0, 10, 10)],
)
def test_elements_go_when_nothing_can_join_them(
    lower: int, upper: int, left_until: int, right_until: int
) -> None:
    """Left ones at their time plus the upper bound, right ones minus the lower; not before."""
    for number, until in ((1, left_until), (2, right_until)):
        harness = harness_of(lower, upper)
        (harness.process_element1 if number == 1 else harness.process_element2)(("key", 1), 10)
        assert harness.num_event_time_timers() == 1
        harness.process_both_watermarks(until - 1)
        assert harness.num_keyed_state_entries() == 1
        harness.process_both_watermarks(until)
        assert harness.num_keyed_state_entries() == 0
        assert harness.num_event_time_timers() == 0


def test_one_timer_serves_both_inputs() -> None:
    """A left element at 8 and a right one at 10 are due at 10: one timer, both go."""
    harness = harness_of(0, 2)
    harness.process_element1(("key", 1), 8)
    harness.process_element2(("key", 2), 10)
    harness.process_element1(("key", 3), 9)
    assert harness.num_event_time_timers() == 2
    harness.process_both_watermarks(10)
    assert harness.num_keyed_state_entries() == 1  # the left one at 9 may meet one at 11
    harness.process_element2(("key", 4), 11)
    assert times(harness) == [(8, 10), (9, 10), (9, 11)]


def test_late_elements_are_counted() -> None:
    """Behind the watermark; at it they still join."""
    harness = harness_of(-10, 10)
    harness.process_element1(("key", 1), 20)
    harness.process_both_watermarks(15)
    harness.process_element2(("key", 2), 14)
    harness.process_element2(("key", 3), 15)
    assert times(harness) == [(20, 15)]
    assert harness.get_metric("numLateRecordsDropped") == 1


def test_late_elements_go_to_their_side_output() -> None:
    harness = harness_of(
        -10, 10, left_late_data_output_tag=LATE_LEFT, right_late_data_output_tag=LATE_RIGHT
    )
    harness.process_both_watermarks(15)
    harness.process_element1(("key", 1), 14)
    harness.process_element2(("key", 2), 13)
    assert harness.get_side_output(LATE_LEFT) == [StreamRecord(("key", 1), 14)]
    assert harness.get_side_output(LATE_RIGHT) == [StreamRecord(("key", 2), 13)]
    assert harness.get_metric("numLateRecordsDropped") == 0
    assert harness.get_metric("numLateRecords") == 2
    assert harness.num_keyed_state_entries() == 0


def test_a_snapshot_keeps_elements_and_timers() -> None:
    before = harness_of(-1, 1)
    before.process_element1(("key", 1), 1)
    before.process_element2(("other", 2), 2)
    after = KeyedTwoInputStreamOperatorTestHarness(
        IntervalJoinOperator(Pair(), -1, 1), lambda value: value[0], lambda value: value[0]
    )
    after.initialize_state(before.snapshot())
    after.open()
    after.process_element2(("key", 3), 2)
    after.process_element1(("other", 4), 3)
    assert times(after) == [(1, 2), (3, 2)]
    after.process_both_watermarks(100)
    assert after.num_keyed_state_entries() == 0


class Numbered(ProcessJoinFunction):
    """Has state of its own, which grows the table, and a side output."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("all"))

    def process_element(
        self, left: Any, right: Any, ctx: ProcessJoinFunction.Context
    ) -> Iterator[Any]:
        number, text = self.state.value() or (0, "")
        self.state.update((number + 1, text + "x" * 1_000))
        yield number
        yield BOTH, (left, right)


def test_the_function_may_have_state() -> None:
    harness = harness_of(0, 1_000, function=Numbered())
    for at in range(200):
        harness.process_element1(("key", at), at)
    harness.process_element2(("key", "all"), 300)
    assert harness.extract_output_values() == list(range(200))
    sides = harness.get_side_output(BOTH)
    assert [record.value[0][1] for record in sides] == list(range(200))
    assert {record.timestamp for record in sides} == {300}


@pytest.mark.parametrize("seed", range(5))
def test_as_a_nested_loop(seed: int) -> None:
    """Any order of elements and watermarks gives the pairs that a nested loop finds."""
    chance = random.Random(seed)
    lower = chance.randrange(-6, 6)
    upper = lower + chance.randrange(6)
    harness = harness_of(lower, upper)
    taken: list[tuple[int, int, int, int]] = []  # input, key, number, time
    expected = []
    watermark = -(2**63)
    for number in range(400):
        if chance.random() < 0.1:
            risen = number // 4 - chance.randrange(8)
            harness.process_both_watermarks(risen)
            if risen <= watermark:
                continue
            watermark = risen
            stay = {1: max(upper, 0), 2: max(-lower, 0)}
            taken = [one for one in taken if one[3] + stay[one[0]] > watermark]
            continue
        one = (chance.randrange(1, 3), chance.randrange(3), number, number // 4)
        one = (*one[:3], max(0, one[3] - chance.randrange(10)))
        process = harness.process_element1 if one[0] == 1 else harness.process_element2
        process((one[1], number), one[3])
        if one[3] < watermark:
            continue
        for other in taken:
            left, right = (one, other) if one[0] == 1 else (other, one)
            joins = lower <= right[3] - left[3] <= upper
            if other[0] != one[0] and other[1] == one[1] and joins:
                expected.append((left[2], right[2], left[3], right[3]))
        taken.append(one)
    assert harness.extract_output_values() == expected
    assert expected
    harness.process_both_watermarks(1_000)
    assert harness.num_keyed_state_entries() == harness.num_event_time_timers() == 0


def test_extreme_times() -> None:
    """Differences that do not fit 64 bits join nothing; cleanup ends at the highest time."""
    harness = harness_of(-(2**62), 2**62)
    for time in (-(2**63) + 1, 0, 2**63 - 1):
        harness.process_element1(("key", time), time)
        harness.process_element2(("key", time), time)
    assert times(harness) == [(at, at) for at in (-(2**63) + 1, 0, 2**63 - 1)]
    harness.process_both_watermarks(2**63 - 1)
    assert harness.num_keyed_state_entries() == 0


def test_what_is_refused() -> None:
    with pytest.raises(IllegalArgumentError, match="from 2 ms to 1 ms"):
        IntervalJoinOperator(Pair(), 2, 1)
    with pytest.raises(IllegalArgumentError, match="from 2 ms to 1 ms"):
        IntervalJoinOperator(Pair(), 1, 1, lower_bound_inclusive=False)
    with pytest.raises(IllegalArgumentError, match="146 million years"):
        IntervalJoinOperator(Pair(), -(2**63), 1)
    with pytest.raises(ArgumentTypeError, match="ProcessJoinFunction"):
        IntervalJoinOperator(Pair, 0, 1)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="OutputTag"):
        IntervalJoinOperator(Pair(), 0, 1, left_late_data_output_tag="late")  # type: ignore[arg-type]
    harness = harness_of(0, 1)
    with pytest.raises(IllegalArgumentError, match="input 2 has none"):
        harness.process_element2(("key", 1))
    with pytest.raises(UnsupportedOperationError, match="process_element1"):
        harness.process_element(("key", 1), 1)
    with pytest.raises(SerializationError, match="cannot be kept"):
        harness.process_element1(("key", Lock()), 1)


class Fails(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Any:
        raise ValueError("no")


def test_an_error_says_where() -> None:
    harness = harness_of(0, 1, function=Fails())
    harness.process_element1(("key", 1), 1)
    with pytest.raises(ValueError, match="no") as caught:
        harness.process_element2(("key", 2), 2)
    assert "Fails.process_element for the key 'key', timestamp 2" in caught.value.__notes__[0]
