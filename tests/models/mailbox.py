"""The obvious mailbox: one list, searched from the front every time."""

from dataclasses import dataclass, field

FRONT, URGENT, NORMAL = range(3)
BURST = 1024


@dataclass
class Entry:
    mail: object
    kind: int
    number: int  # in the order of putting
    original: int
    priority: int  # as it shows

    @property
    def order(self) -> tuple[int, int]:
        return self.kind, -self.number if self.kind == FRONT else self.number


@dataclass
class ModelMailbox:
    entries: list[Entry] = field(default_factory=list)
    numbers: int = 0
    batch_end: int = 0
    overtakes: int = 0
    state: str = "OPEN"

    def __len__(self) -> int:
        return len(self.entries)

    def put(self, mail: object, kind: int, priority: int, deferrable: bool = False) -> bool:
        if self.state != "OPEN":
            return False
        shown = -1 if deferrable else priority
        self.entries.append(Entry(mail, kind, self.numbers, priority, shown))
        self.numbers += 1
        return True

    def is_late(self, entry: Entry) -> bool:
        return entry.kind != FRONT and entry.number >= self.batch_end

    def take(self, priority: int, *, original: bool = False) -> object:
        seen = [e for e in self.entries if (e.original if original else e.priority) >= priority]
        first = min(seen, key=lambda e: e.order, default=None)
        if first is None:
            return None
        patient = [e for e in seen if e.kind == NORMAL]
        if first.kind == URGENT and self.is_late(first) and self.overtakes >= BURST and patient:
            first = min(patient, key=lambda e: e.order)
        if first.kind == NORMAL:
            self.overtakes = 0
        return self.remove(first)

    def take_from_batch(self) -> object:
        seen = [
            e
            for e in self.entries
            if not self.is_late(e) or (e.kind == URGENT and self.overtakes < BURST)
        ]
        first = min(seen, key=lambda e: e.order, default=None)
        return None if first is None else self.remove(first)

    def remove(self, entry: Entry) -> object:
        if entry.kind == URGENT and self.is_late(entry):
            self.batch_end = self.numbers
            self.overtakes += 1
        self.entries.remove(entry)
        return entry.mail

    def create_batch(self) -> bool:
        if self.entries:
            self.batch_end, self.overtakes = self.numbers, 0
        return bool(self.entries)

    def drain(self) -> list[object]:
        mails = [e.mail for e in sorted(self.entries, key=lambda e: e.order)]
        self.entries, self.batch_end, self.overtakes = [], self.numbers, 0
        return mails

    def quiesce(self) -> None:
        if self.state == "OPEN":
            self.state = "QUIESCED"

    def close(self) -> list[object]:
        self.state = "CLOSED"
        return self.drain()
