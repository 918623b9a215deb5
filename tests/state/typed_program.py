"""A user's program with states, as `mypy --strict` and pyright see it.

Strict mypy reports ignored errors that do not occur: it finds no fault with this file only if every
line whose error is ignored is wrong, and every other line is right.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from typing_extensions import assert_type

from flinkish.common import Row, Types
from flinkish.common.typeinfo import BasicTypeInfo, ListTypeInfo, MapTypeInfo, TypeInformation
from flinkish.functions import (
    AggregateFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    RuntimeContext,
)
from flinkish.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    BroadcastState,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReadOnlyBroadcastState,
    ReducingState,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)


class Mean(AggregateFunction):
    def create_accumulator(self) -> list[int]:
        return [0, 0]

    def add(self, value: int, accumulator: list[int]) -> list[int]:
        return [accumulator[0] + value, accumulator[1] + 1]

    def get_result(self, accumulator: list[int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return [a + b for a, b in zip(acc_a, acc_b, strict=True)]


class Text(TypeInformation[str]):
    """A type of the user's."""

    def check(self, value: Any) -> str | None:
        return None if isinstance(value, str) else "not a text"

    def to_ddl(self) -> str:
        return "string"


class Count(ValueStateDescriptor[int]):
    """A descriptor of the user's."""

    def __init__(self) -> None:
        super().__init__("count", Types.LONG())


RULES = MapStateDescriptor("rules", Types.STRING(), Types.DOUBLE())


class Counter(KeyedProcessFunction):
    count: ValueState[int]

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("n", Types.LONG()))
        self.anything: ValueState[list[str]] = runtime_context.get_state(ValueStateDescriptor("x"))


class Rules(KeyedBroadcastProcessFunction):
    def process_element(
        self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Iterator[Any]:
        rules = assert_type(ctx.get_broadcast_state(RULES), ReadOnlyBroadcastState[str, float])
        yield assert_type(rules.get("a"), float | None)

    def process_broadcast_element(
        self, value: Any, ctx: KeyedBroadcastProcessFunction.Context
    ) -> Iterator[Any]:
        assert_type(ctx.get_broadcast_state(RULES), BroadcastState[str, float]).put("a", 1.0)
        yield value


def states(context: RuntimeContext) -> None:
    number = assert_type(
        context.get_state(ValueStateDescriptor("n", Types.LONG())), ValueState[int]
    )
    assert_type(number.value(), int | None)
    assert_type(
        context.get_list_state(ListStateDescriptor("l", Types.STRING())), ListState[str]
    ).add("a")
    assert_type(
        context.get_map_state(MapStateDescriptor("m", Types.STRING(), Types.LIST(Types.INT()))),
        MapState[str, list[int]],
    )
    reducing = ReducingStateDescriptor("r", lambda a, b: a + b, Types.DOUBLE())
    assert_type(context.get_reducing_state(reducing), ReducingState[float]).add(1.0)
    mean = AggregatingStateDescriptor("a", Mean(), Types.LIST(Types.LONG()))
    assert_type(context.get_aggregating_state(mean), AggregatingState[int, float]).add(1)
    assert_type(context.get_state(Count()), ValueState[int])
    assert_type(context.get_state(ValueStateDescriptor("t", Text())), ValueState[str])


def states_without_types(context: RuntimeContext, given: Any, some: TypeInformation) -> None:
    """Types by DDL, of anything, or left out say nothing of values."""
    value = ValueStateDescriptor("n")
    assert_type(context.get_state(value), ValueState[Any])
    assert_type(context.get_state(ValueStateDescriptor("n", "bigint")), ValueState[Any])
    assert_type(context.get_state(ValueStateDescriptor("n", given)), ValueState[Any])
    assert_type(context.get_state(ValueStateDescriptor("n", some)), ValueState[Any])
    assert_type(context.get_list_state(ListStateDescriptor("l", "int")), ListState[Any])
    maps = MapStateDescriptor("m", "string", "int")
    assert_type(context.get_map_state(maps), MapState[Any, Any])
    half = MapStateDescriptor("m", value_type_info=Types.LONG())
    assert_type(context.get_map_state(half), MapState[Any, int])
    reducing = ReducingStateDescriptor("r", max)
    assert_type(context.get_reducing_state(reducing), ReducingState[Any])


def types() -> list[TypeInformation]:
    assert_type(Types.STRING(), TypeInformation[str])
    assert_type(Types.BOOLEAN(), TypeInformation[bool])
    assert_type(Types.BIG_DEC(), TypeInformation[Decimal])
    assert_type(Types.SQL_TIMESTAMP(), TypeInformation[datetime.datetime])
    assert_type(Types.PICKLED_BYTE_ARRAY(), TypeInformation[Any])
    assert_type(Types.LIST(Types.LIST(Types.LONG())), ListTypeInfo[list[int]])
    assert_type(Types.MAP(Types.STRING(), Types.BOOLEAN()), MapTypeInfo[str, bool])
    assert_type(Types.OBJECT_ARRAY(Types.STRING()), TypeInformation[list[str]])
    row: TypeInformation[Row] = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    pair: TypeInformation[tuple[Any, ...]] = Types.TUPLE([Types.INT(), Types.STRING()])
    fields = [Types.INT(), Types.STRING(), Types.LIST(Types.INT()), row, pair]
    return [Types.ROW(fields), Types.TUPLE(fields)]


def several(context: RuntimeContext) -> list[StateDescriptor]:
    values = [ValueStateDescriptor("a", Types.INT()), ValueStateDescriptor("b", Types.STRING())]
    for descriptor in values:
        context.get_state(descriptor).clear()
    return [*values, RULES, Count()]


def wrong(context: RuntimeContext) -> None:
    context.get_state(ValueStateDescriptor("n", Types.LONG())).update("a")  # type: ignore[arg-type]
    context.get_state(RULES)  # type: ignore[arg-type]
    Types.LONG(3)  # type: ignore[call-arg]
    number: TypeInformation[int] = Types.STRING()  # type: ignore[assignment]
    print(number, BasicTypeInfo)
