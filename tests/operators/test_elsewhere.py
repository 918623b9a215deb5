"""State and timers that another thread, or a forked child, gets of a function are refused there."""

import copy
import pickle
from collections.abc import Callable, Iterator
from threading import Event, Thread
from typing import Any

import pytest

from flinkish.common import Types
from flinkish.common.errors import IllegalStateError
from flinkish.functions import (
    AggregateFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    RuntimeContext,
)
from flinkish.operators import KeyedProcessOperator
from flinkish.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from flinkish.testing import (
    KeyedOneInputStreamOperatorTestHarness,
    ProcessFunctionTestHarnesses,
)
from tests.forking import in_a_fork

RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
OF_THREAD = "was used by thread .* runs the operator: it is of the current key"
OF_CHILD = "a forked child of the one that has its operator; .* method 'spawn'"


class Total(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


class Gives(KeyedProcessFunction):
    """Hands its states and contexts to `use`, and yields what the states hold afterwards."""

    def __init__(self, use: Callable[["Gives", Any], None]) -> None:
        self.use = use

    def open(self, runtime_context: RuntimeContext) -> None:
        long = Types.LONG()
        self.value = runtime_context.get_state(ValueStateDescriptor("value", long))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list", long))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map", long, long))
        self.sum = runtime_context.get_reducing_state(
            ReducingStateDescriptor("sum", lambda a, b: a + b, long)
        )
        self.total = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("total", Total(), long)
        )

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.value.update(1)
        self.list.update([1])
        self.map.put(1, 1)
        self.sum.clear()
        self.sum.add(1)
        self.total.clear()
        self.total.add(1)
        ctx.timer_service().register_event_time_timer(10)
        self.use(self, ctx)
        yield self.held(), ctx.get_current_key()

    def held(self) -> tuple[Any, ...]:
        return (
            *(self.value.value(), list(self.list), dict(self.map.items())),
            *(self.sum.get(), self.total.get()),
        )


# All that reads or writes what is of a key; of a function and its context.
USES: dict[str, Callable[[Gives, Any], object]] = {
    "value": lambda of, ctx: of.value.value(),
    "update": lambda of, ctx: of.value.update(2),
    "update None": lambda of, ctx: of.value.update(None),
    "clear": lambda of, ctx: of.value.clear(),
    "list": lambda of, ctx: of.list.get(),
    "list add": lambda of, ctx: of.list.add(2),
    "list add_all": lambda of, ctx: of.list.add_all([2, 3]),
    "list update": lambda of, ctx: of.list.update([2]),
    "list clear": lambda of, ctx: of.list.clear(),
    "map get": lambda of, ctx: of.map.get(1),
    "map contains": lambda of, ctx: of.map.contains(1),
    "map put": lambda of, ctx: of.map.put(1, 2),
    "map put_all": lambda of, ctx: of.map.put_all({1: 2}),
    "map remove": lambda of, ctx: of.map.remove(1),
    "map items": lambda of, ctx: of.map.items(),
    "map is_empty": lambda of, ctx: of.map.is_empty(),
    "map clear": lambda of, ctx: of.map.clear(),
    "reducing get": lambda of, ctx: of.sum.get(),
    "reducing add": lambda of, ctx: of.sum.add(2),
    "aggregating get": lambda of, ctx: of.total.get(),
    "aggregating add": lambda of, ctx: of.total.add(2),
    "event timer": lambda of, ctx: ctx.timer_service().register_event_time_timer(20),
    "processing timer": lambda of, ctx: ctx.timer_service().register_processing_time_timer(20),
    "delete event timer": lambda of, ctx: ctx.timer_service().delete_event_time_timer(10),
    "delete processing timer": lambda of, ctx: ctx.timer_service().delete_processing_time_timer(10),
    "key": lambda of, ctx: ctx.get_current_key(),
    "timestamp": lambda of, ctx: ctx.timestamp(),
}
HELD = (1, [1], {1: 1}, 1, 1)


def harness_of(function: KeyedProcessFunction) -> Any:
    harness = KeyedOneInputStreamOperatorTestHarness(
        KeyedProcessOperator(function), lambda value: value[0]
    )
    harness.open()
    return harness


def refused(work: Callable[[], object], match: str) -> None:
    with pytest.raises(IllegalStateError, match=match):
        work()


