"""What a function learns of where it runs, and the states it gets."""

from threading import Lock
from typing import Any

import pytest

from flinkish._core.state.table import StateTable
from flinkish.common import Types
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    SerializationError,
    StateMigrationError,
)
from flinkish.functions import RuntimeContext
from flinkish.metrics import MetricGroup
from flinkish.operators import KeyedProcessOperator, KeyedRuntimeContext
from flinkish.state import (
    AggregatingState,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueState,
    ValueStateDescriptor,
)
from flinkish.state.backend import KeyedStateBackend
from flinkish.testing import KeyedOneInputStreamOperatorTestHarness
from tests.testing.functions import Script


def context(**options: Any) -> KeyedRuntimeContext:
    return KeyedRuntimeContext(KeyedStateBackend(StateTable(0, 127)), task_name="t", **options)


def test_where_a_function_runs() -> None:
    metrics = MetricGroup()
    found = context(
        index=2,
        parallelism=8,
        max_parallelism=256,
        attempt=1,
        metrics=metrics,
        job_parameters={"threshold": "5"},
    )
    assert isinstance(found, RuntimeContext)
    assert found.get_task_name() == "t"
    assert found.get_task_name_with_subtasks() == "t (3/8)"
    assert found.get_index_of_this_subtask() == 2
    assert found.get_number_of_parallel_subtasks() == 8
    assert found.get_max_number_of_parallel_subtasks() == 256
    assert found.get_attempt_number() == 1
    assert found.get_metrics_group() is metrics
    assert found.get_job_parameter("threshold", "1") == "5"
    assert found.get_job_parameter("other", "1") == "1"


def test_states_are_what_their_interfaces_say() -> None:
    found = context()
    assert isinstance(found.get_state(ValueStateDescriptor("v")), ValueState)
    assert isinstance(found.get_list_state(ListStateDescriptor("l")), ListState)
    assert isinstance(found.get_map_state(MapStateDescriptor("m")), MapState)
    reducing = found.get_reducing_state(ReducingStateDescriptor("r", max))
    assert isinstance(reducing, ReducingState)
    assert not isinstance(reducing, AggregatingState)
    again = found.get_state(ValueStateDescriptor("v"))
    assert again is found.get_state(ValueStateDescriptor("v"))


def test_a_descriptor_of_another_kind_is_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="where a ValueStateDescriptor is needed"):
        context().get_state(ListStateDescriptor("l"))  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="where a MapStateDescriptor is needed"):
        context().get_map_state("m")  # type: ignore[arg-type]


def test_a_name_with_two_meanings_is_refused() -> None:
    found = context()
    found.get_state(ValueStateDescriptor("s", Types.LONG()))
    with pytest.raises(StateMigrationError, match="as value of Long earlier in this program"):
        found.get_list_state(ListStateDescriptor("s", Types.LONG()))
    with pytest.raises(StateMigrationError):
        found.get_state(ValueStateDescriptor("s", Types.STRING()))


@pytest.mark.parametrize(
    ("type_info", "good", "bad"),
    [
        (Types.LONG(), [0, -(1 << 63), (1 << 63) - 1, None], ["1", 1.5, True, 1 << 63]),
        (Types.INT(), [(1 << 31) - 1], [1 << 31, -(1 << 31) - 1]),
        (Types.SHORT(), [-(1 << 15)], [1 << 15]),
        (Types.BYTE(), [127], [128]),
        (Types.STRING(), ["", "é"], [1, b""]),
        (Types.BOOLEAN(), [True, False], [1, "true"]),
        (Types.DOUBLE(), [1.5, 2], ["1.5", True]),
        (None, [1, "x", [1, {2: 3}], (1,)], []),
    ],
)
def test_values_must_be_of_the_declared_type(type_info: Any, good: Any, bad: Any) -> None:
    class Typed(Script):
        def open(self, runtime_context: RuntimeContext) -> None:
            super().open(runtime_context)
            self.value = runtime_context.get_state(ValueStateDescriptor("typed", type_info))

    harness = KeyedOneInputStreamOperatorTestHarness(KeyedProcessOperator(Typed()), lambda v: v[0])
    harness.open()
    for value in good:
        harness.process_elements([("k", "put", value), ("k", "get")])
        assert harness.extract_output_values()[-1][0] == value
    for value in bad:
        with pytest.raises(IllegalArgumentError, match="'typed'"):
            harness.process_element(("k", "put", value))


