"""KeyedCoProcessOperator: what Flink's KeyedCoProcessOperatorTest pins."""

from collections.abc import Iterator
from typing import Any

import pytest

from flinkish.common import OutputTag, Row, StreamRecord, Types, Watermark
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    NullKeyError,
    UnsupportedOperationError,
)
from flinkish.functions import KeyedCoProcessFunction, RuntimeContext
from flinkish.operators import KeyedCoProcessOperator
from flinkish.state import ValueStateDescriptor
from flinkish.testing import (
    KeyedOneInputStreamOperatorTestHarness,
    KeyedTwoInputStreamOperatorTestHarness,
    ProcessFunctionTestHarnesses,
)
from flinkish.time import TimeDomain

REST = OutputTag("rest")
LOWEST = -(1 << 63)


class Latest(KeyedCoProcessFunction):
    """Keeps the second input's latest; yields it with each of the first's, and after 10 ms."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.latest = runtime_context.get_state(ValueStateDescriptor("latest", Types.STRING()))

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        assert isinstance(ctx, KeyedCoProcessFunction.Context)
        timers = ctx.timer_service()
        yield ctx.get_current_key(), value[1], self.latest.value(), timers.current_watermark()
        if ctx.timestamp() is not None:
            timers.register_event_time_timer(ctx.timestamp() + 10)
        timers.register_processing_time_timer(timers.current_processing_time() + 5)

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
        before = self.latest.value()
        self.latest.update(value["name"])
        return [] if before is None else [(REST, before)]

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[Any]:
        assert isinstance(ctx, KeyedCoProcessFunction.OnTimerContext)
        yield ctx.get_current_key(), timestamp, self.latest.value(), ctx.time_domain()


def opened(**options: Any) -> Any:
    harness = KeyedTwoInputStreamOperatorTestHarness(
        KeyedCoProcessOperator(Latest()), lambda value: value[0], lambda row: row["id"], **options
    )
    harness.open()
    return harness


def test_both_inputs_share_the_state_of_a_key() -> None:
    harness = opened()
    harness.process_element1((1, "a"), 5)
    harness.process_element2(Row(id=1, name="one"), 6)
    harness.process_element2(Row(id=2, name="two"), 7)
    harness.process_element1((1, "b"), 8)
    harness.process_element2(Row(id=1, name="uno"), 9)
    assert harness.get_output() == [
        StreamRecord((1, "a", None, LOWEST), 5),
        StreamRecord((1, "b", "one", LOWEST), 8),
    ]
    assert harness.get_side_output(REST) == [StreamRecord("one", 9)]


def test_timers_fire_at_the_lower_watermark() -> None:
    harness = opened()
    harness.process_element1((1, "a"), 5)
    harness.process_element2(Row(id=1, name="one"), 6)
    harness.process_watermark1(100)
    assert len(harness.get_output()) == 1
    harness.process_watermark2(14)
    harness.process_watermark2(15)
    harness.process_element1((2, "late"))
    assert harness.get_output()[1:] == [
        Watermark(14),
        StreamRecord((1, 15, "one", TimeDomain.EVENT_TIME), 15),
        Watermark(15),
        StreamRecord((2, "late", None, 15), None),
    ]


def test_processing_time_timers() -> None:
    harness = opened()
    harness.process_element1((1, "a"))
    harness.set_processing_time(5)
    assert harness.get_output()[1:] == [
        StreamRecord((1, 5, None, TimeDomain.PROCESSING_TIME), None)
    ]


def test_a_snapshot_moves_to_other_subtasks() -> None:
    """Keys of both inputs are divided alike (Flink: B.17)."""
    before = opened()
    for key in range(20):
        before.process_element2(Row(id=key, name=f"n{key}"), 1)
        before.process_element1((key, "x"), 1)
    snapshot = before.snapshot()
    found = []
    for index in range(3):
        after = KeyedTwoInputStreamOperatorTestHarness(
            KeyedCoProcessOperator(Latest()),
            lambda value: value[0],
            lambda row: row["id"],
            num_subtasks=3,
            subtask_index=index,
        )
        after.initialize_state(after.repartition_operator_state(snapshot, 128, 1, 3, index))
        after.open()
        after.process_both_watermarks(11)
        found += [value[0::2] for value in after.extract_output_values()]
    assert sorted(found) == [(key, f"n{key}") for key in range(20)]


class Fails(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
        return "text"

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
        raise ValueError("no")


def test_errors_say_which_input() -> None:
    harness = ProcessFunctionTestHarnesses.for_keyed_co_process_function(
        Fails(), lambda value: value, lambda value: value, Types.LONG()
    )
    with pytest.raises(ArgumentTypeError, match="process_element1 returned 'text'"):
        harness.process_element1(1)
    with pytest.raises(ValueError, match="no") as caught:
        harness.process_element2(2)
    assert "Fails.process_element2 for the key 2" in caught.value.__notes__[0]
    with pytest.raises(NullKeyError):
        harness.process_element2(None)


def test_what_is_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="process_element1, process_element2"):
        KeyedCoProcessOperator(object())  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="make an instance"):
        KeyedCoProcessOperator(Latest)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="two inputs"):
        KeyedTwoInputStreamOperatorTestHarness(Latest(), str, str)  # type: ignore[type-var]
    with pytest.raises(ArgumentTypeError, match="key_selector2"):
        KeyedTwoInputStreamOperatorTestHarness(
            KeyedCoProcessOperator(Latest()),
            str,
            "id",  # type: ignore[arg-type]
        )
    with pytest.raises(IllegalArgumentError, match="key_selector2"):
        KeyedOneInputStreamOperatorTestHarness(KeyedCoProcessOperator(Latest()), str)
    harness = opened()
    with pytest.raises(UnsupportedOperationError, match="process_element1 or process_element2"):
        harness.process_element((1, "a"))
    with pytest.raises(UnsupportedOperationError, match="process_batch"):
        harness.operator.process_batch([(1, "a")])
