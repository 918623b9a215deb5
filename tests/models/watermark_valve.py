"""Flink's StatusWatermarkValve, every channel looked at in every step.

As of FLINK-40475: when all channels are idle the greatest watermark goes out, always; and the least
one is looked for whenever a channel is aligned again.
"""

from __future__ import annotations

from flinkish.common.elements import StreamElement, Watermark, WatermarkStatus
from flinkish.common.timestamps import MIN_TIMESTAMP

__all__ = ["WatermarkValveModel"]


class WatermarkValveModel:
    """The rules, without a shortcut."""

    def __init__(self, channels: int) -> None:
        self.watermarks = [MIN_TIMESTAMP] * channels
        self.active = [True] * channels
        self.aligned = [True] * channels
        self.emitted = MIN_TIMESTAMP

    def on_watermark(self, channel: int, timestamp: int) -> list[StreamElement]:
        if not self.active[channel] or timestamp <= self.watermarks[channel]:
            return []
        self.watermarks[channel] = timestamp
        self.aligned[channel] |= timestamp >= self.emitted
        return self.emit_least()

    def on_status(self, channel: int, status: WatermarkStatus) -> list[StreamElement]:
        if self.active[channel] == status.is_active():
            return []
        was_idle = not any(self.active)
        self.active[channel] = status.is_active()
        if status.is_active():
            self.aligned[channel] = self.watermarks[channel] >= self.emitted
            return [*([status] if was_idle else []), *self.emit_least()]
        self.aligned[channel] = False
        if any(self.active):
            return self.emit_least()
        return [*self.emit(max(self.watermarks)), status]

    def emit_least(self) -> list[StreamElement]:
        pairs = zip(self.watermarks, self.aligned, strict=True)
        aligned = [watermark for watermark, is_aligned in pairs if is_aligned]
        return self.emit(min(aligned)) if aligned else []

    def emit(self, timestamp: int) -> list[StreamElement]:
        if timestamp <= self.emitted:
            return []
        self.emitted = timestamp
        return [Watermark(timestamp)]
