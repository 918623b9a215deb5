"""Channels: where the rows of an input come from, each with a watermark of its own.

A channel is a source, a partition of a source, or an operator.  The watermark of an input is the
least of its channels', as in Flink; one that has been idle for longer than its strategy allows
does not count until it has rows again.  If all are idle the highest counts.

A channel is known by its number among those of the input, in the low 16 bits of its id, and for a
partition by a hash of the partition's name above them.
"""

from __future__ import annotations

from dataclasses import dataclass

from flinkish.common.timestamps import MAX_TIMESTAMP, MIN_TIMESTAMP

__all__ = ["CHANNEL", "NUMBER_BITS", "OF_OPERATOR", "Channel", "Mark"]

# The column of the channel's id, in rows of several sources and in their marks.
CHANNEL = "__flinkish_channel"
NUMBER_BITS = 16


@dataclass(frozen=True)
class Channel:
    """The watermark of one source, or of an operator.

    It ``trails_by`` so many ms the highest event time, and 1 ms more; None if it never moves.  With
    ``says_watermarks`` marks have the watermark itself: that of a generator, or of an operator.
    The rows of a source that ``ends`` are all in the first micro-batch.  ``idle_ms`` after its last
    row it is idle.
    """

    trails_by: int | None = None
    idle_ms: int | None = None
    ends: bool = False
    says_watermarks: bool = False

    @property
    def moves(self) -> bool:
        """Whether the watermark ever leaves the lowest."""
        return self.trails_by is not None or self.says_watermarks or self.ends

    def watermark(self, time: int) -> int:
        """The watermark (ms) of a channel whose marks came to this time."""
        if self.ends:
            return MAX_TIMESTAMP
        if self.says_watermarks or time == MIN_TIMESTAMP:
            return time
        return MIN_TIMESTAMP if self.trails_by is None else time - self.trails_by - 1


OF_OPERATOR = Channel(says_watermarks=True)


@dataclass(frozen=True)
class Mark:
    """The time (ms) that a channel of input 1 or 2 came to; None if it says that it is idle.

    It was ``active`` if it had rows.
    """

    time: int | None
    number: int = 1
    channel: int = 0
    active: bool = True
