"""Functions of two inputs as plain as can be, over the model of one input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.models.keyed_process import KeyedProcessModel


class _ByInput:
    """A KeyedCoProcessFunction as a KeyedProcessFunction of pairs (number of the input, value)."""

    def __init__(self, function: Any) -> None:
        self._methods = (function.process_element1, function.process_element2)
        self.open, self.on_timer = function.open, function.on_timer

    def process_element(self, pair: tuple[int, Any], ctx: Any) -> Any:
        number, value = pair
        return self._methods[number - 1](value, ctx)


def connected_model(function: Any, *keys: Callable[[Any], Any]) -> KeyedProcessModel:
    """The model of a KeyedCoProcessFunction, whose elements are pairs (number of the input, value).

    ``keys`` say the keys of values of either input.
    """
    return KeyedProcessModel(_ByInput(function), lambda pair: keys[pair[0] - 1](pair[1]))


class Shared(dict[Any, Any]):
    """A broadcast state."""

    def put(self, key: Any, value: Any) -> None:
        self[key] = value


class BroadcastModel(KeyedProcessModel):
    """A KeyedBroadcastProcessFunction: one state for all keys."""

    def __init__(self, function: Any, key_of: Callable[[Any], Any]) -> None:
        self._shared: dict[str, Shared] = {}
        super().__init__(function, key_of)

    def get_broadcast_state(self, descriptor: Any) -> Shared:
        return self._shared.setdefault(descriptor.get_name(), Shared())

    def apply_to_keyed_state(self, descriptor: Any, function: Callable[[Any, Any], object]) -> None:
        state = self._states[descriptor.get_name()]
        for self.key in state.held_keys():
            function(self.key, state)

    def broadcast(self, value: Any, at: int | None) -> None:
        """Take a broadcast element."""
        self._at = at
        self._collect(self._function.process_broadcast_element(value, self))
