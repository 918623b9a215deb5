"""CoBroadcastWithKeyedOperator: what Flink's CoBroadcastWithKeyedOperatorTest pins."""

from collections.abc import Iterator
from typing import Any

import pytest

from flinkish.common import Duration, OutputTag, StreamRecord, Types, Watermark
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    IllegalStateError,
    UnsupportedOperationError,
)
from flinkish.functions import KeyedBroadcastProcessFunction, RuntimeContext
from flinkish.operators import CoBroadcastWithKeyedOperator
from flinkish.state import (
    BroadcastState,
    ListStateDescriptor,
    MapStateDescriptor,
    ReadOnlyBroadcastState,
    StateTtlConfig,
    ValueStateDescriptor,
)
from flinkish.testing import (
    KeyedTwoInputStreamOperatorTestHarness,
    ProcessFunctionTestHarnesses,
)
from flinkish.time import TimeDomain

RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
SEEN = ListStateDescriptor("rules", Types.LONG())  # keyed state of the same name
SIDE = OutputTag("side")


class Limits(KeyedBroadcastProcessFunction):
    """Yields elements above the limit of their kind; keeps all; a timer tells the limits."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_list_state(SEEN)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        assert isinstance(ctx, KeyedBroadcastProcessFunction.ReadOnlyContext)
        rules = ctx.get_broadcast_state(RULES)
        assert isinstance(rules, ReadOnlyBroadcastState)
        assert not isinstance(rules, BroadcastState)
        _, kind, number = value
        self.seen.add(number)
        if kind in rules and number > rules[kind]:
            yield ctx.get_current_key(), kind, number, ctx.timestamp(), ctx.current_watermark()
        if kind == "timer":
            ctx.timer_service().register_event_time_timer(number)
        if kind == "write":
            rules.clear()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        assert isinstance(ctx, KeyedBroadcastProcessFunction.Context)
        rules = ctx.get_broadcast_state(RULES)
        assert isinstance(rules, BroadcastState)
        command, *arguments = value
        if command == "all":
            found: dict[Any, Any] = {}
            ctx.apply_to_keyed_state(SEEN, lambda key, state: found.update({key: state.get()}))
            yield found
        elif command == "keyed":
            self.seen.add(1)
        else:
            getattr(rules, command)(*arguments)
            yield SIDE, (ctx.timestamp(), sorted(rules.items()), len(list(rules.values())))

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        assert isinstance(ctx, KeyedBroadcastProcessFunction.OnTimerContext)
        assert ctx.time_domain() is TimeDomain.EVENT_TIME
        rules = ctx.get_broadcast_state(RULES)
        yield ctx.get_current_key(), timestamp, sorted(rules), rules.is_empty()


def opened() -> Any:
    return ProcessFunctionTestHarnesses.for_keyed_broadcast_process_function(
        Limits(), lambda value: value[0], [RULES]
    )


def test_keyed_elements_see_what_was_broadcast() -> None:
    harness = opened()
    harness.process_element1(("a", "x", 5), 1)
    harness.process_element2(("put", "x", 3), 2)
    harness.process_element1(("a", "x", 5), 3)
    harness.process_element1(("b", "x", 4), 4)
    harness.process_element2(("put_all", {"x": 4, "y": 0}))
    harness.process_element1(("b", "x", 4), 5)
    harness.process_element2(("remove", "x"), 6)
    harness.process_element1(("b", "x", 9), 7)
    harness.process_element1(("b", "y", 9))
    assert harness.get_output() == [
        StreamRecord(("a", "x", 5, 3, -(2**63)), 3),
        StreamRecord(("b", "x", 4, 4, -(2**63)), 4),
        StreamRecord(("b", "y", 9, None, -(2**63)), None),
    ]
    assert harness.get_side_output(SIDE) == [
        StreamRecord((2, [("x", 3)], 1), 2),
        StreamRecord((None, [("x", 4), ("y", 0)], 2), None),
        StreamRecord((6, [("y", 0)], 1), 6),
    ]


def test_timers_fire_at_the_lower_watermark_and_read() -> None:
    harness = opened()
    harness.process_element1(("a", "timer", 10), 1)
    harness.process_element2(("put", "x", 3), 2)
    harness.process_watermark1(20)
    harness.process_watermark2(10)
    assert harness.get_output() == [
        StreamRecord(("a", 10, ["x"], False), 10),
        Watermark(10),
    ]


def test_apply_to_keyed_state_visits_every_key() -> None:
    harness = opened()
    for number in range(300):
        harness.process_element1((number % 100, "x", number))
    harness.process_element2(("all",))
    assert harness.extract_output_values() == [
        {key: [key, key + 100, key + 200] for key in range(100)}
    ]


def test_broadcast_state_moves_with_every_key_group() -> None:
    before = opened()
    before.process_element2(("put", "x", 3))
    before.process_element1(("a", "x", 1))
    snapshot = before.snapshot()
    for index in range(3):
        after = KeyedTwoInputStreamOperatorTestHarness(
            CoBroadcastWithKeyedOperator(Limits(), [RULES]),
            lambda value: value[0],
            None,
            num_subtasks=3,
            subtask_index=index,
        )
        after.initialize_state(after.repartition_operator_state(snapshot, 128, 1, 3, index))
        after.open()
        after.process_element2(("put", "y", 1), 5)
        assert after.get_side_output(SIDE)[0].value[1] == [("x", 3), ("y", 1)]


def test_what_is_refused() -> None:
    harness = opened()
    with pytest.raises(UnsupportedOperationError, match="process_broadcast_element"):
        harness.process_element1(("a", "write", 1))
    with pytest.raises(IllegalStateError) as caught:
        harness.process_element2(("keyed",))
    assert "Limits.process_broadcast_element" in caught.value.__notes__[0]
    for wrong in ([], [RULES, RULES]):
        with pytest.raises(IllegalArgumentError, match="at least one MapStateDescriptor"):
            CoBroadcastWithKeyedOperator(Limits(), wrong)
    with pytest.raises(ArgumentTypeError, match="MapStateDescriptor"):
        CoBroadcastWithKeyedOperator(Limits(), [ValueStateDescriptor("x")])  # type: ignore[list-item]
    with pytest.raises(ArgumentTypeError, match="KeyedBroadcastProcessFunction"):
        CoBroadcastWithKeyedOperator(Limits, [RULES])  # type: ignore[arg-type]
    brief = MapStateDescriptor("brief")
    brief.enable_time_to_live(StateTtlConfig.new_builder(Duration.of_seconds(1)).build())
    with pytest.raises(UnsupportedOperationError, match="time to live"):
        CoBroadcastWithKeyedOperator(Limits(), [brief])
    other = ProcessFunctionTestHarnesses.for_keyed_broadcast_process_function(
        Limits(), lambda value: value[0], [MapStateDescriptor(f"{RULES.get_name()}s")]
    )
    asked = f"there is no broadcast state.*; did you mean '{RULES.get_name()}s'"
    with pytest.raises(IllegalArgumentError, match=asked):
        other.process_element1(("a", "x", 1))
