import pickle
import warnings
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.common.durations import Duration, Time
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    TimestampError,
    UnsupportedOperationError,
)
from flinkish.common.timestamps import MAX_TIMESTAMP, MIN_TIMESTAMP
from flinkish.common.watermark_strategy import (
    TimestampAssigner,
    WatermarkGenerator,
    WatermarkStrategy,
)


class FirstField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[0])


def test_kinds() -> None:
    assert WatermarkStrategy.no_watermarks().max_out_of_orderness_ms is None
    assert WatermarkStrategy.for_monotonous_timestamps().max_out_of_orderness_ms == 0
    for bound in (
        Duration.of_seconds(5),
        Time.seconds(5),
        timedelta(seconds=5),
        5_000,
        "5 seconds",
    ):
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(bound)
        assert strategy.max_out_of_orderness_ms == 5_000
    with pytest.raises(IllegalArgumentError, match="max_out_of_orderness must be at least 0 ms"):
        WatermarkStrategy.for_bounded_out_of_orderness(-1)


def test_the_parts_of_a_strategy_survive_each_other() -> None:
    # PyFlink 2.3 loses the assigner when with_idleness follows it; that helps nobody.
    assigner = FirstField()
    strategy = (
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(2))
        .with_timestamp_assigner(assigner)
        .with_idleness(Duration.of_minutes(1))
    )
    assert strategy.timestamp_assigner is assigner
    assert strategy.idleness_ms == 60_000
    assert strategy.max_out_of_orderness_ms == 2_000
    assert pickle.loads(pickle.dumps(strategy)).idleness_ms == 60_000


def test_an_assigner_may_be_set_in_place() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    assert strategy.with_timestamp_assigner(FirstField()) is strategy
    assert strategy.timestamp_assigner is not None


def test_what_is_no_assigner() -> None:
    for wrong in (None, lambda value, before: 0, "ts"):
        with pytest.raises(ArgumentTypeError, match=r"extract_timestamp\(value, record_timestamp"):
            WatermarkStrategy.no_watermarks().with_timestamp_assigner(wrong)  # type: ignore[arg-type]


def test_idleness_is_a_time() -> None:
    with pytest.raises(IllegalArgumentError, match="idle_timeout must be at least 1 ms"):
        WatermarkStrategy.no_watermarks().with_idleness(0)


def test_alignment_says_that_it_does_nothing_here() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    with pytest.warns(UserWarning, match="group 'g'.*cannot pause a source"):
        aligned = strategy.with_watermark_alignment("g", Duration.of_seconds(20))
    assert aligned.alignment is not None
    assert aligned.alignment.max_allowed_watermark_drift_ms == 20_000
    assert aligned.alignment.update_interval_ms == 1_000
    assert strategy.alignment is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = strategy.with_watermark_alignment("g", "1 second", Time.milliseconds(5))
    assert other.alignment is not None
    assert other.alignment.update_interval_ms == 5
    with pytest.raises(IllegalArgumentError, match="watermark_group"):
        strategy.with_watermark_alignment("", 5)


def test_no_watermarks_have_no_generator() -> None:
    with pytest.raises(UnsupportedOperationError, match="no_watermarks"):
        WatermarkStrategy.no_watermarks().create_watermark_generator()


def test_generator_starts_at_the_beginning_of_time() -> None:
    assert WatermarkGenerator(Duration.of_days(1)).current_watermark() == MIN_TIMESTAMP


def test_an_event_as_late_as_the_bound_is_not_late() -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(10))
    generator = strategy.create_watermark_generator()
    generator.on_event(100)
    assert generator.current_watermark() == 89
    generator.on_event(95)
    assert generator.current_watermark() == 89
    with pytest.raises(TimestampError):
        generator.on_event(None)  # type: ignore[arg-type]


TIMESTAMPS = st.integers(MIN_TIMESTAMP + 10**6 + 1, MAX_TIMESTAMP)


@given(st.lists(TIMESTAMPS, min_size=1), st.integers(0, 10**6))
def test_the_watermark_follows_the_latest_event(timestamps: list[int], bound: int) -> None:
    generator = WatermarkGenerator(bound)
    for at, timestamp in enumerate(timestamps):
        generator.on_event(timestamp)
        assert generator.current_watermark() == max(timestamps[: at + 1]) - bound - 1
