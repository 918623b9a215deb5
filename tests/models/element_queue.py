"""The obvious element queue: one list of entries in the order in which they went in."""

from dataclasses import dataclass, field


@dataclass(eq=False)
class Entry:
    element: object
    watermark: bool = False
    handle: int = 0  # the one that is not refused
    result: object = None
    completed: int = 0  # when, counted from 1; 0: not yet


@dataclass
class ModelElementQueue:
    capacity: int
    ordered: bool
    entries: list[Entry] = field(default_factory=list)
    handles: int = 0
    completions: int = 0

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def is_full(self) -> bool:
        return len(self.entries) >= self.capacity

    def put(self, element: object) -> int | None:
        if self.is_full:
            return None
        self.handles += 1
        self.entries.append(Entry(element, handle=self.handles))
        return self.handles

    def put_watermark(self, watermark: object) -> bool:
        if self.is_full:
            return False
        self.completions += 1
        self.entries.append(Entry(watermark, watermark=True, completed=self.completions))
        return True

    def held(self, handle: int) -> Entry | None:
        return next((e for e in self.entries if e.handle == handle and not e.completed), None)

    def renew(self, handle: int) -> int | None:
        entry = self.held(handle)
        if entry is None:
            return None
        self.handles += 1
        entry.handle = self.handles
        return self.handles

    def complete(self, handle: int, result: object) -> bool:
        entry = self.held(handle)
        if entry is None:
            return False
        self.completions += 1
        entry.completed, entry.result = self.completions, result
        return True

    def next(self) -> Entry | None:
        """The head; or what completed first of all before the first watermark."""
        if not self.entries or self.ordered or self.entries[0].watermark:
            first = self.entries[:1]
        else:
            marks = [row for row, entry in enumerate(self.entries) if entry.watermark]
            first = self.entries[: marks[0]] if marks else self.entries
        return min((e for e in first if e.completed), key=lambda e: e.completed, default=None)

    @property
    def has_completed(self) -> bool:
        return self.next() is not None

    def emit(self) -> tuple[object, object] | None:
        entry = self.next()
        if entry is None:
            return None
        self.entries.remove(entry)
        return entry.element, entry.result

    def emit_many(self, limit: int) -> tuple[list[object], list[object]]:
        pairs = [pair for _ in range(limit) if (pair := self.emit()) is not None]
        return [element for element, _ in pairs], [result for _, result in pairs]

    def elements(self) -> list[object]:
        return [entry.element for entry in self.entries]
