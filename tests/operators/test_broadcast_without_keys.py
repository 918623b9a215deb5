"""CoBroadcastWithNonKeyedOperator: what Flink's CoBroadcastWithNonKeyedOperatorTest pins."""

from collections.abc import Iterator
from typing import Any

import pytest

from flinkish.common import OutputTag, StreamRecord, Types, Watermark
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    RuntimeContext,
)
from flinkish.operators import CoBroadcastWithNonKeyedOperator
from flinkish.state import (
    BroadcastState,
    MapStateDescriptor,
    ReadOnlyBroadcastState,
    ValueStateDescriptor,
)
from flinkish.testing import (
    KeyedTwoInputStreamOperatorTestHarness,
    ProcessFunctionTestHarnesses,
    TwoInputStreamOperatorTestHarness,
)

RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
NAMES = MapStateDescriptor("names", Types.STRING(), Types.STRING())
SIDE = OutputTag("side")


class Rules(BroadcastProcessFunction[Any, Any, Any]):
    """Yields elements above the limit of their kind, and what the clocks say."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.task = runtime_context.get_task_name_with_subtasks()
        with pytest.raises(UnsupportedOperationError, match="has no keys"):
            runtime_context.get_state(ValueStateDescriptor("kept"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        assert isinstance(ctx, BroadcastProcessFunction.ReadOnlyContext)
        assert not hasattr(ctx, "timer_service")
        rules = ctx.get_broadcast_state(RULES)
        assert isinstance(rules, ReadOnlyBroadcastState)
        assert not isinstance(rules, BroadcastState)
        kind, number = value
        if kind == "write":
            rules.clear()
        if kind == "times":
            yield ctx.timestamp(), ctx.current_watermark(), ctx.current_processing_time()
        if kind in rules and number > rules[kind]:
            yield kind, number, ctx.get_broadcast_state(NAMES).get(kind)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        assert isinstance(ctx, BroadcastProcessFunction.Context)
        kind, limit, name = value
        rules = ctx.get_broadcast_state(RULES)
        assert isinstance(rules, BroadcastState)
        rules.put(kind, limit)
        ctx.get_broadcast_state(NAMES).put(kind, name)
        yield SIDE, (self.task, sorted(rules), ctx.timestamp())


def opened() -> Any:
    return ProcessFunctionTestHarnesses.for_broadcast_process_function(Rules(), [RULES, NAMES])


def test_elements_see_what_was_broadcast() -> None:
    harness = opened()
    harness.process_element1(("x", 5), 1)
    harness.process_element2(("x", 3, "rule x"), 2)
    harness.process_element1(("x", 5), 3)
    harness.process_element1(("x", 2), 4)
    harness.process_element2(("y", 0, "rule y"))
    harness.process_element1(("y", 1))
    assert harness.get_output() == [
        StreamRecord(("x", 5, "rule x"), 3),
        StreamRecord(("y", 1, "rule y"), None),
    ]
    task = "CoBroadcastWithNonKeyedOperator (1/1)"
    assert harness.get_side_output(SIDE) == [
        StreamRecord((task, ["x"], 2), 2),
        StreamRecord((task, ["x", "y"], None), None),
    ]
    assert harness.get_metric("numRecordsIn") == 6


def test_the_clocks_and_the_lower_watermark() -> None:
    harness = opened()
    harness.set_processing_time(7)
    harness.process_watermark1(20)
    harness.process_watermark2(10)
    harness.process_element1(("times", 0), 15)
    harness.process_both_watermarks(30)
    assert harness.get_output() == [
        Watermark(10),
        StreamRecord((15, 10, 7), 15),
        Watermark(30),
    ]


def test_every_subtask_has_the_state_after_a_restore() -> None:
    """Flink: testScaleUp and testScaleDown."""
    cut = KeyedTwoInputStreamOperatorTestHarness.repartition_operator_state
    before = opened()
    before.process_element2(("x", 3, "rule x"))
    parts = []
    for index in range(3):
        after = TwoInputStreamOperatorTestHarness(
            CoBroadcastWithNonKeyedOperator(Rules(), [RULES, NAMES]),
            num_subtasks=3,
            subtask_index=index,
        )
        after.initialize_state(cut(before.snapshot(), 128, 1, 3, index))
        after.open()
        after.process_element2(("y", 1, "rule y"))
        after.process_element1(("x", 9))
        assert after.extract_output_values() == [("x", 9, "rule x")]
        parts.append(after.snapshot())
    whole = TwoInputStreamOperatorTestHarness(
        CoBroadcastWithNonKeyedOperator(Rules(), [RULES, NAMES])
    )
    whole.initialize_state(KeyedTwoInputStreamOperatorTestHarness.repackage_state(*parts))
    whole.open()
    whole.process_element1(("x", 9))
    whole.process_element1(("y", 9))
    assert whole.extract_output_values() == [("x", 9, "rule x"), ("y", 9, "rule y")]


class Keyed(KeyedBroadcastProcessFunction[str, Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> None: ...

    def process_broadcast_element(self, value: Any, ctx: Any) -> None: ...


def test_what_is_refused() -> None:
    harness = opened()
    with pytest.raises(UnsupportedOperationError, match="process_broadcast_element") as caught:
        harness.process_element1(("write", 1), 5)
    assert caught.value.__notes__ == [
        "raised in Rules.process_element for timestamp 5 "
        "(1970-01-01 00:00:00.005000+00:00), of task "
        "CoBroadcastWithNonKeyedOperator (1/1)"
    ]
    with pytest.raises(ArgumentTypeError, match="call key_by before connect"):
        CoBroadcastWithNonKeyedOperator(Keyed(), [RULES])  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="needs a BroadcastProcessFunction"):
        CoBroadcastWithNonKeyedOperator(Rules, [RULES])  # type: ignore[arg-type]
    with pytest.raises(IllegalArgumentError, match="at least one MapStateDescriptor"):
        CoBroadcastWithNonKeyedOperator(Rules(), [])
    with pytest.raises(UnsupportedOperationError, match="does not say which"):
        harness.process_element(("x", 1))
