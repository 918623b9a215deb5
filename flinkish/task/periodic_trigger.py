"""When periodic checkpoints are asked for."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

from flinkish.common.errors import IllegalStateError
from flinkish.time import ProcessingTimeService
from flinkish.time.processing_time_service import ScheduledFuture

__all__ = ["PeriodicTrigger"]


class PeriodicTrigger:
    """Calls ``ask()`` every ``interval`` ms while it is started; None means never.

    Threading: any.
    """

    def __init__(
        self,
        timers: ProcessingTimeService,
        interval: int | None,
        min_pause: int,
        ask: Callable[[], object],
    ) -> None:
        self._timers = timers
        self._interval = interval
        self._min_pause = min_pause
        self._ask = ask
        self._lock = threading.Lock()
        self._scheduled: ScheduledFuture | None = None
        self._stopped = False

    def start(self) -> None:
        """The first comes at some time in [min_pause, interval] (Flink: CheckpointCoordinator)."""
        if self._interval is None:
            raise IllegalStateError("periodic checkpoints need an interval: give one")
        first = random.randint(min(self._min_pause, self._interval), self._interval)
        with self._lock:
            if self._scheduled is None and not self._stopped:
                self._scheduled = self._schedule(self._interval, first)

    def put_off(self, delay: int) -> None:
        """The next is to be asked for after ``delay`` ms (Flink: CheckpointRequestDecider)."""
        with self._lock:
            if self._scheduled is not None and self._interval is not None:
                self._scheduled.cancel()
                self._scheduled = self._schedule(self._interval, delay)

    def stop(self, for_good: bool = False) -> None:
        """Ask no more, until it is started again."""
        with self._lock:
            self._stopped = self._stopped or for_good
            if self._scheduled is not None:
                self._scheduled.cancel()
                self._scheduled = None

    def _schedule(self, interval: int, delay: int) -> ScheduledFuture:
        return self._timers.schedule_at_fixed_rate(lambda _: self._ask(), delay, interval)
