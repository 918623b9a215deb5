import pickle
from typing import Any

import pytest

from flinkish.common import Types
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.typeinfo import ListTypeInfo, MapTypeInfo, TypeInformation
from flinkish.functions import AggregateFunction, ReduceFunction
from flinkish.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from tests.state import typed_program


class Add(ReduceFunction):
    def reduce(self, value1: int, value2: int) -> int:
        return value1 + value2


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, float]:
        return 0, 0.0

    def add(self, value: float, accumulator: tuple[int, float]) -> tuple[int, float]:
        return accumulator[0] + 1, accumulator[1] + value

    def get_result(self, accumulator: tuple[int, float]) -> float:
        return accumulator[1] / accumulator[0]

    def merge(self, acc_a: tuple[int, float], acc_b: tuple[int, float]) -> tuple[int, float]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


def plus(left: int, right: int) -> int:
    return left + right


MEAN = Mean()


def all_kinds(name: str) -> list[StateDescriptor]:
    return [
        ValueStateDescriptor(name, Types.LONG()),
        ListStateDescriptor(name, Types.LONG()),
        MapStateDescriptor(name, Types.STRING(), Types.LONG()),
        ReducingStateDescriptor(name, plus, Types.LONG()),
        AggregatingStateDescriptor(name, MEAN, Types.LONG()),
    ]


def test_types() -> None:
    value, listed, mapped, reducing, aggregating = all_kinds("s")
    assert {one.get_name() for one in all_kinds("s")} == {"s"}
    assert value.type_info == reducing.type_info == aggregating.type_info == Types.LONG()
    assert listed.type_info == Types.LIST(Types.LONG())
    assert mapped.type_info == Types.MAP(Types.STRING(), Types.LONG())


def test_types_may_be_ddl_or_left_out() -> None:
    assert ValueStateDescriptor("s", "bigint") == ValueStateDescriptor("s", Types.LONG())
    assert ValueStateDescriptor("s").type_info == Types.PICKLED_BYTE_ARRAY()
    assert ListStateDescriptor("s", "int").elem_type_info == Types.INT()
    mapped = MapStateDescriptor("s", "string")
    assert mapped.key_type_info == Types.STRING()
    assert mapped.value_type_info == Types.PICKLED_BYTE_ARRAY()


def test_parameters_have_pyflinks_names() -> None:
    assert ValueStateDescriptor(name="s", value_type_info=Types.INT()).name == "s"
    assert ListStateDescriptor(name="s", elem_type_info=Types.INT()).name == "s"
    assert MapStateDescriptor(name="s", key_type_info=Types.INT(), value_type_info=Types.INT()).name
    assert ReducingStateDescriptor(name="s", reduce_function=plus, type_info=Types.INT()).name
    assert AggregatingStateDescriptor(name="s", agg_function=MEAN, state_type_info=Types.INT()).name


def test_equality_is_kind_name_type_functions_and_expiry() -> None:
    for at, one in enumerate(all_kinds("s")):
        assert [other == one for other in all_kinds("s")] == [at == to for to in range(5)]
        assert hash(one) == hash(all_kinds("s")[at])
        assert one != all_kinds("t")[at]
        assert one != "s"
    assert ReducingStateDescriptor("s", plus) != ReducingStateDescriptor("s", max)
    lasting, expiring = ValueStateDescriptor("s"), ValueStateDescriptor("s")
    expiring.enable_time_to_live(StateTtlConfig.new_builder(5).build())
    assert lasting != expiring


@pytest.mark.parametrize("at", range(5))
def test_descriptors_cross_processes(at: int) -> None:
    one = all_kinds("s")[at]
    one.enable_time_to_live(StateTtlConfig.new_builder("1 hour").build())
    back = pickle.loads(pickle.dumps(one))
    assert (type(back), back.name, back.type_info) == (type(one), one.name, one.type_info)
    assert back.ttl_config == one.ttl_config


