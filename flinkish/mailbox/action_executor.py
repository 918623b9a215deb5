"""How the commands of mails are called."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import RLock
from typing import Any, ClassVar, TypeVar

from flinkish.common.errors import ArgumentTypeError

__all__ = ["StreamTaskActionExecutor", "SynchronizedStreamTaskActionExecutor"]

T = TypeVar("T")


class StreamTaskActionExecutor:
    """Calls what it is given, at once and on the calling thread (Flink: StreamTaskActionExecutor).

    A subclass does something around the calls.  ``run``, ``run_throwing`` and ``call`` are the
    same here: the difference is Java's, whose callables declare what they throw.
    """

    IMMEDIATE: ClassVar[StreamTaskActionExecutor]

    def run(self, runnable: Callable[[], object]) -> None:
        """Call ``runnable`` in the way of this executor: as it is, or under a lock."""
        self.call(runnable)

    def run_throwing(self, runnable: Callable[[], object]) -> None:
        """Call it; mails are run by this."""
        self.call(runnable)

    def call(self, function: Callable[[], T]) -> T:
        """Call it and return its result."""
        return function()


StreamTaskActionExecutor.IMMEDIATE = StreamTaskActionExecutor()


class SynchronizedStreamTaskActionExecutor(StreamTaskActionExecutor):
    """Calls while it holds ``lock`` (Flink: StreamTaskActionExecutor).

    For tasks with a second thread that touches their state, such as the thread of a legacy
    source: the thread that holds the lock is alone.  Take a re-entrant lock, the default, where a
    command may call the executor itself.
    """

    def __init__(self, lock: AbstractContextManager[Any] | None = None) -> None:
        if lock is None:
            lock = RLock()
        if not hasattr(lock, "__enter__"):
            raise ArgumentTypeError(
                f"lock must be a lock, for instance threading.RLock(), not {lock!r}"
            )
        self.lock = lock

    def call(self, function: Callable[[], T]) -> T:
        """Call it within the lock and return its result."""
        with self.lock:
            return function()
