"""Which fields of a function its code changes, and which are worth a look at run time."""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from typing import Any

import pytest

from flinkish.datastream import KeyedProcessFunction, MapFunction
from flinkish.datastream.state import ValueStateDescriptor
from flinkish.operators.function_fields import (
    changed_in_place,
    closing_names,
    fields_of,
    may_change,
    users_own,
)
from flinkish.operators.keyed_functions import KeyedMap
from flinkish.operators.process_definitions import ProcessDefinition


class Scaled(MapFunction):
    """Changes nothing."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def map(self, value: Any) -> Any:
        return value * self.factor


class Sets(MapFunction):
    """Sets a field in a helper, in a nested function and by a tuple."""

    def map(self, value: Any) -> Any:
        self._note(value)
        self.first, self.second = value, value

        def inner() -> None:
            self.nested = value

        inner()
        del self.gone

    def _note(self, value: Any) -> None:
        self.last = value

    def close(self) -> None:
        self.closed = True


class Fills(MapFunction):
    """Changes containers that __init__ and open made; reads others."""

    def __init__(self) -> None:
        self.seen: set[Any] = set()
        self.table = {1: 2}

    def open(self, runtime_context: Any) -> None:
        self.counts = Counter()
        self.lists: Any = defaultdict(list)
        self.client = object()

    def map(self, value: Any) -> Any:
        self.seen.add(value)
        self.counts[value] += 1
        self.lists.setdefault(value, []).append(value)
        self.client.update(value)  # type: ignore[attr-defined]
        return self.table[value], self.table.get(value)


class WithState(KeyedProcessFunction):
    """State handles are no fields that change, whatever their methods are called."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", int))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.total.update(value)
        self.total.clear()


class Inherits(Sets):
    """What a parent's methods do counts."""

    def close(self) -> None:
        self._end()

    def _end(self) -> None:
        print(self.last)


def counter() -> Any:
    calls = 0

    def count(value: Any) -> Any:
        nonlocal calls
        calls += 1
        return calls

    return count


@pytest.mark.parametrize(
    ("function", "fields"),
    [
        (Scaled(2), set()),
        (lambda value: value + 1, set()),
        (Sets(), {"first", "second", "nested", "gone", "last"}),
        (Inherits(), {"first", "second", "nested", "gone", "last"}),
        (Fills(), {"seen", "counts", "lists"}),
        (WithState(), set()),
        (counter(), {"calls"}),
        (KeyedMap(Sets()), {"first", "second", "nested", "gone", "last"}),
        (ProcessDefinition(WithState()), set()),
    ],
)
def test_fields_that_the_code_changes(function: Any, fields: set[str]) -> None:
    assert set(changed_in_place(function)) - {"_end"} == fields


def test_the_method_that_changes_a_field_is_named() -> None:
    assert changed_in_place(Sets())["last"] == "Sets._note"


def test_a_function_typed_in_has_no_source_and_is_read_by_its_code() -> None:
    names: dict[str, Any] = {"MapFunction": MapFunction, "__name__": "__main__"}
    exec("class Typed(MapFunction):\n    def map(self, value):\n        self.n = value", names)
    assert changed_in_place(names["Typed"]()) == {"n": "Typed.map"}


@pytest.mark.parametrize(
    ("function", "may"),
    [
        (Scaled(2), False),
        (Scaled([2]), True),  # type: ignore[arg-type]
        (lambda value: value, False),
        (counter(), True),
        (Sets(), True),
        (WithState(), True),
        (len, False),
    ],
)
def test_functions_that_need_a_look_at_run_time(function: Any, may: bool) -> None:
    assert may_change(function) is may


def test_names_that_close_uses_through_its_helpers() -> None:
    assert "last" in closing_names(Inherits())
    assert closing_names(Fills()) == frozenset()


def test_the_objects_of_users_are_seen_through_wrappers() -> None:
    function = Fills()
    assert users_own(ProcessDefinition(KeyedMap(function))) == [function]
    assert users_own(functools.partial(function.map)) == [function]
    assert users_own(function.map) == [function]
    assert users_own([KeyedMap(len), 3, "text", Fills]) == []


def test_slots_are_fields() -> None:
    class Slotted:
        __slots__ = ("n",)

    slotted = Slotted()
    assert fields_of(slotted) == {}
    slotted.n = 1
    assert fields_of(slotted) == {"n": 1}
