"""ProcessOperator: functions without keys, fact B.26."""

from collections.abc import Iterator
from typing import Any

import pytest

from flinkish.common import OutputTag, Row, StreamRecord, Types, Watermark
from flinkish.common.errors import ArgumentTypeError, UnsupportedOperationError
from flinkish.functions import AggregateFunction, ProcessFunction, RuntimeContext
from flinkish.operators import ProcessOperator
from flinkish.operators.unkeyed_context import values_of
from flinkish.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from flinkish.testing import OneInputStreamOperatorTestHarness, ProcessFunctionTestHarnesses

TAG = OutputTag("odd", Types.LONG())


class Average(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Halve(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        timers = ctx.timer_service()
        if value % 2:
            yield TAG, value
        else:
            yield (
                value // 2, ctx.timestamp(), timers.current_watermark(),
                timers.current_processing_time(),
            )  # fmt: skip


def test_values_side_outputs_and_clocks() -> None:
    with ProcessFunctionTestHarnesses.for_process_function(Halve()) as harness:
        harness.process_element(4, 10)
        harness.process_watermark(20)
        harness.set_processing_time(30)
        harness.process_elements([5, 6])
        assert harness.get_output() == [
            StreamRecord((2, 10, -(1 << 63), 0), 10),
            Watermark(20),
            StreamRecord((3, None, 20, 30), None),
        ]
        assert harness.get_side_output(TAG) == [StreamRecord(5, None)]
        assert harness.get_metric("numRecordsIn") == 3


@pytest.mark.parametrize(
    "method",
    [
        "register_event_time_timer",
        "register_processing_time_timer",
        "delete_event_time_timer",
        "delete_processing_time_timer",
    ],
)
def test_timers_are_refused(method: str) -> None:
    """B.26."""

    class Timers(ProcessFunction):
        def process_element(self, value: int, ctx: ProcessFunction.Context) -> Any:
            getattr(ctx.timer_service(), method)(value)

    harness = ProcessFunctionTestHarnesses.for_process_function(Timers())
    with pytest.raises(UnsupportedOperationError, match="keyed stream"):
        harness.process_element(5)


@pytest.mark.parametrize(
    ("method", "descriptor"),
    [
        ("get_state", ValueStateDescriptor("s")),
        ("get_list_state", ListStateDescriptor("s")),
        ("get_map_state", MapStateDescriptor("s")),
        ("get_reducing_state", ReducingStateDescriptor("s", max)),
        ("get_aggregating_state", AggregatingStateDescriptor("s", Average())),
    ],
)
def test_keyed_state_is_refused(method: str, descriptor: Any) -> None:
    class States(Halve):
        def open(self, runtime_context: RuntimeContext) -> None:
            getattr(runtime_context, method)(descriptor)

    with pytest.raises(UnsupportedOperationError, match="has no keys"):
        ProcessFunctionTestHarnesses.for_process_function(States())


def test_errors_have_a_note_and_the_function_is_closed() -> None:
    closed: list[bool] = []

    class Fails(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            yield value
            raise LookupError(value)

        def close(self) -> None:
            closed.append(True)

    harness = ProcessFunctionTestHarnesses.for_process_function(Fails())
    with pytest.raises(LookupError) as caught:
        harness.process_element(1)
    (note,) = caught.value.__notes__  # type: ignore[attr-defined]
    assert note == "raised in Fails.process_element for an element of timestamp None"
    assert harness.extract_output_values() == [1]
    harness.close()
    assert closed == [True]


def test_what_is_no_function_and_no_output() -> None:
    with pytest.raises(ArgumentTypeError, match="ProcessFunction"):
        ProcessOperator(Halve)  # type: ignore[arg-type]

    class Text(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            return value

    harness = OneInputStreamOperatorTestHarness(ProcessOperator(Text()))
    harness.open()
    harness.process_element([1, 2])
    harness.process_element(None)
    assert harness.extract_output_values() == [1, 2]
    for wrong in ("text", b"bytes", 7, Row(1)):
        with pytest.raises(ArgumentTypeError, match=r"returned .* of type .*; yield each output"):
            harness.process_element(wrong)
        with pytest.raises(ArgumentTypeError, match=r"flat_map returned .*; yield each output"):
            values_of(wrong, "flat_map")
