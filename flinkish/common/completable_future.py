"""PyFlink's CompletableFuture: a result that may come later."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["CompletableFuture"]

T = TypeVar("T")


class CompletableFuture(Generic[T]):
    """The result of a call that the first caller of `result` makes, and for which it waits.

    Threading: any number of threads; those that come while the call is made wait for it.
    """

    def __init__(self, call: Callable[[], T], is_done: Callable[[], bool]) -> None:
        self._call = call
        self._is_done = is_done
        self._lock = threading.Lock()
        self._made: list[T] = []
        self._error: BaseException | None = None

    @classmethod
    def completed(cls, result: T) -> CompletableFuture[T]:
        """A future whose result is there."""
        return cls(lambda: result, lambda: True)

    def result(self) -> T:
        """The result; raises the error of the call."""
        with self._lock:
            if self._error is not None:
                raise self._error
            if not self._made:
                try:
                    self._made.append(self._call())
                except BaseException as error:
                    self._error = error
                    raise
            return self._made[0]

    def exception(self) -> BaseException | None:
        """The error of the call, for which it waits; None if there was none."""
        try:
            self.result()
        except Exception as error:
            return error
        return None

    def done(self) -> bool:
        """Whether `result` returns at once."""
        return bool(self._made) or self._error is not None or self._is_done()

    def cancel(self) -> bool:
        """Return False: a call that others wait for cannot be cancelled; cancel the job."""
        return False

    def cancelled(self) -> bool:
        """Whether the call was cancelled: never."""
        return False
