"""What an endpoint sees of its inbox, in the most obvious way: a list and a state."""

from __future__ import annotations

from typing import Any


class InboxModel:
    """Calls wait in a list; ``deliver`` carries out the first ones, ``outcomes`` has all answers.

    A call is (number of the ask, what it adds); a control is its name.
    """

    def __init__(self) -> None:
        self.waiting: list[Any] = []
        self.state = "stopped"
        self.total = 0
        self.outcomes: dict[int, Any] = {}
        self.dead = 0
        self.events: list[str] = []

    def put(self, letter: Any) -> None:
        if self.state == "terminated":
            self._refuse(letter, "unreachable")
        else:
            self.waiting.append(letter)

    def deliver(self) -> None:
        """All that waits: nothing can come in between."""
        while self.waiting:
            letter = self.waiting.pop(0)
            if isinstance(letter, str):
                self._control(letter)
            elif self.state == "stopped":
                self._refuse(letter, "not started")
            else:
                number, addend = letter
                self.total += addend
                if number is not None:
                    self.outcomes[number] = self.total

    def _control(self, what: str) -> None:
        if what == "start" and self.state == "stopped":
            self.state = "started"
            self.events.append("start")
        elif what == "stop":
            self.state = "stopped"
        elif what == "close":
            if self.state == "started":
                self.events.append("stop")
            self.state = "terminated"
            rest, self.waiting = self.waiting, []
            for letter in rest:
                self._refuse(letter, "unreachable")

    def _refuse(self, letter: Any, why: str) -> None:
        if isinstance(letter, str):
            return
        self.dead += 1
        if letter[0] is not None:
            self.outcomes[letter[0]] = why
