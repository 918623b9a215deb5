"""Names and types of states are settings of the operator, whatever key groups a batch touches."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flinkish._core.values import codec
from flinkish.common import Types
from flinkish.common.errors import StateMigrationError
from flinkish.common.typeinfo import TypeInformation
from flinkish.datastream.functions import KeyedProcessFunction
from flinkish.spark.keyed.checkpoint_settings import KIND_SETTINGS, SETTINGS_FORMAT, check_settings
from flinkish.spark.keyed.group_state import HEAD
from flinkish.spark.keyed.packing import SETTINGS_GROUP
from flinkish.spark.keyed.placement import slot_of
from flinkish.spark.keyed.plan import OperatorPlan, StateSettings
from flinkish.spark.keyed.processor import KeyGroupProcessor
from flinkish.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from tests.spark.fake_spark import FakeMap, FakeSpark, plan

OUT = pa.schema([("key", pa.string()), ("n", pa.int64())])
LONG, TEXT = Types.LONG(), Types.STRING()


class Declaring(KeyedProcessFunction):
    """Asks for states when it is opened, and with ``later`` for one more at its first row."""

    closed = 0

    def __init__(self, *states: Any, later: Any = None) -> None:
        self.states = states
        self.later = later

    def open(self, runtime_context: Any) -> None:
        self.context = runtime_context
        for state in self.states:
            get = {
                ListStateDescriptor: runtime_context.get_list_state,
                MapStateDescriptor: runtime_context.get_map_state,
            }.get(type(state), runtime_context.get_state)
            get(state)

    def process_element(self, value: Any, ctx: Any) -> Any:
        if self.later is not None:
            self.context.get_state(self.later)
        yield value.key, 1

    def close(self) -> None:
        type(self).closed += 1


def value(name: str, kind: TypeInformation) -> ValueStateDescriptor:
    return ValueStateDescriptor(name, kind)


def settle(spark: FakeSpark, function: Any, tables: Path, generation: str = "") -> dict[str, Any]:
    """Have a batch's task check the settings; the states that are recorded after it."""
    state = StateSettings(table_dir=str(tables), generation=generation)
    operator: OperatorPlan = plan(function, OUT, tables, state=state)
    processor = KeyGroupProcessor(operator)
    processor.init(spark)  # type: ignore[arg-type]
    spark.current = spark.state.setdefault(SETTINGS_GROUP, {"timers": set(), "log": {}})
    assert (
        list(processor.handleInputRows((slot_of(SETTINGS_GROUP),), iter([]), spark.times(0))) == []
    )
    processor.close()
    frame = FakeMap(spark.current).getValue(HEAD)[0]
    body = codec.unseal(frame, KIND_SETTINGS, 0, version=SETTINGS_FORMAT)
    found: dict[str, Any] = json.loads(bytes(body)).get("states", {})
    return found


CHANGED = {
    "value": (value("s", LONG), value("s", TEXT)),
    "kind": (value("s", LONG), ListStateDescriptor("s", LONG)),
    "list": (ListStateDescriptor("s", LONG), ListStateDescriptor("s", TEXT)),
    "map": (MapStateDescriptor("s", TEXT, LONG), MapStateDescriptor("s", TEXT, TEXT)),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_type_is_refused_before_any_key_group_is_touched(
    name: str, tmp_path: Path
) -> None:
    before, after = CHANGED[name]
    spark = FakeSpark()
    kept = settle(spark, Declaring(before), tmp_path)
    closed = Declaring.closed
    needed = "the state 's' was declared as .* in the checkpoint, and this program declares it as"
    with pytest.raises(StateMigrationError, match=needed) as caught:
        settle(spark, Declaring(after), tmp_path)
    assert caught.value.was == kept["s"]
    assert caught.value.now != kept["s"]
    assert Declaring.closed == closed + 1, "the function is closed"
    assert settle(spark, Declaring(before), tmp_path) == kept, "the old program goes on"


def test_new_states_are_added_and_removed_ones_are_kept(tmp_path: Path) -> None:
    spark = FakeSpark()
    settle(spark, Declaring(value("a", LONG)), tmp_path)
    both = settle(spark, Declaring(value("b", TEXT)), tmp_path)
    assert set(both) == {"a", "b"}
    assert settle(spark, Declaring(), tmp_path) == both
    with pytest.raises(StateMigrationError, match="'a' was declared as value of"):
        settle(spark, Declaring(value("b", TEXT), value("a", TEXT)), tmp_path)


def test_settings_without_states_are_completed(tmp_path: Path) -> None:
    spark = FakeSpark()
    spark.current = spark.state.setdefault(SETTINGS_GROUP, {"timers": set(), "log": {}})
    check_settings(plan(Declaring(), OUT, tmp_path), FakeMap(spark.current))
    assert set(settle(spark, Declaring(value("a", LONG)), tmp_path)) == {"a"}
    with pytest.raises(StateMigrationError, match="'a'"):
        settle(spark, Declaring(value("a", TEXT)), tmp_path)


def test_another_generation_may_have_other_states(tmp_path: Path) -> None:
    spark = FakeSpark()
    settle(spark, Declaring(value("a", LONG), value("b", LONG)), tmp_path)
    found = settle(spark, Declaring(value("a", TEXT)), tmp_path, generation="2")
    assert list(found) == ["a"]
    assert found["a"]["type"] == str(TEXT)


def test_a_state_that_was_asked_for_at_a_row_is_recorded_once_it_is_asked_for_at_open(
    tmp_path: Path,
) -> None:
    spark = FakeSpark()
    row = [("k", 1, 1000)]
    keeping = Declaring(later=value("late", LONG))
    assert settle(spark, keeping, tmp_path) == {}
    assert spark.batch(plan(keeping, OUT, tmp_path), row, 0) == [("k", 1)]
    known = settle(spark, Declaring(value("late", LONG)), tmp_path)
    assert set(known) == {"late"}
    with pytest.raises(StateMigrationError, match="'late'"):
        settle(spark, Declaring(value("late", TEXT)), tmp_path)
