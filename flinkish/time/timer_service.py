"""The service that gives user functions the time, and timers."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["TimerService"]


class TimerService(ABC):
    """Time, and timers of the current key.  All times are int milliseconds since the epoch.

    A timer is known by its time: a second registration for the same key, time and clock does
    nothing, and one deletion undoes both (Flink: InternalTimerServiceImpl).  Timers without a
    current key are an UnsupportedOperationError (Flink: ProcessOperator).

    The class only says what there is; the services that functions get are compiled and are
    registered with it.
    """

    @abstractmethod
    def current_processing_time(self) -> int:
        """The machine's clock."""

    @abstractmethod
    def current_watermark(self) -> int:
        """How far event time has come; the least 64-bit integer before the first watermark."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` when the clock has reached ``timestamp``."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` when the watermark has reached ``timestamp``.

        A timestamp that the watermark has passed already fires with the next advance; inside
        ``on_timer``, with this one.
        """

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Forget such a timer; nothing happens if there is none."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Forget such a timer; nothing happens if there is none."""
