"""The watermark of several channels, as of Flink's StatusWatermarkValve."""

import random

import pytest

from flinkish.common.elements import StreamElement, Watermark, WatermarkStatus
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.task.watermark_valve import WatermarkValve

IDLE, ACTIVE = WatermarkStatus.IDLE, WatermarkStatus.ACTIVE


def test_the_least_watermark_goes_out_when_it_rises() -> None:
    valve = WatermarkValve(3)
    assert valve.on_watermark(0, 5) == []
    assert valve.on_watermark(1, 3) == []
    assert valve.on_watermark(2, 4) == [Watermark(3)]
    assert valve.on_watermark(2, 9) == []
    assert valve.on_watermark(1, 3) == []  # not greater
    assert valve.on_watermark(1, 2) == []
    assert valve.on_watermark(1, 7) == [Watermark(5)]


def test_an_idle_channel_holds_nobody_back() -> None:
    valve = WatermarkValve(2)
    valve.on_watermark(0, 10)
    assert valve.on_status(1, IDLE) == [Watermark(10)]
    assert valve.on_status(1, IDLE) == []
    assert valve.on_watermark(1, 99) == []  # an idle channel has no say
    assert valve.on_watermark(0, 11) == [Watermark(11)]


def test_a_channel_that_lags_counts_again_once_it_has_caught_up() -> None:
    valve = WatermarkValve(2)
    valve.on_watermark(0, 10)
    valve.on_status(1, IDLE)
    assert valve.on_status(1, ACTIVE) == []
    assert valve.on_watermark(1, 5) == []
    assert valve.on_watermark(0, 12) == [Watermark(12)]  # not held up by 5
    assert valve.on_watermark(1, 12) == []
    assert valve.on_watermark(0, 20) == []  # held up by 12
    assert valve.on_watermark(1, 15) == [Watermark(15)]


def test_when_all_are_idle_the_greatest_goes_out_before_the_status() -> None:
    valve = WatermarkValve(2)
    valve.on_watermark(0, 10)
    valve.on_watermark(1, 20)
    assert valve.on_status(1, IDLE) == []  # 0 holds event time back
    assert valve.on_status(0, IDLE) == [Watermark(20), IDLE]
    assert valve.on_status(1, ACTIVE) == [ACTIVE]
    assert valve.on_status(0, ACTIVE) == []
    assert valve.on_watermark(0, 15) == []  # behind what went out
    assert valve.on_watermark(1, 21) == [Watermark(21)]


def test_when_the_one_ahead_was_active_last_its_watermark_is_the_greatest() -> None:
    valve = WatermarkValve(2)
    valve.on_watermark(0, 10)
    valve.on_watermark(1, 20)
    assert valve.on_status(0, IDLE) == [Watermark(20)]
    assert valve.on_status(1, IDLE) == [IDLE]


def test_a_single_channel_is_passed_through() -> None:
    valve = WatermarkValve(1)
    assert valve.on_watermark(0, 1) == [Watermark(1)]
    assert valve.on_status(0, IDLE) == [IDLE]
    assert valve.on_status(0, ACTIVE) == [ACTIVE]
    assert valve.on_watermark(0, 2) == [Watermark(2)]


class Obvious:
    """The valve's rules, all channels looked at every time."""

    def __init__(self, channels: int) -> None:
        self.marks = [MIN_TIMESTAMP] * channels
        self.active = [True] * channels
        self.aligned = [True] * channels
        self.out = MIN_TIMESTAMP

    def watermark(self, channel: int, timestamp: int) -> list[StreamElement]:
        if not self.active[channel] or timestamp <= self.marks[channel]:
            return []
        self.marks[channel] = timestamp
        self.aligned[channel] |= timestamp >= self.out
        return self.rise()

    def status(self, channel: int, active: bool) -> list[StreamElement]:
        if self.active[channel] == active:
            return []
        self.active[channel] = active
        self.aligned[channel] = active and self.marks[channel] >= self.out
        if active:
            return [ACTIVE] if sum(self.active) == 1 else []
        if any(self.active):
            return self.rise()
        least = self.marks[channel] == self.out
        return [*(self.to(max(self.marks)) if least else []), IDLE]

    def rise(self) -> list[StreamElement]:
        counting = [m for m, aligned in zip(self.marks, self.aligned, strict=True) if aligned]
        return self.to(min(counting)) if counting else []

    def to(self, timestamp: int) -> list[StreamElement]:
        if timestamp <= self.out:
            return []
        self.out = timestamp
        return [Watermark(timestamp)]


@pytest.mark.parametrize("seed", range(20))
def test_shortcuts_change_nothing(seed: int) -> None:
    dice = random.Random(seed)
    channels = dice.randint(1, 4)
    valve, obvious = WatermarkValve(channels), Obvious(channels)
    for _ in range(500):
        channel = dice.randrange(channels)
        if dice.random() < 0.3:
            active = dice.random() < 0.5
            status = ACTIVE if active else IDLE
            assert valve.on_status(channel, status) == obvious.status(channel, active)
        else:
            timestamp = dice.randint(0, 300)
            expected = obvious.watermark(channel, timestamp)
            assert valve.on_watermark(channel, timestamp) == expected
