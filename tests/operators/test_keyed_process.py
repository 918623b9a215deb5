"""KeyedProcessOperator: facts B.25, B.26, and what the original's tests of it pin."""

from collections.abc import Iterator
from typing import Any

import pytest

from flinkish.common import OutputTag, Row, StreamRecord, Watermark
from flinkish.common.errors import (
    ArgumentTypeError,
    FlinkishError,
    NullKeyError,
    UnsupportedOperationError,
)
from flinkish.functions import KeyedProcessFunction
from flinkish.operators import KeyedProcessOperator, OperatorEnvironment
from flinkish.testing import (
    KeyedOneInputStreamOperatorTestHarness,
    OneInputStreamOperatorTestHarness,
    ProcessFunctionTestHarnesses,
)
from flinkish.time import TimeDomain, TimerService
from tests.testing.functions import Count, Script

LOWEST = -(1 << 63)
TAG = OutputTag("side")


def harness_of(function: KeyedProcessFunction, **options: Any) -> Any:
    harness = KeyedOneInputStreamOperatorTestHarness(
        KeyedProcessOperator(function), lambda value: value[0], **options
    )
    harness.open()
    return harness


def test_timer_output_carries_the_timers_time_and_comes_before_the_watermark() -> None:
    """B.25."""
    harness = harness_of(Count())
    harness.process_watermark(0)
    harness.process_element(("k",), 5)
    harness.process_watermark(15)
    assert harness.get_output() == [
        Watermark(0),
        StreamRecord(("k", 1), 5),
        StreamRecord(("k", 1, "EVENT_TIME"), 15),
        Watermark(15),
    ]


def test_processing_timer_output_has_no_timestamp() -> None:
    """B.25."""
    harness = harness_of(Count())
    harness.set_processing_time(7)
    harness.process_element(("k",), 5)
    harness.set_processing_time(17)
    assert harness.get_output()[1:] == [StreamRecord(("k", 1, "PROCESSING_TIME"), None)]


class Clocks(KeyedProcessFunction):
    """Yields what the context says, and asks for a timer in each clock."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        timers = ctx.timer_service()
        yield ctx.timestamp(), timers.current_watermark(), timers.current_processing_time()
        timers.register_event_time_timer(100)
        timers.register_processing_time_timer(200)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        timers = ctx.timer_service()
        yield ctx.timestamp(), timers.current_watermark(), timers.current_processing_time()
        assert isinstance(ctx, KeyedProcessFunction.OnTimerContext)
        assert isinstance(timers, TimerService)
        assert timestamp == ctx.timestamp()
        assert (
            ctx.time_domain()
            is {100: TimeDomain.EVENT_TIME, 200: TimeDomain.PROCESSING_TIME}[timestamp]
        )


def test_timestamps_watermark_and_processing_time_are_told() -> None:
    """B.25: ctx.timestamp() is None for a record without one."""
    harness = harness_of(Clocks())
    harness.process_element((1,))
    harness.process_watermark(17)
    harness.set_processing_time(42)
    harness.process_element((1,), 5)
    harness.process_watermark(101)
    harness.set_processing_time(203)
    assert harness.extract_output_values() == [
        (None, LOWEST, 0),
        (5, 17, 42),
        (100, 101, 42),
        (200, 101, 203),
    ]


class Registers(KeyedProcessFunction):
    """on_timer does what the test says."""

    def __init__(self, steps: dict[int, Any]) -> None:
        self.steps = steps

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(value[1])

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp
        if timestamp in self.steps:
            self.steps[timestamp](ctx.timer_service())


def test_timers_registered_and_deleted_by_a_timer() -> None:
    """B.7, B.8: also at its own time, and in the past."""
    harness = harness_of(
        Registers(
            {
                10: lambda timers: timers.register_event_time_timer(3),
                3: lambda timers: timers.delete_event_time_timer(12),
                11: lambda timers: (
                    timers.delete_event_time_timer(11),
                    timers.register_event_time_timer(20),
                ),
            }
        )
    )
    harness.process_elements([("a", 10), ("a", 12), ("b", 12), ("b", 11)])
    harness.process_watermark(15)
    assert harness.extract_output_values() == [("a", 10), ("a", 3), ("b", 11), ("b", 12)]
    assert harness.num_event_time_timers() == 1
    harness.process_watermark(20)
    assert harness.extract_output_values()[4:] == [("b", 20)]


def test_equal_timestamps_fire_in_the_order_of_registration() -> None:
    harness = harness_of(Registers({}))
    keys = [f"key {at * 7919 % 100}" for at in range(100)]
    harness.process_elements([(key, 10) for key in keys])
    harness.process_elements([(key, 10) for key in reversed(keys)])
    harness.process_watermark(10)
    assert [key for key, _ in harness.extract_output_values()] == keys


def test_the_end_of_the_data_fires_all_event_timers() -> None:
    """B.28: a bounded input ends with the highest watermark; clocks that go on do not count."""
    harness = harness_of(Registers({10: lambda timers: timers.register_event_time_timer(1 << 62)}))
    harness.process_elements([("a", 10), ("b", 5)])
    harness.end_input()
    harness.process_watermark(Watermark.MAX_WATERMARK)
    assert harness.extract_output_values() == [("b", 5), ("a", 10), ("a", 1 << 62)]
    assert harness.num_event_time_timers() == 0


def test_processing_timers_in_order_of_time() -> None:
    harness = harness_of(Script())
    harness.process_elements([("a", "later", 30, 10), ("b", "later", 20)])
    assert harness.operator.environment.processing_time_service.num_active_timers == 1
    harness.set_processing_time(25)
    assert [at for _, at, _ in harness.extract_output_values()] == [10, 20]
    assert harness.num_processing_time_timers() == 1


def test_late_elements_reach_the_function_and_are_counted() -> None:
    harness = harness_of(Count())
    harness.process_watermark(10)
    for at in (10, 11, 9, None):
        harness.process_element(("k",), at)
    assert len(harness.extract_output_values()) == 4
    assert harness.get_metric("numLateRecords") == 2
    assert harness.get_metric("numRegisteredTimers") == 4
    harness.process_watermark(50)
    assert harness.get_metric("numFiredTimers") == 3


class Sides(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield "main", value
        yield TAG, value
        yield TAG, "another", value  # three are no pair of a tag and a value
        yield OutputTag("other"), (TAG, value)
        ctx.timer_service().register_event_time_timer(10)
        ctx.timer_service().register_processing_time_timer(10)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        return [(TAG, timestamp), Row("main", timestamp)]


def test_side_outputs() -> None:
    """B.25 holds for them, too."""
    harness = harness_of(Sides())
    value = ("k",)
    harness.process_element(value, 5)
    harness.process_watermark(10)
    harness.set_processing_time(10)
    assert harness.get_side_output(TAG) == [
        StreamRecord(value, 5),
        StreamRecord(10, 10),
        StreamRecord(10, None),
    ]
    assert harness.get_side_output(OutputTag("other")) == [StreamRecord((TAG, value), 5)]
    assert harness.extract_output_values() == [
        ("main", value),
        (TAG, "another", value),
        Row("main", 10),
        Row("main", 10),
    ]


class Returns(KeyedProcessFunction):
    """Returns what the element holds."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        return value[1]


