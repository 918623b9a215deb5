"""A table of keyed state, the obvious way: dicts of dicts, sorted when asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class State:
    """One state: `kind` is value, list or map; `held[key]` a list of [name, value, time]."""

    kind: str
    ttl: int = 0
    renew_on_read: bool = False
    show_expired: bool = False
    held: dict[Any, list[list[Any]]] = field(default_factory=dict)

    def expired(self, item: list[Any], now: int) -> bool:
        return bool(self.ttl) and item[2] + self.ttl <= now


class StateTableModel:
    """Keys are anything hashable; map keys are matched by `==`, so the caller makes them unique."""

    def __init__(self) -> None:
        self.now = 0
        self.states: dict[str, State] = {}
        self.timers: tuple[dict[Any, int], dict[Any, int]] = ({}, {})
        self.registrations = 0

    def read(self, name: str, key: Any, which: Any = all) -> list[tuple[Any, Any]]:
        """(name, value) of what a handle would show; what expired goes, what lives is renewed."""
        state = self.states[name]
        seen, kept = [], []
        for item in state.held.get(key, []):
            if which is not all and item[0] != which:
                kept.append(item)
                continue
            gone = state.expired(item, self.now)
            if not gone or state.show_expired:
                seen.append((item[0], item[1]))
            if not gone:
                kept.append([*item[:2], self.now if state.renew_on_read else item[2]])
        self._put(state, key, kept)
        return seen

    def write(self, name: str, key: Any, value: Any, item: Any = None) -> None:
        """Set a value or a map's `item`, or append to a list."""
        state = self.states[name]
        held = state.held.setdefault(key, [])
        for known in held:
            if state.kind != "list" and known[0] == item:
                known[1:] = [value, self.now]
                return
        held.append([item, value, self.now])

    def remove(self, name: str, key: Any, item: Any) -> None:
        state = self.states[name]
        self._put(state, key, [held for held in state.held.get(key, []) if held[0] != item])

    def clear(self, name: str, key: Any) -> None:
        self.states[name].held.pop(key, None)

    def sweep(self) -> int:
        """Remove all that expired; how much."""
        removed = 0
        for state in self.states.values():
            for key, held in list(state.held.items()):
                kept = [item for item in held if not state.expired(item, self.now)]
                removed += len(held) - len(kept)
                self._put(state, key, kept)
        return removed

    def _put(self, state: State, key: Any, held: list[list[Any]]) -> None:
        if held:
            state.held[key] = held
        else:
            state.held.pop(key, None)

    def register(self, domain: int, timestamp: int, key: Any) -> None:
        self.registrations += 1
        self.timers[domain].setdefault((timestamp, key), self.registrations)

    def delete(self, domain: int, timestamp: int, key: Any) -> None:
        self.timers[domain].pop((timestamp, key), None)

    def fire(self, domain: int, until: int, on_timer: Callable[[int, Any], None]) -> None:
        timers = self.timers[domain]
        while due := [timer for timer in timers if timer[0] <= until]:
            first = min(due, key=lambda timer: (timer[0], timers[timer]))
            del timers[first]
            on_timer(*first)

    def keys(self) -> Iterator[Any]:
        """Keys that hold anything."""
        held = {key for state in self.states.values() for key in state.held}
        yield from held | {key for timers in self.timers for _, key in timers}
