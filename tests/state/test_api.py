"""The interfaces of states, over the least that implements them."""

from collections.abc import Iterable

import pytest

from flinkish.state import ListState, MapState, MergingState, State, ValueState


class ListOfOne(ListState[int]):
    def __init__(self) -> None:
        self.held: list[int] = []

    def get(self) -> Iterable[int]:
        return self.held

    def add(self, value: int) -> None:
        self.held.append(value)

    def add_all(self, values: Iterable[int]) -> None:
        self.held.extend(values)

    def update(self, values: Iterable[int]) -> None:
        self.held = list(values)

    def clear(self) -> None:
        self.held = []


class MapOfOne(MapState[str, int]):
    def __init__(self) -> None:
        self.held: dict[str, int] = {}

    def get(self, key: str) -> int | None:
        return self.held.get(key)

    def put(self, key: str, value: int) -> None:
        self.held[key] = value

    def put_all(self, dict_value: dict[str, int]) -> None:
        self.held.update(dict_value)

    def remove(self, key: str) -> None:
        self.held.pop(key, None)

    def contains(self, key: str) -> bool:
        return key in self.held

    def items(self) -> Iterable[tuple[str, int]]:
        return self.held.items()

    def keys(self) -> Iterable[str]:
        return self.held.keys()

    def values(self) -> Iterable[int]:
        return self.held.values()

    def is_empty(self) -> bool:
        return not self.held

    def clear(self) -> None:
        self.held.clear()


def test_a_list_state_iterates() -> None:
    state = ListOfOne()
    state.add(1)
    state.add_all([2, 3])
    assert list(state) == [1, 2, 3]
    assert isinstance(state, MergingState)


def test_a_map_state_is_used_like_a_dict() -> None:
    state = MapOfOne()
    state["a"] = 1
    assert state["a"] == 1
    assert state["b"] is None
    assert "a" in state
    assert list(state) == ["a"]
    del state["a"]
    del state["a"]
    assert state.is_empty()


def test_compiled_states_can_be_registered() -> None:
    class Compiled:
        pass

    ValueState.register(Compiled)
    assert isinstance(Compiled(), ValueState)
    assert isinstance(Compiled(), State)


def test_interfaces_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="abstract"):
        ValueState()  # type: ignore[abstract]
