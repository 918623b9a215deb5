"""Watermarks of inputs that come from several sources, partitions or operators."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flinkish.common.timestamps import MAX_TIMESTAMP, MIN_TIMESTAMP
from flinkish.spark.channels import OF_OPERATOR, Channel, Mark
from flinkish.spark.versions.progress import Progress

EVENTS = Channel(trails_by=100)
TIMES = st.integers(-(10**12), 10**12)


def test_the_least_of_the_channels_counts() -> None:
    progress = Progress()
    progress.move([(EVENTS, EVENTS)], [Mark(1_000, channel=0)], 0)
    assert progress.watermark == MIN_TIMESTAMP, "the second has said nothing"
    progress.move([(EVENTS, EVENTS)], [Mark(500, channel=1)], 0)
    assert progress.watermark == 399
    progress.move([(EVENTS, EVENTS)], [Mark(2_000, channel=1)], 0)
    assert progress.watermark == 899


def test_each_partition_of_a_source_is_a_channel_once_it_is_known() -> None:
    """The source as a whole holds time back only as long as no partition has had rows."""
    progress = Progress()
    progress.move([(EVENTS,)], [], 0)
    assert progress.watermark == MIN_TIMESTAMP
    first, second = 7 << 16, -9 << 16
    progress.move([(EVENTS,)], [Mark(1_000, channel=first), Mark(300, channel=second)], 0)
    assert progress.watermark == 199
    progress.move([(EVENTS,)], [Mark(400, channel=second)], 0)
    assert progress.watermark == 299


def test_an_idle_channel_does_not_count_until_it_has_rows_again() -> None:
    channels = (EVENTS, Channel(trails_by=100, idle_ms=50))
    progress = Progress()
    progress.move([channels], [Mark(1_000, channel=0)], 0)
    progress.move([channels], [], 50)
    assert progress.watermark == MIN_TIMESTAMP, "not longer than its strategy allows"
    progress.move([channels], [], 51)
    assert progress.watermark == 899
    progress.move([channels], [Mark(200, channel=1), Mark(3_000, channel=0)], 60)
    assert progress.watermark == 899, "it never goes back, and waits for the one that is behind"
    progress.move([channels], [Mark(1_500, channel=1)], 70)
    assert progress.watermark == 1_399


def test_the_highest_counts_if_all_are_idle() -> None:
    sleepy = Channel(trails_by=0, idle_ms=10)
    progress = Progress()
    progress.move([(sleepy, sleepy)], [Mark(100, channel=0), Mark(50, channel=1)], 0)
    assert (progress.watermark, progress.is_idle) == (49, False)
    progress.move([(sleepy, sleepy)], [], 11)
    assert (progress.watermark, progress.is_idle) == (99, True)


def test_an_operator_that_says_it_is_idle_does_not_hold_another_input_back() -> None:
    inputs = [(EVENTS,), (OF_OPERATOR,)]
    progress = Progress()
    progress.move(inputs, [Mark(1_000), Mark(None, number=2)], 0)
    assert progress.watermark == 899
    progress.move(inputs, [Mark(2_000), Mark(950, number=2)], 0)
    assert progress.watermark == 950


def test_a_source_that_ends_lets_time_end_after_its_rows() -> None:
    ended = Channel(trails_by=100, ends=True)
    progress = Progress()
    progress.move([(ended, EVENTS)], [Mark(5, channel=0), Mark(1_000, channel=1)], 0)
    assert progress.watermark == 899
    alone = Progress()
    alone.move([(ended,)], [Mark(5)], 0)
    assert alone.watermark == MAX_TIMESTAMP


def test_a_source_without_watermarks_holds_those_back_that_it_was_united_with() -> None:
    progress = Progress()
    progress.move([(EVENTS, Channel())], [Mark(1_000, channel=0), Mark(2_000, channel=1)], 0)
    assert progress.watermark == MIN_TIMESTAMP


def test_a_task_without_rows_does_not_keep_a_channel_awake() -> None:
    sleepy = Channel(trails_by=0, idle_ms=10)
    progress = Progress()
    progress.move([(sleepy, EVENTS)], [Mark(100, channel=0), Mark(500, channel=1)], 0)
    progress.move([(sleepy, EVENTS)], [Mark(MIN_TIMESTAMP, active=False)], 11)
    assert progress.watermark == 399


def test_marks_of_channels_that_a_program_no_longer_has_count_no_more() -> None:
    progress = Progress()
    progress.move([(EVENTS, EVENTS)], [Mark(1_000, channel=0), Mark(500, channel=1)], 0)
    progress.move([(EVENTS,)], [Mark(600, channel=1)], 0)
    assert progress.watermark == 899


@given(st.lists(st.lists(st.tuples(TIMES, st.integers(0, 2)), max_size=4), max_size=8))
def test_watermarks_never_go_back(batches: list[list[tuple[int, int]]]) -> None:
    channels = (EVENTS, Channel(trails_by=7, idle_ms=1), Channel(trails_by=0, idle_ms=2))
    progress, before = Progress(), MIN_TIMESTAMP
    highest = {0: MIN_TIMESTAMP, 1: MIN_TIMESTAMP, 2: MIN_TIMESTAMP}
    for now, batch in enumerate(batches):
        progress.move([channels], [Mark(time, channel=one) for time, one in batch], now)
        for time, one in batch:
            highest[one] = max(highest[one], time)
        assert progress.watermark >= before
        assert progress.watermark <= max(highest.values())
        before = progress.watermark
