"""The timeouts and retries of an asynchronous operator: one wheel, and one timer of the task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flinkish._core.wheel.timing_wheel import TimingWheel
from flinkish.common.errors import IllegalArgumentError
from flinkish.common.timestamps import MAX_TIMESTAMP
from flinkish.operators.base import OperatorEnvironment
from flinkish.time.processing_time_service import ScheduledFuture

__all__ = ["CallTimers"]

_BUCKETS = 512


class CallTimers:
    """Any number of timers of an operator.

    ``on_due(payload)`` is called for each that is due, in the order of time.  The processing-time
    service has one callback at most, for the earliest, and none when nothing is pending
    (Flink: AsyncWaitOperator).

    Threading: the operator's thread, on which the service calls back.
    """

    def __init__(
        self, environment: OperatorEnvironment, on_due: Callable[[Any], object], what: str
    ) -> None:
        self._environment = environment
        self._on_due = on_due
        self._what = what
        self._wheel = TimingWheel(1, _BUCKETS, environment.current_processing_time())
        self.cancel = self._wheel.cancel
        self._registered: ScheduledFuture | None = None
        self._at = MAX_TIMESTAMP  # of what is registered
        self.registrations = 0

    def __len__(self) -> int:
        return len(self._wheel)

    def add(self, at: int, payload: object) -> int:
        """Call ``on_due(payload)`` when the clock has come to ``at`` (ms); a handle to cancel it.

        Handles are positive.
        """
        handle = self._wheel.add(at, payload) + 1
        if at < self._at:
            self._arm()
        return handle

    def drop(self, handle: int) -> None:
        """Forget a timer, if it is pending."""
        self.cancel(handle - 1)

    def settle(self) -> None:
        """Let go of the service's timer if nothing is pending."""
        if self._registered is not None and len(self._wheel) == 0:
            self._disarm()

    def _disarm(self) -> None:
        registered, self._registered = self._registered, None
        self._at = MAX_TIMESTAMP
        if registered is not None:
            registered.cancel()

    def _arm(self) -> None:
        at = self._wheel.next_expiration
        if at is None or at >= self._at:
            return
        service = self._environment.processing_time_service
        if service is None:
            raise IllegalArgumentError(
                f"{self._what} has a timeout or retries, which need a processing-time service: "
                "give one with OperatorEnvironment(processing_time_service=...)"
            )
        self._disarm()
        self._at = at
        self.registrations += 1
        self._registered = service.register_timer(at, self._fire)

    def _fire(self, timestamp: int) -> None:
        self._registered = None
        self._at = MAX_TIMESTAMP
        now = self._environment.current_processing_time()
        try:
            for payload in self._wheel.advance(max(timestamp, now)):
                self._on_due(payload)
        finally:
            self._arm()

    def close(self) -> None:
        """Forget all of them."""
        self._wheel.advance(MAX_TIMESTAMP)
        self._disarm()
