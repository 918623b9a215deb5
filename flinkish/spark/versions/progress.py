"""How far the channels of an operator have come, kept between batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.spark.channels import NUMBER_BITS, Channel, Mark

__all__ = ["Progress", "Seen"]

_NUMBERS = (1 << NUMBER_BITS) - 1


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
