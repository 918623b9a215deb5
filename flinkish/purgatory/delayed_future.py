"""An operation that waits for futures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

from flinkish.common.durations import DurationLike
from flinkish.common.errors import ArgumentTypeError, FutureTimeoutError
from flinkish.common.futures import fail
from flinkish.purgatory.delayed_operation import DelayedOperation
from flinkish.purgatory.later import CompletesLater

__all__ = ["DelayedFuture"]


class DelayedFuture(DelayedOperation):
    """Calls ``callback()`` once all futures are done, or when its time is over.

    Futures that are pending then fail with a FutureTimeoutError before the callback; one that an
    executor is running already is left alone, for its thread will set the result.  The callback
    finds all that out from the futures.

    Watch it in a purgatory.  If all futures are done already the callback runs there, on the
    calling thread; else on a thread that is made for the purpose when the last one is done
    (Kafka: DelayedFuture), or on the timer's executor when the time is over.  Nobody needs to check
    a key.
    """

    def __init__(
        self,
        delay: DurationLike,
        futures: Iterable[Future[Any]],
        callback: Callable[[], object],
    ) -> None:
        super().__init__(delay)
        self.futures = tuple(futures)
        wrong = [future for future in self.futures if not isinstance(future, Future)]
        if wrong:
            raise ArgumentTypeError(
                f"futures must be concurrent.futures.Future objects, not {wrong[0]!r}"
            )
        if not callable(callback):
            raise ArgumentTypeError(f"callback must be callable, not {callback!r}")
        self.callback = callback
        self._listens = False

    def try_complete(self) -> bool:
        """Complete it if all futures are done."""
        if self._all_done():
            return self.force_complete()
        if not self._listens:
            self._listens = True
            for future in self.futures:
                future.add_done_callback(self._one_done)
        return False

    def _all_done(self) -> bool:
        return all(future.done() for future in self.futures)

    def _one_done(self, future: Future[Any]) -> None:
        if self.is_completed() or not self._all_done():
            return
        if isinstance(self._home, CompletesLater):
            self._home.complete_later(self)
        else:
            self.force_complete()

    def on_complete(self) -> None:
        """Fail what is pending, then call back."""
        for future in self.futures:
            if not future.done() and not future.running():
                fail(
                    future,
                    FutureTimeoutError(f"the future was not done within {self.delay_ms} ms"),
                )
        self.callback()