def on_a_thread(work: Callable[[], object]) -> None:
    """Do it on another thread, and raise here what it raises."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


def test_another_thread_is_refused_while_a_key_is_current() -> None:
    def use(function: Gives, ctx: Any) -> None:
        for name, one in USES.items():
            refused(lambda one=one: on_a_thread(lambda: one(function, ctx)), OF_THREAD)  # type: ignore[misc]
            assert function.held() == HELD, name

    harness = harness_of(Gives(use))
    harness.process_element(("k",), 5)
    assert harness.extract_output_values() == [(HELD, "k")]
    assert harness.num_event_time_timers() == 1
    assert harness.num_processing_time_timers() == 0


def test_a_thread_that_is_late_never_meets_another_key() -> None:
    """One that a call left running comes while the operator is at the next key."""
    go, over = Event(), Event()
    found: list[BaseException] = []

    def write(function: Gives) -> None:
        go.wait()
        try:
            function.value.update(99)
        except BaseException as error:
            found.append(error)
        over.set()

    def use(function: Gives, ctx: Any) -> None:
        if ctx.get_current_key() == "a":
            Thread(target=write, args=(function,)).start()
        else:
            go.set()
            over.wait()

    harness = harness_of(Gives(use))
    harness.process_elements([("a",), ("b",)], 5)
    assert [type(error) for error in found] == [IllegalStateError]
    assert harness.extract_output_values() == [(HELD, "a"), (HELD, "b")]


def test_a_thread_between_two_calls_is_refused() -> None:
    kept: list[Any] = []
    harness = harness_of(Gives(lambda function, ctx: kept.extend([function, ctx])))
    harness.process_element(("k",), 5)
    function, ctx = kept
    for one in USES.values():
        refused(lambda one=one: on_a_thread(lambda: one(function, ctx)), OF_THREAD)  # type: ignore[misc]
    refused(function.value.value, "used without a current key")


def test_an_operator_may_move_to_another_thread() -> None:
    """As a source's thread and the task's do, one at a time."""
    harness = harness_of(Gives(lambda function, ctx: None))
    harness.process_element(("k",), 5)
    on_a_thread(lambda: harness.process_element(("k",), 6))
    on_a_thread(lambda: harness.process_watermark(30))
    harness.process_element(("k",), 40)
    assert len(harness.extract_output_values()) == 3


def test_a_forked_child_is_refused() -> None:
    def use(function: Gives, ctx: Any) -> None:
        def child() -> None:
            for one in USES.values():
                refused(lambda: one(function, ctx), OF_CHILD)  # noqa: B023

        in_a_fork(child)

    harness = harness_of(Gives(use))
    harness.process_element(("k",), 5)
    assert harness.extract_output_values() == [(HELD, "k")]
    in_a_fork(lambda: refused(lambda: harness.process_element(("k",), 6), OF_CHILD))
    in_a_fork(lambda: refused(lambda: harness.process_watermark(20), OF_CHILD))
    in_a_fork(lambda: refused(harness.snapshot, OF_CHILD))
    harness.process_watermark(20)

    def of_its_own() -> None:
        harness_of(Gives(lambda function, ctx: None)).process_element(("k",), 5)

    in_a_fork(of_its_own)


class Rules(KeyedBroadcastProcessFunction):
    """Uses broadcast state on another thread, and in a child."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        rules = ctx.get_broadcast_state(RULES)
        refused(lambda: on_a_thread(lambda: rules.get("a")), "broadcast state.* was used by thread")
        in_a_fork(lambda: refused(lambda: rules.get("a"), "forked child"))
        yield rules.get("a")

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        rules = ctx.get_broadcast_state(RULES)
        rules.put("a", 1)
        for use in (lambda: rules.put("a", 2), lambda: rules.remove("a"), rules.clear):
            refused(lambda: on_a_thread(use), "was used by thread")  # noqa: B023
            in_a_fork(lambda: refused(use, "forked child"))  # noqa: B023


def test_broadcast_state() -> None:
    harness = ProcessFunctionTestHarnesses.for_keyed_broadcast_process_function(
        Rules(), lambda value: value, [RULES]
    )
    harness.process_element2("rule", 1)
    harness.process_element1("k", 2)
    assert harness.extract_output_values() == [1]


def test_states_cannot_be_sent() -> None:
    def use(function: Gives, ctx: Any) -> None:
        for state in (function.value, function.list, function.map, function.sum, function.total):
            for send in (pickle.dumps, copy.copy, copy.deepcopy):
                refused(lambda: send(state), "was to be pickled, or copied,.* send its value")  # noqa: B023

    harness_of(Gives(use)).process_element(("k",), 5)
