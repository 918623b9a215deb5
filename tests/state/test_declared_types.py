"""Values of every kind of state are of the type that its descriptor names."""

from typing import Any

import numpy as np
import pytest

from flinkish._core.state.table import StateTable
from flinkish.common import Row, Types
from flinkish.state.backend import KeyedStateBackend
from flinkish.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)

LONG, STRING = Types.LONG(), Types.STRING()
PAIR = Types.ROW_NAMED(["name", "n"], [STRING, LONG])


def state(descriptor: StateDescriptor) -> Any:
    table = StateTable(0)
    made = KeyedStateBackend(table).state(descriptor)
    table.set_current_key("k")
    return made


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (3, 1, "'m' has string keys and was given the key 3 of type int"),
        ("a", "1", "'m' holds int64 values and was given '1'"),
        ("a", True, "'m' holds int64 values and was given True"),
    ],
)
def test_maps(key: Any, value: Any, message: str) -> None:
    counts = state(MapStateDescriptor("m", STRING, LONG))
    for put in (counts.put, counts.__setitem__, lambda key, value: counts.put_all({key: value})):
        with pytest.raises(TypeError, match=message):
            put(key, value)
    assert counts.is_empty()
    counts.put("a", np.int64(2))
    counts.put("b", None)
    assert dict(counts.items()) == {"a": 2, "b": None}


def test_keys_of_maps_are_checked_where_they_are_looked_up() -> None:
    counts = state(MapStateDescriptor("m", LONG, STRING))
    counts.put(np.int32(3), "three")
    assert counts.get(3) == "three"
    for look in (counts.get, counts.contains, counts.remove):
        with pytest.raises(TypeError, match="'m' has int64 keys and was given the key '3'"):
            look("3")


def test_an_int_is_no_key_among_floats() -> None:
    # 3 and 3.0 are two keys in what checkpoints hold.
    with pytest.raises(TypeError, match=r"use float\(3\)"):
        state(MapStateDescriptor("m", Types.DOUBLE(), STRING)).put(3, "three")


def test_keys_of_several_parts() -> None:
    counts = state(MapStateDescriptor("m", Types.TUPLE([STRING, LONG]), LONG))
    counts.put(("a", 1), 1)
    with pytest.raises(TypeError, match=r"a key of the map state 'm': field f1: .*'1'"):
        counts.put(("a", "1"), 1)


def test_lists() -> None:
    names = state(ListStateDescriptor("l", STRING))
    names.add("a")
    for change in (names.add, lambda value: names.add_all([value])):
        with pytest.raises(TypeError, match="'l' holds string values and was given 1"):
            change(1)
    assert names.get() == ["a"]


@pytest.mark.parametrize(
    "descriptor",
    [
        ValueStateDescriptor("s", PAIR),
        ListStateDescriptor("s", PAIR),
        MapStateDescriptor("s", STRING, PAIR),
        ReducingStateDescriptor("s", lambda one, other: other, PAIR),
    ],
    ids=["value", "list", "map", "reducing"],
)
def test_rows(descriptor: StateDescriptor) -> None:
    pairs = state(descriptor)

    def store(value: Any) -> None:
        if isinstance(descriptor, MapStateDescriptor):
            pairs.put("k", value)
        else:
            (pairs.update if isinstance(descriptor, ValueStateDescriptor) else pairs.add)(value)

    store(Row(name="a", n=1))
    store(("a", None))
    store({"n": 1, "name": "a"})
    for bad, message in (
        (("a", "1"), "field n: '1' of type str"),
        (("a",), "it has 1"),
        ({"n": 1}, "its names differ"),
        (5, "is not a Row, tuple, list or dict"),
    ):
        with pytest.raises(TypeError, match=f"the state 's': .*{message}.*; change the"):
            store(bad)


def test_accumulators_are_whatever_can_be_pickled() -> None:
    class Distinct:
        def create_accumulator(self) -> set[int]:
            return set()

        def add(self, value: int, held: set[int]) -> set[int]:
            return held | {value}

        def get_result(self, held: set[int]) -> int:
            return len(held)

    distinct = state(AggregatingStateDescriptor("d", Distinct(), LONG))
    distinct.add(3)
    assert distinct.get() == 1
