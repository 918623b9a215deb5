"""The kinds of keyed state, each a dict from key to content."""

from __future__ import annotations

from typing import Any


class ModelState:
    """Any kind of state, over one dict from key to content."""

    def __init__(self, model: Any, descriptor: Any) -> None:
        self._model, self._descriptor = model, descriptor
        self._held: dict[Any, Any] = {}

    def held_keys(self) -> list[Any]:
        return list(self._held)

    def value(self) -> Any:
        return self._held.get(self._model.key)

    def update(self, value: Any) -> None:
        self._held[self._model.key] = value

    def clear(self) -> None:
        self._held.pop(self._model.key, None)


class ModelList(ModelState):
    def get(self) -> list[Any]:
        return self._held.get(self._model.key, [])

    def add(self, value: Any) -> None:
        self._held.setdefault(self._model.key, []).append(value)


class ModelMap(ModelState):
    def get(self, name: Any) -> Any:
        return self._held.get(self._model.key, {}).get(name)

    def put(self, name: Any, value: Any) -> None:
        self._held.setdefault(self._model.key, {})[name] = value

    def remove(self, name: Any) -> None:
        self._held.get(self._model.key, {}).pop(name, None)

    def items(self) -> Any:
        return self._held.get(self._model.key, {}).items()


class ModelFold(ModelState):
    def add(self, value: Any) -> None:
        if hasattr(self._descriptor, "get_reduce_function"):
            old = self._held.get(self._model.key)
            reduce = self._descriptor.get_reduce_function().reduce
            self._held[self._model.key] = value if old is None else reduce(old, value)
        else:
            function = self._descriptor.get_agg_function()
            old = self._held.get(self._model.key, function.create_accumulator())
            self._held[self._model.key] = function.add(value, old)

    def get(self) -> Any:
        held = self._held.get(self._model.key)
        if held is None or hasattr(self._descriptor, "get_reduce_function"):
            return held
        return self._descriptor.get_agg_function().get_result(held)
