"""The elements that flow through an operator: records, and the marks between them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

from flinkish.common.timestamps import MAX_TIMESTAMP, check_timestamp

__all__ = [
    "CancelCheckpointMarker",
    "CheckpointBarrier",
    "LatencyMarker",
    "StreamElement",
    "StreamRecord",
    "Watermark",
    "WatermarkStatus",
]


class StreamElement:
    """Anything that flows through an operator."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class StreamRecord(StreamElement):
    """One value, and its event time in milliseconds since the epoch, or None without one."""

    value: Any
    timestamp: int | None = None

    def __post_init__(self) -> None:
        if self.timestamp is not None:
            check_timestamp(self.timestamp)

    def has_timestamp(self) -> bool:
        """Whether the record carries an event time."""
        return self.timestamp is not None


@dataclass(frozen=True, slots=True, order=True)
class Watermark(StreamElement):
    """Event time has come to ``timestamp``, in milliseconds; nothing older should follow."""

    MAX_WATERMARK: ClassVar[Watermark]
    """After the last element of a bounded stream."""

    timestamp: int

    def __post_init__(self) -> None:
        check_timestamp(self.timestamp, "watermark")


Watermark.MAX_WATERMARK = Watermark(MAX_TIMESTAMP)


class WatermarkStatus(StreamElement, Enum):
    """Whether an input takes part in the watermark."""

    ACTIVE = 0
    IDLE = -1

    def is_active(self) -> bool:
        """Whether this is ACTIVE."""
        return self is WatermarkStatus.ACTIVE

    def is_idle(self) -> bool:
        """Whether this is IDLE."""
        return self is WatermarkStatus.IDLE


@dataclass(frozen=True, slots=True)
class LatencyMarker(StreamElement):
    """Sent by a source at ``marked_time`` (ms) to measure how long elements travel."""

    marked_time: int
    operator_id: str
    subtask_index: int


@dataclass(frozen=True, slots=True)
class CheckpointBarrier(StreamElement):
    """Elements before it belong to checkpoint ``id``, begun at ``timestamp`` (ms).

    One that is ``unaligned`` may overtake elements, which are then kept with the checkpoint.  Any
    other becomes so where it is still waited for ``alignment_timeout`` ms after ``timestamp``.
    """

    id: int
    timestamp: int
    unaligned: bool = False
    alignment_timeout: int | None = None


@dataclass(frozen=True, slots=True)
class CancelCheckpointMarker(StreamElement):
    """There is no checkpoint ``checkpoint_id`` at its sender, so a task need not wait for it."""

    checkpoint_id: int