@pytest.mark.parametrize(
    ("returned", "values"),
    [(None, []), ([], []), ([1, None], [1, None]), ((1, 2), [1, 2]), (range(2), [0, 1])],
)
def test_what_a_function_may_return(returned: Any, values: list[Any]) -> None:
    harness = harness_of(Returns())
    harness.process_element(("k", returned))
    harness.process_element(("k", iter(returned or ())))
    assert harness.extract_output_values() == values * 2


@pytest.mark.parametrize("returned", ["text", b"bytes", {"a": 1}, 5, Row(1, 2)])
def test_one_value_is_to_be_yielded(returned: Any) -> None:
    harness = harness_of(Returns())
    with pytest.raises(ArgumentTypeError, match="yield each output"):
        harness.process_element(("k", returned))


# --- set-up


def test_without_keys_the_operator_is_refused() -> None:
    """B.18, B.26."""
    with pytest.raises(UnsupportedOperationError, match="KeyedProcessOperator needs keys"):
        OneInputStreamOperatorTestHarness(KeyedProcessOperator(Count()))
    with pytest.raises(UnsupportedOperationError, match="key_by"):
        KeyedProcessOperator(Count()).setup(Nowhere())


class Nowhere:
    def emit(self, element: Any) -> None:
        pass

    def emit_side(self, tag: Any, record: Any) -> None:
        pass


def test_without_a_clock_there_are_no_processing_timers() -> None:
    operator = KeyedProcessOperator(Count())
    operator.setup(Nowhere(), OperatorEnvironment(key_selector=lambda value: value[0]))
    operator.initialize_state()
    operator.open()
    with pytest.raises(FlinkishError, match="without a processing-time service"):
        operator.process_element(StreamRecord(("k",), 1))
    operator.close()


def test_what_is_no_function() -> None:
    for wrong in (Count, None, len):
        with pytest.raises(ArgumentTypeError, match="needs a KeyedProcessFunction"):
            KeyedProcessOperator(wrong)  # type: ignore[arg-type]


def test_a_key_of_none_is_named() -> None:
    harness = harness_of(Count())
    with pytest.raises(NullKeyError, match=r"must not be null.*\(None, 'x'\)") as caught:
        harness.process_element((None, "x"))
    assert caught.value.value == (None, "x")
    with pytest.raises(ArgumentTypeError, match="dict has no Java hash"):
        harness.process_element(({1: 2}, "x"))


def test_the_task_is_cancelled() -> None:
    """B.14."""
    cancelled: list[bool] = []
    harness = harness_of(
        Registers({2: lambda timers: cancelled.append(True)}), is_cancelled=lambda: bool(cancelled)
    )
    harness.process_elements([("k", at) for at in (1, 2, 3)])
    harness.process_watermark(9)
    assert harness.extract_output_values() == [("k", 1), ("k", 2)]
    assert not any(isinstance(element, Watermark) for element in harness.get_output())
    harness.process_watermark(10)
    assert harness.num_event_time_timers() == 1


def test_a_function_may_use_its_harness_of_another() -> None:
    inner = ProcessFunctionTestHarnesses.for_keyed_process_function(Count(), lambda v: v[0])

    class Outer(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            inner.process_element(value, 1)
            return inner.extract_output_values()[-1:]

    harness = harness_of(Outer())
    harness.process_elements([("a",), ("a",)])
    assert harness.extract_output_values() == [("a", 1), ("a", 2)]