@pytest.mark.parametrize("at", range(5))
@pytest.mark.parametrize(
    ("name", "error", "why"),
    [
        ("", IllegalArgumentError, "must not be empty"),
        (None, ArgumentTypeError, "must be a str, not None"),
        (5, ArgumentTypeError, "must be a str, not 5"),
    ],
)
def test_a_state_needs_a_name(at: int, name: Any, error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=why):
        all_kinds(name)[at]


def test_a_type_must_be_one() -> None:
    with pytest.raises(ArgumentTypeError, match=r"the type of state 's' .* call it"):
        ValueStateDescriptor("s", Types.LONG)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="the type of elements of state 's'"):
        ListStateDescriptor("s", int)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="the type of values of state 's'"):
        MapStateDescriptor("s", "int", 5)  # type: ignore[arg-type]


def test_reduce_functions() -> None:
    add = Add()
    assert ReducingStateDescriptor("s", add).get_reduce_function() is add
    wrapped = ReducingStateDescriptor("s", plus).get_reduce_function()
    assert isinstance(wrapped, ReduceFunction)
    assert wrapped.reduce(1, 2) == 3
    with pytest.raises(ArgumentTypeError, match="reduce_function of state 's'"):
        ReducingStateDescriptor("s", "max")
    with pytest.raises(ArgumentTypeError, match="make one: Add"):
        ReducingStateDescriptor("s", Add)


def test_aggregate_functions() -> None:
    assert AggregatingStateDescriptor("s", MEAN).get_agg_function() is MEAN
    with pytest.raises(ArgumentTypeError, match="create_accumulator, add, get_result missing"):
        AggregatingStateDescriptor("s", plus)
    with pytest.raises(ArgumentTypeError, match="make one: Mean"):
        AggregatingStateDescriptor("s", Mean)


def test_expiry_is_a_config_and_can_be_turned_off() -> None:
    descriptor = ValueStateDescriptor("s")
    assert descriptor.ttl_config is None
    with pytest.raises(ArgumentTypeError, match=r"ttl_config of state 's' .* build\(\)"):
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(5))  # type: ignore[arg-type]
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(5).build())
    assert descriptor.ttl_config is not None
    disabled = StateTtlConfig.UpdateType.Disabled
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(5).set_update_type(disabled).build())
    assert descriptor.ttl_config is None


def test_how_they_show() -> None:
    assert (
        repr(ListStateDescriptor("s", "int")) == "ListStateDescriptor('s', ListTypeInfo<Integer>)"
    )


@pytest.mark.parametrize(
    ("plain", "typed", "arguments"),
    [
        (ListTypeInfo, ListTypeInfo[int], (Types.LONG(),)),
        (MapTypeInfo, MapTypeInfo[str, int], (Types.STRING(), Types.LONG())),
        (ValueStateDescriptor, ValueStateDescriptor[int], ("n", Types.LONG())),
        (ListStateDescriptor, ListStateDescriptor[int], ("n", Types.LONG())),
        (MapStateDescriptor, MapStateDescriptor[str, int], ("n", Types.STRING(), Types.LONG())),
        (ReducingStateDescriptor, ReducingStateDescriptor[int], ("n", plus, Types.LONG())),
    ],
)
def test_objects_of_classes_with_parameters_are_those_without(
    plain: Any, typed: Any, arguments: tuple[Any, ...]
) -> None:
    same = typed(*arguments)
    assert same == plain(*arguments)
    assert isinstance(same, plain)
    assert pickle.dumps(same) == pickle.dumps(plain(*arguments))


def test_classes_of_users_name_parameters_of_their_bases() -> None:
    count, text = typed_program.Count(), typed_program.Text()
    assert pickle.loads(pickle.dumps(count)) == count
    assert isinstance(text, TypeInformation)
    assert ValueStateDescriptor("t", text).type_info is text
    assert [str(kind)[:12] for kind in typed_program.types()] == ["RowTypeInfo(", "TupleTypeInf"]
