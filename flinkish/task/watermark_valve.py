"""The watermark of several channels that are one input."""

from __future__ import annotations

from flinkish.common.elements import StreamElement, Watermark, WatermarkStatus
from flinkish.common.timestamps import MIN_TIMESTAMP

__all__ = ["WatermarkValve"]


class _Channel:
    __slots__ = ("active", "aligned", "watermark")

    def __init__(self) -> None:
        self.watermark = MIN_TIMESTAMP
        self.active = True
        self.aligned = True


class WatermarkValve:
    """Lets through the least watermark of the channels that count.

    A channel counts while it is active and *aligned*: after it was idle it is aligned again once
    its watermark is at or past what has been let through, so event time never goes back and a
    channel that lags does not hold the others up.  When the last active channel becomes idle, the
    greatest watermark of all goes out before the status does, whatever the order in which the
    channels became idle.  When a channel becomes active and is aligned at once, what it alone held
    back goes out after the status.

    This is Flink's StatusWatermarkValve with FLINK-40475, which is in no release up to 2.3.0: those
    keep the greatest watermark back if the channel that becomes idle last lags, and stall when the
    only aligned channel becomes active again.

    Each method returns the elements to pass on.  Complexity: a step costs the number of channels
    only if it concerns the channel with the least watermark.

    Threading: one thread.
    """

    def __init__(self, channels: int) -> None:
        self._channels = [_Channel() for _ in range(channels)]
        self._active = channels
        self._emitted = MIN_TIMESTAMP

    def on_watermark(self, index: int, timestamp: int) -> list[StreamElement]:
        """A watermark (ms) of a channel; ignored if that is idle, or the watermark not greater."""
        channel = self._channels[index]
        if not channel.active or timestamp <= channel.watermark:
            return []
        held_back = channel.aligned and channel.watermark <= self._emitted
        channel.watermark = timestamp
        if not channel.aligned and timestamp >= self._emitted:
            channel.aligned = held_back = True
        return self._pass_least() if held_back else []

    def on_status(self, index: int, status: WatermarkStatus) -> list[StreamElement]:
        """A channel that became idle or active; said again, nothing happens."""
        channel = self._channels[index]
        if status.is_active() == channel.active:
            return []
        channel.active = status.is_active()
        if channel.active:
            self._active += 1
            channel.aligned = channel.watermark >= self._emitted
            passed = self._pass_least() if channel.aligned else []
            return [WatermarkStatus.ACTIVE, *passed] if self._active == 1 else passed
        self._active -= 1
        channel.aligned = False
        if not self._active:
            greatest = max(channel.watermark for channel in self._channels)
            return [*self._pass(greatest), WatermarkStatus.IDLE]
        return self._pass_least() if channel.watermark == self._emitted else []

    def _pass_least(self) -> list[StreamElement]:
        least = min(
            (channel.watermark for channel in self._channels if channel.aligned), default=None
        )
        return [] if least is None else self._pass(least)

    def _pass(self, timestamp: int) -> list[StreamElement]:
        if timestamp <= self._emitted:
            return []
        self._emitted = timestamp
        return [Watermark(timestamp)]
