"""A delayed operation that an asyncio program awaits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any, Generic, TypeVar

from flinkish.common.durations import DurationLike
from flinkish.common.errors import ArgumentTypeError, FutureTimeoutError, IllegalStateError
from flinkish.purgatory.delayed_operation import DelayedOperation

__all__ = ["DelayedAnswer"]

T = TypeVar("T")


class DelayedAnswer(DelayedOperation, Generic[T]):
    """An operation to ``await``: it ends when ``look()`` returns an answer, or at its time limit.

    A thread that checks one of the operation's keys calls ``look()``, which must not block; calls
    never overlap.  None means not yet, any other value is the answer, and an error that it raises
    is raised in the awaiting task.  If the time is over first, or the purgatory is shut down, that
    thread calls ``late()`` for the answer; without ``late`` the task gets a FutureTimeoutError.

    Create it in a coroutine, watch it in a purgatory, and await it on the same loop.  If the
    awaiting task is cancelled, as when the client leaves or ``asyncio.timeout`` ends, the operation
    is completed at once: nothing watches it any more, its timer is cancelled, and neither function
    is called again.  Raises IllegalStateError where no loop runs.
    """

    def __init__(
        self,
        delay: DurationLike,
        look: Callable[[], T | None],
        late: Callable[[], T] | None = None,
    ) -> None:
        super().__init__(delay)
        for name, function in (("look", look), ("late", look if late is None else late)):
            if not callable(function):
                raise ArgumentTypeError(f"{name} must be callable, not {function!r}")
        self._look = look
        self._late = late
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            raise IllegalStateError(
                "a DelayedAnswer is made in a coroutine, whose loop gets the answer, and none runs "
                "on this thread: make it there, or take a DelayedOperation"
            ) from None
        self._answer: asyncio.Future[T] = self._loop.create_future()
        self._found: T | None = None
        self._error: Exception | None = None
        self._abandoned = False

    def __await__(self) -> Generator[Any, None, T]:
        """The answer, on the loop of the coroutine that made the operation."""
        try:
            return (yield from self._answer)
        except asyncio.CancelledError:
            self._abandoned = True
            self.force_complete()
            raise

    # --- called by the purgatory

    def try_complete(self) -> bool:
        """Complete it if ``look`` has an answer."""
        try:
            self._found = self._look()
        except Exception as error:
            self._error = error
        if self._found is None and self._error is None:
            return False
        return self.force_complete()

    def on_complete(self) -> None:
        """Pass the answer, or the late answer, to the loop."""
        if self._abandoned:
            return
        answer, error = self._found, self._error
        if answer is None and error is None:
            try:
                answer = self._give_late()
            except Exception as raised:
                error = raised
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._settle, answer, error)

    def on_expiration(self) -> None:
        """Do nothing: the completion has already passed on the late answer."""

    def _give_late(self) -> T | None:
        if self._late is None:
            raise FutureTimeoutError(
                f"no answer came within {self.delay_ms} ms, or before the purgatory was shut down"
            )
        return self._late()

    def _settle(self, answer: Any, error: Exception | None) -> None:
        if self._answer.done():
            return
        if error is None:
            self._answer.set_result(answer)
        else:
            self._answer.set_exception(error)
            self._answer.exception()  # nobody need await it
