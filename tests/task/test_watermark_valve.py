"""The watermark of several channels, as of Flink's StatusWatermarkValve."""

import random
from collections import deque

import pytest

from flinkish.common.elements import StreamElement, Watermark, WatermarkStatus
from flinkish.task.watermark_valve import WatermarkValve
from tests.models.watermark_valve import WatermarkValveModel

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


def test_the_greatest_goes_out_when_the_channel_that_lags_is_idle_last() -> None:
    valve = WatermarkValve(3)
    valve.on_watermark(0, 3)
    valve.on_watermark(1, 20)
    assert valve.on_watermark(2, 8) == [Watermark(3)]
    assert valve.on_status(0, IDLE) == [Watermark(8)]
    assert valve.on_status(1, IDLE) == []
    assert valve.on_status(0, ACTIVE) == []  # behind 8: not aligned
    assert valve.on_status(2, IDLE) == []
    assert valve.on_status(0, IDLE) == [Watermark(20), IDLE]


def test_what_the_only_aligned_channel_held_back_goes_out_when_it_is_active_again() -> None:
    valve = WatermarkValve(3)
    for channel, timestamp in enumerate((3, 20, 8)):
        valve.on_watermark(channel, timestamp)
    for channel, status in ((0, IDLE), (1, IDLE), (0, ACTIVE), (2, IDLE)):
        valve.on_status(channel, status)
    assert valve.on_status(1, ACTIVE) == [Watermark(20)]


Step = tuple[int, WatermarkStatus | int]


def told(valve: WatermarkValve | WatermarkValveModel, step: Step) -> list[StreamElement]:
    channel, said = step
    if isinstance(said, WatermarkStatus):
        return valve.on_status(channel, said)
    return valve.on_watermark(channel, said)


def state_of(valve: WatermarkValve, model: WatermarkValveModel) -> str:
    channels = [(item.watermark, item.active, item.aligned) for item in valve._channels]
    return repr((channels, valve._active, valve._emitted, vars(model)))


@pytest.mark.parametrize(("channels", "timestamps"), [(1, (1, 2, 3)), (2, (1, 2, 3)), (3, (1, 2))])
def test_every_history_is_flinks(channels: int, timestamps: tuple[int, ...]) -> None:
    """However long: a history ends where another one has brought both to the same state."""
    steps: list[Step] = [
        (channel, said) for channel in range(channels) for said in (*timestamps, IDLE, ACTIVE)
    ]
    histories: deque[list[Step]] = deque([[]])
    states: set[str] = set()
    while histories:
        history = histories.popleft()
        valve, model = WatermarkValve(channels), WatermarkValveModel(channels)
        for step in history:
            assert told(valve, step) == told(model, step), history
        state = state_of(valve, model)
        if state not in states:
            states.add(state)
            histories.extend([*history, step] for step in steps)


@pytest.mark.parametrize("seed", range(20))
def test_long_histories_are_flinks(seed: int) -> None:
    dice = random.Random(seed)
    channels = dice.randint(1, 4)
    valve, model = WatermarkValve(channels), WatermarkValveModel(channels)
    for _ in range(500):
        said = dice.choice((IDLE, ACTIVE)) if dice.random() < 0.3 else dice.randint(0, 300)
        step = dice.randrange(channels), said
        assert told(valve, step) == told(model, step)
