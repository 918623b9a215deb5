"""A purgatory as lists: the obvious twin of `DelayedOperationPurgatory` on a manual timer."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field


@dataclass
class OperationModel:
    """What is known of one operation."""

    delay: int
    completable: bool = False
    completed: bool = False
    expired: bool = False
    deadline: int | None = None  # while its timer runs
    order: int = 0  # of the last add to the timer
    watches: list[Hashable] = field(default_factory=list)

    def complete(self) -> bool:
        if self.completed:
            return False
        self.completed = True
        self.deadline = None
        self.watches.clear()
        return True

    def attempt(self) -> bool:
        return self.completable and self.complete()


class PurgatoryModel:
    """All operations, and a clock."""

    def __init__(self) -> None:
        self.operations: list[OperationModel] = []
        self.now = 0
        self.adds = 0
        self.closed = False

    def watch(self, operation: OperationModel, keys: Sequence[Hashable]) -> bool:
        if operation.completed:
            return False
        if operation not in self.operations:
            self.operations.append(operation)
        if operation.attempt():
            return True
        operation.watches += keys
        self.adds += 1
        operation.order = self.adds
        operation.deadline = self.now + operation.delay
        self._expire(operation)
        return False

    def check(self, key: Hashable) -> int:
        return sum(one.attempt() for one in self.operations if key in one.watches)

    def cancel(self, key: Hashable) -> list[OperationModel]:
        found = [one for one in self.operations if key in one.watches]
        for one in found:
            one.watches = [other for other in one.watches if other != key]
            one.deadline = None
        return found

    def advance(self, millis: int) -> list[OperationModel]:
        """Who expired, in order."""
        self.now += millis
        due = [one for one in self.operations if one.deadline is not None]
        due = [one for one in due if one.deadline <= self.now]  # type: ignore[operator]
        due.sort(key=lambda one: (one.deadline, one.order))
        for one in due:
            self._expire(one)
        return due

    def _expire(self, operation: OperationModel) -> None:
        if operation.deadline is not None and operation.deadline <= self.now:
            operation.expired = operation.complete()

    def shutdown(self) -> None:
        self.closed = True
        for one in self.operations:
            if one.watches:
                one.complete()

    def watched(self) -> int:
        return sum(len(one.watches) for one in self.operations)

    def delayed(self) -> int:
        return sum(one.deadline is not None for one in self.operations)
