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
    channel that lags does not hold the others up.  When the last active channel becomes idle, and
    it was the one that held event time back, the greatest watermark of all goes out before the
    status does.  This is Flink's StatusWatermarkValve.

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
            return [WatermarkStatus.ACTIVE] if self._active == 1 else []
        self._active -= 1
        channel.aligned = False
        held_back = channel.watermark == self._emitted
        if self._active:
            return self._pass_least() if held_back else []
        greatest = max(one.watermark for one in self._channels)
        return [*(self._pass(greatest) if held_back else []), WatermarkStatus.IDLE]

    def _pass_least(self) -> list[StreamElement]:
        least = min((one.watermark for one in self._channels if one.aligned), default=None)
        return [] if least is None else self._pass(least)

    def _pass(self, timestamp: int) -> list[StreamElement]:
        if timestamp <= self._emitted:
            return []
        self._emitted = timestamp
        return [Watermark(timestamp)]
