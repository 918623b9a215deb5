"""The two clocks of timers."""

from __future__ import annotations

from enum import Enum

__all__ = ["TimeDomain"]


class TimeDomain(Enum):
    """Which clock a timer follows."""

    EVENT_TIME = 0
    """The watermark: timestamps of events, less the lateness that is waited for."""

    PROCESSING_TIME = 1
    """The clock of the machine."""
