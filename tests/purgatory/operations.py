"""Operations and tasks that tests watch."""

from __future__ import annotations

import threading
from collections.abc import Callable

from flinkish.common.durations import DurationLike
from flinkish.purgatory import DelayedOperation, TimerTask
from tests.waiting import PATIENCE


class Recorded(TimerTask):
    """A task that says when it ran."""

    def __init__(self, delay: DurationLike, name: object, ran: list[object]) -> None:
        super().__init__(delay)
        self.name = name
        self.ran = ran
        self.done = threading.Event()

    def run(self) -> None:
        self.ran.append(self.name)
        self.done.set()


class Operation(DelayedOperation):
    """Completes when it is `completable`; counts everything that happens to it."""

    def __init__(self, delay: DurationLike = 100_000, *, completable: bool = False) -> None:
        super().__init__(delay)
        self.completable = completable
        self.tries = 0
        self.completions = 0
        self.expirations = 0
        self.events: list[str] = []
        self.completed = threading.Event()
        self.expired = threading.Event()

    def try_complete(self) -> bool:
        self.tries += 1
        return self.force_complete() if self.completable else False

    def on_complete(self) -> None:
        self.completions += 1
        self.events.append("complete")
        self.completed.set()

    def on_expiration(self) -> None:
        self.expirations += 1
        self.events.append("expiration")
        self.expired.set()


class Scripted(Operation):
    """An operation whose methods are given."""

    def __init__(
        self,
        delay: DurationLike = 100_000,
        *,
        attempt: Callable[[Scripted], bool] = lambda self: False,
        complete: Callable[[Scripted], object] = lambda self: None,
    ) -> None:
        super().__init__(delay)
        self.attempt = attempt
        self.complete = complete

    def try_complete(self) -> bool:
        self.tries += 1
        return self.attempt(self)

    def on_complete(self) -> None:
        super().on_complete()
        self.complete(self)


def in_thread(call: Callable[[], object]) -> threading.Thread:
    """A thread that does `call`, started."""
    thread = threading.Thread(target=call)
    thread.start()
    return thread


def ended(thread: threading.Thread) -> None:
    """Wait for a thread that must come to its end."""
    thread.join(PATIENCE)
    assert not thread.is_alive(), f"{thread.name} does not end"
