"""One operator's share of a processing-time service."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError

from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.futures import complete, shared_future
from flinkish.time.processing_time_service import (
    ProcessingTimeCallback,
    ProcessingTimeService,
    ScheduledFuture,
)

__all__ = ["OperatorProcessingTimeService"]


def _as_it_is(callback: ProcessingTimeCallback) -> ProcessingTimeCallback:
    return callback


class OperatorProcessingTimeService(ProcessingTimeService):
    """A service that can be quiesced while those of other operators go on.

    As in Flink's ProcessingTimeServiceImpl.  ``service`` does the work.  ``wrap`` makes of each
    callback the one that is registered, for instance one that hands it to the thread of the task.

    ``shutdown`` ends this share only; the service belongs to its maker.
    """

    def __init__(
        self,
        service: ProcessingTimeService,
        wrap: Callable[[ProcessingTimeCallback], ProcessingTimeCallback] = _as_it_is,
    ) -> None:
        self._service = service
        self._wrap = wrap
        self._lock = threading.Lock()
        self._closed = False
        self._running = 0
        self._done: Future[None] = shared_future()

    def get_current_processing_time(self) -> int:
        """The time of the service."""
        return self._service.get_current_processing_time()

    def register_timer(self, timestamp: int, callback: ProcessingTimeCallback) -> ScheduledFuture:
        """Call ``callback(timestamp)`` after that time, unless this share is quiesced by then."""
        if self._closed:
            return ScheduledFuture()
        return self._service.register_timer(timestamp, self._counted(callback))

    def schedule_at_fixed_rate(
        self, callback: ProcessingTimeCallback, initial_delay: DurationLike, period: DurationLike
    ) -> ScheduledFuture:
        """Call back at ``initial_delay`` from now and every ``period`` after that time.

        Calls are skipped once this share is quiesced.
        """
        if self._closed:
            return ScheduledFuture()
        return self._service.schedule_at_fixed_rate(self._counted(callback), initial_delay, period)

    def schedule_with_fixed_delay(
        self, callback: ProcessingTimeCallback, initial_delay: DurationLike, period: DurationLike
    ) -> ScheduledFuture:
        """Call back at ``initial_delay`` from now and ``period`` after the end of each call.

        Calls are skipped once this share is quiesced.
        """
        if self._closed:
            return ScheduledFuture()
        return self._service.schedule_with_fixed_delay(
            self._counted(callback), initial_delay, period
        )

    def _counted(self, callback: ProcessingTimeCallback) -> ProcessingTimeCallback:
        wrapped = self._wrap(callback)

        def call(timestamp: int) -> None:
            with self._lock:
                if self._closed:
                    return
                self._running += 1
            try:
                wrapped(timestamp)
            finally:
                self._leave()

        return call

    def _leave(self) -> None:
        with self._lock:
            self._running -= 1
            last = self._closed and self._running == 0
        if last:
            complete(self._done, None)

    def quiesce(self) -> Future[None]:
        """Run nothing more of this share; the future is done when what runs has ended.

        It gives the same future again.
        """
        with self._lock:
            first = not self._closed
            self._closed = True
            idle = self._running == 0
        if first and idle:
            complete(self._done, None)
        return self._done

    def shutdown(self) -> None:
        """The same as quiescing this share."""
        self.quiesce()

    def shutdown_and_await(self, timeout: DurationLike) -> bool:
        """Quiesce, and wait for the callbacks of this share that run."""
        seconds = to_millis(timeout, "timeout", minimum=0) / 1000
        try:
            self.quiesce().result(seconds)
        except FutureTimeoutError:
            return False
        return True
