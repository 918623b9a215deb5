"""Times in milliseconds since the epoch, and where 64 bits of them end."""

from __future__ import annotations

from operator import index
from typing import SupportsIndex

from flinkish.common.errors import TimestampError

__all__ = ["MAX_TIMESTAMP", "MIN_TIMESTAMP", "check_timestamp"]

MIN_TIMESTAMP = -(1 << 63)
"""The watermark before the first one (Flink: InternalTimerServiceImpl)."""

MAX_TIMESTAMP = (1 << 63) - 1
"""The watermark at the end of the data: no event can follow it."""


def check_timestamp(timestamp: SupportsIndex, what: str = "timestamp") -> int:
    """``timestamp`` as an int, if it is one of 64 bits; TimestampError naming it otherwise."""
    if type(timestamp) is int and MIN_TIMESTAMP <= timestamp <= MAX_TIMESTAMP:
        return timestamp
    if isinstance(timestamp, bool) or not hasattr(timestamp, "__index__"):
        raise TimestampError(
            f"{what} must be an int of milliseconds since the epoch, not {timestamp!r} "
            f"of type {type(timestamp).__name__}"
        )
    millis = index(timestamp)
    if not MIN_TIMESTAMP <= millis <= MAX_TIMESTAMP:
        raise TimestampError(
            f"{what} {millis} does not fit 64 bits of milliseconds since the epoch; "
            "is it in another unit?"
        )
    return millis
