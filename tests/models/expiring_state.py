"""Keyed state with a time to live: a dict a key, with times; expired entries go when looked at."""

from itertools import count
from typing import Any


class ModelState:
    """Value, list and map at once, of the key that is the operator's current one."""

    def __init__(self, operator: Any, ttl: int | None) -> None:
        self.operator, self.ttl = operator, ttl
        self.kept: dict[Any, dict[Any, tuple[int, Any]]] = {}  # key: entry: (time, value)
        self.numbers = count()

    def alive(self) -> dict[Any, Any]:
        held = self.kept.get(self.operator.key, {})
        for entry, (time, _) in list(held.items()):
            if self.ttl is not None and time + self.ttl <= self.operator.now:
                del held[entry]
        return {entry: value for entry, (_, value) in held.items()}

    def put(self, entry: Any, value: Any) -> None:
        self.kept.setdefault(self.operator.key, {})[entry] = (self.operator.now, value)

    def remove(self, entry: Any) -> None:
        self.kept.get(self.operator.key, {}).pop(entry, None)

    def clear(self) -> None:
        self.kept.pop(self.operator.key, None)

    def value(self) -> Any:
        return self.alive().get(None)

    def update(self, value: Any) -> None:
        self.clear() if value is None else self.put(None, value)

    def get(self, entry: Any = None) -> Any:
        return list(self.alive().values()) if entry is None else self.alive().get(entry)

    def add(self, value: Any) -> None:
        self.put(next(self.numbers), value)

    def items(self) -> Any:
        return self.alive().items()
