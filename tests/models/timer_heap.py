"""What `flinkish._core.timers.heap.TimerHeap` does, in the most obvious way."""

from collections.abc import Iterable
from itertools import count

Timer = tuple[int, int, int]


class ModelTimerHeap:
    """A dictionary of timers and when each was added; everything else is sorting."""

    def __init__(self, first_key_group: int = 0, last_key_group: int = 0) -> None:
        self.key_groups = range(first_key_group, last_key_group + 1)
        self.added: dict[tuple[int, Timer], int] = {}
        self.clock = count()

    def __len__(self) -> int:
        return len(self.added)

    def add(self, timestamp: int, key: int, namespace: int = 0, key_group: int = 0) -> bool:
        name = key_group, (timestamp, key, namespace)
        if name in self.added:
            return False
        self.added[name] = next(self.clock)
        return True

    def remove(self, timestamp: int, key: int, namespace: int = 0, key_group: int = 0) -> bool:
        return self.added.pop((key_group, (timestamp, key, namespace)), None) is not None

    def contains(self, timestamp: int, key: int, namespace: int = 0, key_group: int = 0) -> bool:
        return (key_group, (timestamp, key, namespace)) in self.added

    def _names(self) -> list[tuple[int, Timer]]:
        """In firing order: by timestamp, then as they were added."""
        return sorted(self.added, key=lambda name: (name[1][0], self.added[name]))

    def _take(self, names: Iterable[tuple[int, Timer]]) -> list[Timer]:
        return [name[1] for name in names if self.added.pop(name) is not None]

    def peek(self) -> Timer | None:
        names = self._names()
        return names[0][1] if names else None

    def poll(self) -> Timer | None:
        taken = self._take(self._names()[:1])
        return taken[0] if taken else None

    def add_many(self, rows: Iterable[tuple[int, int, int, int]]) -> int:
        return sum(self.add(*row) for row in rows)

    def remove_many(self, rows: Iterable[tuple[int, int, int, int]]) -> int:
        return sum(self.remove(*row) for row in rows)

    def poll_until(self, timestamp: int, limit: int | None = None) -> list[Timer]:
        due = [name for name in self._names() if name[1][0] <= timestamp]
        return self._take(due[:limit])

    def timers_of(self, key_group: int) -> list[Timer]:
        return [timer for group, timer in self._names() if group == key_group]

    def take_key_group(self, key_group: int) -> list[Timer]:
        return self._take([name for name in self._names() if name[0] == key_group])

    def clear(self) -> None:
        self.added.clear()
