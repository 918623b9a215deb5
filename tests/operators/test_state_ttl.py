"""Time to live of state, which follows the harness's processing time."""

from collections.abc import Iterator
from typing import Any

import pytest

from flinkish.common import Types
from flinkish.functions import AggregateFunction, KeyedProcessFunction, RuntimeContext
from flinkish.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from flinkish.testing import (
    KeyedOneInputStreamOperatorTestHarness,
    ProcessFunctionTestHarnesses,
)

TTL = 10


def config(
    update: str = "OnCreateAndWrite", visible: bool = False, background: bool = True
) -> StateTtlConfig:
    builder = (
        StateTtlConfig.new_builder(TTL)
        .set_update_type(StateTtlConfig.UpdateType[update])
        .set_state_visibility(
            StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
            if visible
            else StateTtlConfig.StateVisibility.NeverReturnExpired
        )
    )
    return (builder if background else builder.disable_cleanup_in_background()).build()


class Sum(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> str:
        return f"sum {accumulator}"

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Expiring(KeyedProcessFunction):
    """Elements are commands: ``("write", value)`` and ``("read",)`` on one kind of state."""

    def __init__(self, kind: str, ttl: StateTtlConfig) -> None:
        self.kind = kind
        self.ttl = ttl

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor, get = {
            "value": (ValueStateDescriptor("s", Types.LONG()), runtime_context.get_state),
            "pickled": (ValueStateDescriptor("s"), runtime_context.get_state),
            "list": (ListStateDescriptor("s", Types.LONG()), runtime_context.get_list_state),
            "map": (
                MapStateDescriptor("s", Types.LONG(), Types.LONG()),
                runtime_context.get_map_state,
            ),
            "reducing": (
                ReducingStateDescriptor("s", lambda a, b: a + b, Types.LONG()),
                runtime_context.get_reducing_state,
            ),
            "aggregating": (
                AggregatingStateDescriptor("s", Sum(), Types.LONG()),
                runtime_context.get_aggregating_state,
            ),
        }[self.kind]
        descriptor.enable_time_to_live(self.ttl)
        self.state: Any = get(descriptor)  # type: ignore[operator]

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        command, *arguments = value
        if command == "write":
            if self.kind in ("value", "pickled"):
                self.state.update(*arguments)
            elif self.kind == "map":
                self.state.put(arguments[0], arguments[0])
            else:
                self.state.add(*arguments)
        elif self.kind in ("value", "pickled"):
            yield self.state.value()
        elif self.kind == "map":
            yield [self.state.get(key) for key in (1, 2)]
        else:
            found = self.state.get()
            yield list(found) if self.kind == "list" else found


KINDS = ("value", "pickled", "list", "map", "reducing", "aggregating")
ONE = {"list": [1], "map": [1, None], "aggregating": "sum 1"}
BOTH = {"list": [1, 2], "map": [1, 2], "reducing": 3, "aggregating": "sum 3"}
NONE = {"list": [], "map": [None, None]}


class Rig:
    def __init__(self, kind: str, ttl: StateTtlConfig) -> None:
        self.harness = ProcessFunctionTestHarnesses.for_keyed_process_function(
            Expiring(kind, ttl), lambda value: "k"
        )

    def write(self, at: int, value: int) -> None:
        self.harness.set_processing_time(at)
        self.harness.process_element(("write", value))

    def read(self, at: int) -> Any:
        self.harness.set_processing_time(at)
        self.harness.process_element(("read",))
        return self.harness.extract_output_values()[-1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_lives_from_its_last_write(kind: str) -> None:
    rig = Rig(kind, config())
    rig.write(0, 1)
    assert rig.read(9) == ONE.get(kind, 1)
    assert rig.read(10) == NONE.get(kind), "it lives less than its time to live"
    assert rig.read(5) == NONE.get(kind), "and was removed by the read"


@pytest.mark.parametrize("kind", KINDS)
def test_reading_renews_where_asked(kind: str) -> None:
    rig = Rig(kind, config("OnReadAndWrite"))
    rig.write(0, 1)
    for at in (9, 18, 27):
        assert rig.read(at) == ONE.get(kind, 1)
    assert rig.read(37) == NONE.get(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_expired_values_are_shown_once_where_asked(kind: str) -> None:
    rig = Rig(kind, config(visible=True))
    rig.write(0, 1)
    assert rig.read(50) == ONE.get(kind, 1), "not cleaned up yet"
    assert rig.read(50) == NONE.get(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_disabled_never_expires(kind: str) -> None:
    rig = Rig(kind, config("Disabled"))
    rig.write(0, 1)
    assert rig.read(10**9) == ONE.get(kind, 1)


@pytest.mark.parametrize("kind", ["list", "map"])
def test_elements_expire_one_by_one(kind: str) -> None:
    rig = Rig(kind, config())
    rig.write(0, 1)
    rig.write(5, 2)
    assert rig.read(9) == [1, 2]
    assert rig.read(12) == {"list": [2], "map": [None, 2]}[kind]
    assert rig.read(15) == NONE[kind]


@pytest.mark.parametrize("kind", ["reducing", "aggregating"])
def test_adding_to_an_expired_value_begins_anew(kind: str) -> None:
    rig = Rig(kind, config())
    rig.write(0, 1)
    rig.write(5, 2)
    assert rig.read(14) == BOTH[kind], "each write puts the end off"
    rig.write(15, 1)
    assert rig.read(15) == ONE.get(kind, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_writing_over_an_expired_value_gives_it_a_new_life(kind: str) -> None:
    rig = Rig(kind, config())
    rig.write(0, 1)
    rig.write(20, 1)
    assert rig.read(29) == ONE.get(kind, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_expired_state_is_not_in_a_snapshot(kind: str) -> None:
    rig = Rig(kind, config())
    rig.write(0, 1)
    rig.harness.set_processing_time(50)
    assert rig.harness.num_keyed_state_entries() == 1
    rig.harness.snapshot(1, 1)
    assert rig.harness.num_keyed_state_entries() == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("visible", [True, False])
def test_life_goes_on_after_a_restore(kind: str, visible: bool) -> None:
    """Ends are times, not rests: what is restored expires when it would have."""
    rig = Rig(kind, config(visible=visible, background=False))
    rig.write(5, 1)
    snapshot = rig.harness.snapshot(1, 1)
    restored = Rig(kind, config(visible=visible, background=False))
    restored.harness = KeyedOneInputStreamOperatorTestHarness(
        type(rig.harness.operator)(Expiring(kind, config(visible=visible, background=False))),
        lambda value: "k",
    )
    restored.harness.initialize_state(snapshot)
    restored.harness.open()
    assert restored.read(14) == ONE.get(kind, 1)
    assert restored.read(15) == (ONE.get(kind, 1) if visible else NONE.get(kind))
    assert restored.read(15) == NONE.get(kind)
