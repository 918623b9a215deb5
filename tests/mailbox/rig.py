"""A mailbox thread for tests."""

from __future__ import annotations

import threading
from collections.abc import Callable

from flinkish.mailbox import MailboxController, MailboxProcessor

T = 300.0  # s, for what must not hang


class MailboxThread:
    """A processor whose loop runs on a thread of its own, once ``with`` has begun.

    Leaving it waits for the thread and raises what the loop raised.
    """

    def __init__(self, default_action: Callable[[MailboxController], object]) -> None:
        self.default_action = default_action
        self._made = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._error: BaseException | None = None
        self.processor: MailboxProcessor

    def _run(self) -> None:
        self.processor = MailboxProcessor(self.default_action)
        self._made.set()
        try:
            self.processor.run_mailbox_loop()
        except BaseException as error:
            self._error = error

    def __enter__(self) -> MailboxProcessor:
        self._thread.start()
        assert self._made.wait(T)
        return self.processor

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.processor.all_actions_completed()
        self._thread.join(T)
        assert not self._thread.is_alive(), "the mailbox loop did not end"
        if self._error is not None and kind is None:
            raise self._error


def nothing(*_: object) -> None:
    pass


class Turns:
    """A default action that does something in its n-th turn, and completes in the last."""

    def __init__(self, last: int, **turns: Callable[[MailboxController], object]) -> None:
        self.count = 0
        self.last = last
        self.turns = {int(name[1:]): action for name, action in turns.items()}

    def __call__(self, controller: MailboxController) -> None:
        self.count += 1
        self.turns.get(self.count, nothing)(controller)
        if self.count == self.last:
            controller.all_actions_completed()