def test_what_cannot_be_kept_is_named() -> None:
    harness = KeyedOneInputStreamOperatorTestHarness(KeyedProcessOperator(Script()), lambda v: v[0])
    harness.open()
    for command in ("put", "add"):
        with pytest.raises(SerializationError, match=r"'(value|items)' .* type lock.*pickle"):
            harness.process_element(("k", command, Lock()))
    with pytest.raises(SerializationError, match="'pairs'"):
        harness.process_element(("k", "pair", 1, Lock()))
    for key in (None, [1], {}):
        with pytest.raises(ArgumentTypeError, match="map state 'pairs' was given the key"):
            harness.process_element(("k", "pair", key, 1))
    harness.process_element(("k", "pair", 1, None))
    harness.process_element(("k", "get"))
    assert harness.extract_output_values() == [(None, [], {1: None})]


def restarted(before: Any, after: Any) -> Any:
    """A harness of the function ``after`` that starts from a snapshot of ``before``."""
    first = KeyedOneInputStreamOperatorTestHarness(KeyedProcessOperator(before), lambda v: v[0])
    first.open()
    first.process_elements([("k", "put", 1), ("k", "add", 2), ("k", "pair", 3, 4)])
    second = KeyedOneInputStreamOperatorTestHarness(KeyedProcessOperator(after), lambda v: v[0])
    second.initialize_state(first.snapshot(1, 1))
    return second


class OtherOrder(Script):
    """Asks for its states in another order, and for one more."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.pairs = runtime_context.get_map_state(MapStateDescriptor("pairs"))
        self.more = runtime_context.get_state(ValueStateDescriptor("more"))
        super().open(runtime_context)


def test_states_are_found_by_name_after_a_restart() -> None:
    harness = restarted(Script(), OtherOrder())
    harness.open()
    harness.process_element(("k", "get"))
    assert harness.extract_output_values() == [(1, [2], {3: 4})]


def test_states_that_are_not_asked_for_are_kept() -> None:
    class Forgetful(Script):
        def open(self, runtime_context: RuntimeContext) -> None:
            pass

    harness = restarted(Script(), Forgetful())
    harness.open()
    last = KeyedOneInputStreamOperatorTestHarness(KeyedProcessOperator(Script()), lambda v: v[0])
    last.initialize_state(harness.snapshot(1, 1))
    last.open()
    last.process_element(("k", "get"))
    assert last.extract_output_values() == [(1, [2], {3: 4})]


def test_a_state_that_changed_its_kind_or_expiry_is_refused() -> None:
    class OtherKind(Script):
        def open(self, runtime_context: RuntimeContext) -> None:
            runtime_context.get_list_state(ListStateDescriptor("value"))

    class Expires(Script):
        def open(self, runtime_context: RuntimeContext) -> None:
            descriptor = ValueStateDescriptor("value")
            descriptor.enable_time_to_live(StateTtlConfig.new_builder(1000).build())
            runtime_context.get_state(descriptor)

    for function, differing in ((OtherKind(), {"kind", "type"}), (Expires(), {"ttl"})):
        harness = restarted(Script(), function)
        with pytest.raises(
            StateMigrationError, match=r"declared as value of .* in the che"
        ) as caught:
            harness.open()
        assert caught.value.setting == "value"
        was, now = caught.value.was, caught.value.now
        assert (was["kind"], was["ttl"]) == ("value", False)
        assert {field for field in was if was[field] != now[field]} == differing
