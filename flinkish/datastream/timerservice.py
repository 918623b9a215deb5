"""PyFlink's module of the timer service."""

from flinkish.time.timer_service import TimerService

__all__ = ["TimerService"]
