"""Operators of functions without keys: map, flat_map, filter, and those of two streams."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from flinkish.common import OutputTag, StreamRecord, Types, Watermark
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalStateError,
    UnsupportedOperationError,
)
from flinkish.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    MapFunction,
    RuntimeContext,
)
from flinkish.operators import (
    CoProcessOperator,
    CoStreamFlatMap,
    CoStreamMap,
    StreamFilter,
    StreamFlatMap,
    StreamMap,
    StreamOperator,
)
from flinkish.testing import (
    OneInputStreamOperatorTestHarness,
    TwoInputStreamOperatorTestHarness,
)

ODD = OutputTag("odd", Types.LONG())


def one_input(operator: StreamOperator) -> OneInputStreamOperatorTestHarness[Any]:
    harness = OneInputStreamOperatorTestHarness(operator)
    harness.open()
    return harness


def two_inputs(operator: Any) -> TwoInputStreamOperatorTestHarness[Any]:
    harness = TwoInputStreamOperatorTestHarness(operator)
    harness.open()
    return harness


class Seen:
    """Notes what becomes of a function."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def open(self, runtime_context: RuntimeContext) -> None:
        self.calls.append(f"open {runtime_context.get_index_of_this_subtask()}")

    def close(self) -> None:
        self.calls.append("close")


class Double(Seen, MapFunction):
    def map(self, value: Any) -> Any:
        return None if value is None else value * 2


class Below(Seen, FlatMapFunction):
    def flat_map(self, value: int) -> Iterator[Any]:
        for number in range(value):
            yield (ODD, number) if number % 2 else number


class Positive(Seen, FilterFunction):
    def filter(self, value: int) -> bool:
        return 1 // value > 0


def test_a_map_gives_one_value_for_each() -> None:
    function = Double()
    with one_input(StreamMap(function)) as harness:
        harness.process_element(2, 10)
        harness.process_watermark(11)
        harness.process_element(None, None)
        assert harness.get_output() == [
            StreamRecord(4, 10),
            Watermark(11),
            StreamRecord(None, None),
        ]
    assert function.calls == ["open 0", "close"]


def test_a_flat_map_gives_any_number_and_side_outputs() -> None:
    with one_input(StreamFlatMap(Below())) as harness:
        harness.process_element(3, 10)
        harness.process_element(0, 11)
        assert harness.get_output() == [StreamRecord(0, 10), StreamRecord(2, 10)]
        assert harness.get_side_output(ODD) == [StreamRecord(1, 10)]


def test_a_filter_drops_and_its_error_names_it() -> None:
    with one_input(StreamFilter(Positive())) as harness:
        harness.process_element(1, 5)
        harness.process_element(-1, 6)
        assert harness.get_output() == [StreamRecord(1, 5)]
        with pytest.raises(ZeroDivisionError) as caught:
            harness.process_element(0, 7)
        notes = str(getattr(caught.value, "__notes__", caught.value.args))
        assert "Positive.filter" in notes
        # The operator is as it was.
        harness.process_element(1, 8)
        assert harness.get_output()[-1] == StreamRecord(1, 8)


class Tell(Seen, CoProcessFunction):
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterator[Any]:
        yield "first", value, ctx.timestamp(), ctx.timer_service().current_watermark()

    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
        if value == "timer":
            ctx.timer_service().register_event_time_timer(5)
        return [("second", value)]


class BothMaps(CoMapFunction):
    def map1(self, value: int) -> int:
        return value + 1

    def map2(self, value: str) -> str:
        return value.upper()


class BothFlatMaps(CoFlatMapFunction):
    def flat_map1(self, value: int) -> Iterator[int]:
        yield from range(value)

    def flat_map2(self, value: str) -> Any:
        return None if value == "no" else list(value)


def test_two_streams_without_keys() -> None:
    with two_inputs(CoProcessOperator(Tell())) as harness:
        harness.process_watermark1(20)
        assert harness.get_output() == []  # the lower of both inputs counts
        harness.process_watermark2(10)
        harness.process_element1(1, 12)
        harness.process_element2(2, 13)
        assert harness.get_output() == [
            Watermark(10),
            StreamRecord(("first", 1, 12, 10), 12),
            StreamRecord(("second", 2), 13),
        ]
        with pytest.raises(UnsupportedOperationError, match="keyed stream"):
            harness.process_element2("timer", 14)
        with pytest.raises(UnsupportedOperationError, match="process_element1 or process_element2"):
            harness.operator.process_element(StreamRecord(1))


@pytest.mark.parametrize(
    ("operator", "output"),
    [
        (CoStreamMap(BothMaps()), [3, "AB"]),
        (CoStreamFlatMap(BothFlatMaps()), [0, 1, "a", "b"]),
    ],
)
def test_maps_of_two_streams(operator: Any, output: list[Any]) -> None:
    with two_inputs(operator) as harness:
        harness.process_element1(2, 1)
        harness.process_element2("ab", 1)
        assert [record.value for record in harness.get_output()] == output


def test_what_a_flat_map_may_return() -> None:
    with two_inputs(CoStreamFlatMap(BothFlatMaps())) as harness:
        harness.process_element2("no")
        assert harness.get_output() == []

    class One(FlatMapFunction):
        def flat_map(self, value: Any) -> Any:
            return value

    with (
        one_input(StreamFlatMap(One())) as single,
        pytest.raises(ArgumentTypeError, match="flat_map returned 'ab' of type str; yield"),
    ):
        single.process_element("ab")
    with one_input(StreamFlatMap(One())) as single:
        single.process_element({"a": 1, "b": 2})  # its keys, as PyFlink 2.3 gives them
        assert [record.value for record in single.get_output()] == ["a", "b"]


@pytest.mark.parametrize(
    ("make", "given", "says"),
    [
        (StreamMap, Below(), "StreamMap needs a MapFunction, not .* which has no map"),
        (StreamMap, Double, "make an instance"),
        (StreamFilter, len, "StreamFilter needs a FilterFunction"),
        (CoProcessOperator, Double(), "no process_element1, process_element2"),
    ],
)
def test_what_is_no_function(make: Callable[[Any], StreamOperator], given: Any, says: str) -> None:
    with pytest.raises(ArgumentTypeError, match=says):
        make(given)


def test_nothing_goes_through_an_operator_that_is_not_open() -> None:
    operator = StreamMap(Double())
    with pytest.raises(IllegalStateError):
        operator.process_element(StreamRecord(1))
