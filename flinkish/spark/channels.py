"""Channels: where the rows of an input come from, each with a watermark of its own.

A channel is a source, a partition of a source, or an operator.  The watermark of an input is the
least of its channels', as in Flink; one that has been idle for longer than its strategy allows
does not count until it has rows again.  If all are idle the highest counts.

A channel is known by its number among those of the input, in the low 16 bits of its id, and for a
partition by a hash of the partition's name above them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from flinkish.common.timestamps import MAX_TIMESTAMP, MIN_TIMESTAMP

__all__ = ["CHANNEL", "NUMBER_BITS", "OF_OPERATOR", "Channel", "Mark", "Progress", "Seen"]

# The column of the channel's id, in rows of several sources and in their marks.
CHANNEL = "__flinkish_channel"
NUMBER_BITS = 16

_NUMBERS = (1 << NUMBER_BITS) - 1


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


class Seen(msgspec.Struct, array_like=True):
    """How far a channel came (ms), when it was last active, and whether it said that it is idle."""

    time: int
    active_ms: int
    idle: bool = False


@dataclass
class Progress:
    """How far an operator and its two inputs have come: watermarks (ms), which never go back.

    ``channels`` are those of each input, by their ids.  The operator ``is_idle`` if its inputs are.
    """

    watermark: int = MIN_TIMESTAMP
    watermarks: list[int] = field(default_factory=lambda: [MIN_TIMESTAMP, MIN_TIMESTAMP])
    channels: list[dict[int, Seen]] = field(default_factory=lambda: [{}, {}])
    is_idle: bool = False

    def move(self, inputs: Sequence[Sequence[Channel]], marks: Iterable[Mark], now: int) -> None:
        """Take the marks of a batch that has this processing time (ms).

        ``inputs`` have the channels of each; an input of which none ever moves does not count.
        """
        heard: tuple[dict[int, list[Mark]], ...] = ({}, {})
        for mark in marks:
            heard[mark.number - 1].setdefault(mark.channel, []).append(mark)
        for at, channels in enumerate(inputs):
            for one in sorted(heard[at]):
                if one & _NUMBERS < len(channels):
                    channel = channels[one & _NUMBERS]
                    _take(self.channels[at], one, channel, heard[at][one], now)
        counted = [at for at, channels in enumerate(inputs) if any(one.moves for one in channels)]
        idle = {at: self._move_input(at, inputs[at], now) for at in counted}
        active = [self.watermarks[at] for at in counted if not idle[at]]
        self.is_idle = bool(counted) and not active
        if counted:
            found = min(active) if active else max(self.watermarks[at] for at in counted)
            self.watermark = max(self.watermark, found)

    def _move_input(self, at: int, channels: Sequence[Channel], now: int) -> bool:
        """Move the watermark of an input; whether it is idle."""
        seen = self.channels[at]
        found: list[tuple[int, bool]] = []
        for number, channel in enumerate(channels):
            if not any(one & _NUMBERS == number for one in seen):
                seen[number] = Seen(MIN_TIMESTAMP, now)
            for one, state in seen.items():
                if one & _NUMBERS == number:
                    waited = channel.idle_ms is not None and now - state.active_ms > channel.idle_ms
                    found.append((channel.watermark(state.time), state.idle or waited))
        active = [watermark for watermark, idle in found if not idle]
        now_at = min(active) if active else max(watermark for watermark, _ in found)
        self.watermarks[at] = max(self.watermarks[at], now_at)
        return not active


def _take(
    seen: dict[int, Seen], one: int, channel: Channel, marks: Sequence[Mark], now: int
) -> None:
    """Take the marks of the tasks of a channel."""
    if one & ~_NUMBERS:  # a partition is known, so the source as a whole is no channel any more
        seen.pop(one & _NUMBERS, None)
    state = seen.setdefault(one, Seen(MIN_TIMESTAMP, now))
    times = [mark.time for mark in marks if mark.time is not None]
    state.idle = not times
    # Tasks have any slice of a source's rows; each has the watermark of an operator.
    time = (min if channel.says_watermarks else max)(times, default=MIN_TIMESTAMP)
    state.time = max(state.time, time)
    if any(mark.active for mark in marks):
        state.active_ms = now
