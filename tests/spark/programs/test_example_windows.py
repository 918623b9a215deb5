"""Programs in the shape of PyFlink's examples of windows, in both modes."""

from __future__ import annotations

from typing import Any

import pytest

from flinkish.common import OutputTag, Time, Types, WatermarkStrategy
from flinkish.datastream import AggregateFunction, DataStream, StreamExecutionEnvironment
from flinkish.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from tests.spark.programs.example_functions import (
    NAMED,
    SALE,
    SPAN,
    OfThePrice,
    Reduced,
    SaleTime,
    Spans,
    Stamped,
    Sums,
    gathered,
)

MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SaleTime())
# Time, name, price; the third field is the gap of a dynamic session as well.
SALES = [(1, "a", 2), (2, "b", 20), (3, "a", 4), (7, "a", 1), (12, "a", 6), (21, "b", 1)]
LATE = OutputTag("late", SALE)


def keyed(env: StreamExecutionEnvironment) -> Any:
    stream = env.from_collection(SALES, SALE).assign_timestamps_and_watermarks(MONOTONOUS)
    return stream.key_by(lambda sale: sale[1], Types.STRING())


def millis(number: int) -> Time:
    return Time.milliseconds(number)


def test_tumbling_windows_of_time(env: StreamExecutionEnvironment) -> None:
    windows = keyed(env).window(TumblingEventTimeWindows.of(millis(5)))
    assert gathered(windows.process(Spans(), SPAN)) == [
        *[("a", 0, 5, 2), ("a", 10, 15, 1), ("a", 5, 10, 1)],
        *[("b", 0, 5, 1), ("b", 20, 25, 1)],
    ]


def test_tumbling_windows_of_a_count(env: StreamExecutionEnvironment) -> None:
    """A window that is not full at the end gives nothing, in batch mode either."""
    given = [("a", 1), ("b", 10), ("a", 2), ("a", 3), ("b", 20), ("a", 4), ("a", 5)]
    stream = env.from_collection(given, NAMED).key_by(lambda pair: pair[0], Types.STRING())
    assert gathered(stream.count_window(2).apply(Sums(), NAMED)) == [
        *[("a", 3), ("a", 7)],
        ("b", 30),
    ]


def test_sliding_windows_of_a_count(env: StreamExecutionEnvironment) -> None:
    """PyFlink's assigner, not Java's: windows of three elements, one begins each second element."""
    given = [("a", 1), ("a", 2), ("a", 3), ("a", 4), ("a", 5)]
    stream = env.from_collection(given, NAMED).key_by(lambda pair: pair[0], Types.STRING())
    assert gathered(stream.count_window(3, 2).apply(Sums(), NAMED)) == [("a", 12), ("a", 6)]


def test_sliding_windows_of_time(env: StreamExecutionEnvironment) -> None:
    """C.26, C.27: the first windows begin before time 0."""
    windows = keyed(env).window(SlidingEventTimeWindows.of(millis(10), millis(5)))
    assert gathered(windows.process(Spans(), SPAN)) == [
        *[("a", -5, 5, 2), ("a", 0, 10, 3), ("a", 10, 20, 1), ("a", 5, 15, 2)],
        *[("b", -5, 5, 1), ("b", 0, 10, 1), ("b", 15, 25, 1), ("b", 20, 30, 1)],
    ]


def test_sessions_of_one_gap(env: StreamExecutionEnvironment) -> None:
    """C.28: sessions that touch are one: 7 and 12 with a gap of 5."""
    windows = keyed(env).window(EventTimeSessionWindows.with_gap(millis(5)))
    assert gathered(windows.process(Spans(), SPAN)) == [
        ("a", 1, 17, 4),
        *[("b", 2, 7, 1), ("b", 21, 26, 1)],
    ]


def test_sessions_of_the_gaps_of_elements(env: StreamExecutionEnvironment) -> None:
    """[1,3) and [3,7) and [7,8) touch, [12,18) is apart; [2,22) has 21 in it."""
    windows = keyed(env).window(EventTimeSessionWindows.with_dynamic_gap(OfThePrice()))
    assert gathered(windows.process(Spans(), SPAN)) == [
        *[("a", 1, 8, 3), ("a", 12, 18, 1)],
        ("b", 2, 22, 2),
    ]


class Total(AggregateFunction):
    """The mean price in halves, so that it is a whole number."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Any, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value[2], accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> int:
        return 2 * accumulator[0] // accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


@pytest.mark.parametrize("session", [False, True])
def test_reduced_and_aggregated_windows(env: StreamExecutionEnvironment, session: bool) -> None:
    """Sessions merge what they were reduced to; a window function sees one result a window."""
    assigner: Any = TumblingEventTimeWindows.of(millis(10))
    if session:
        assigner = EventTimeSessionWindows.with_gap(millis(5))
    windows = keyed(env).window(assigner)
    reduced = windows.reduce(lambda one, two: (two[0], one[1], one[2] + two[2]), Reduced(), SPAN)
    means = keyed(env).window(assigner).aggregate(Total(), Reduced(), output_type=SPAN)
    if session:
        spans = [("a", 1, 17), ("b", 2, 7), ("b", 21, 26)]
        sums, halves = [13, 20, 1], [6, 40, 2]
    else:
        spans = [("a", 0, 10), ("a", 10, 20), ("b", 0, 10), ("b", 20, 30)]
        sums, halves = [7, 6, 20, 1], [4, 12, 40, 2]
    assert gathered(reduced) == [(*span, value) for span, value in zip(spans, sums, strict=True)]
    assert gathered(means) == [(*span, value) for span, value in zip(spans, halves, strict=True)]


def test_results_have_the_time_of_their_window(env: StreamExecutionEnvironment) -> None:
    """C.4: the last time of the window, so windows of the results follow without an assigner."""
    windows = keyed(env).window(TumblingEventTimeWindows.of(millis(5)))
    counts = windows.process(Spans(), SPAN)
    found = gathered(counts.process(Stamped()))
    assert [at for _, at in found] == [4, 14, 9, 4, 24]
    again = counts.key_by(lambda span: "all", Types.STRING())
    wide = again.window(TumblingEventTimeWindows.of(millis(10))).process(Spans(), SPAN)
    assert gathered(wide) == [("all", 0, 10, 3), ("all", 10, 20, 1), ("all", 20, 30, 1)]


def test_windows_of_all_elements(env: StreamExecutionEnvironment) -> None:
    stream: DataStream = env.from_collection(SALES, SALE).assign_timestamps_and_watermarks(
        MONOTONOUS
    )
    windows = stream.window_all(TumblingEventTimeWindows.of(millis(10)))
    sums = windows.reduce(lambda one, two: (two[0], "all", one[2] + two[2]))
    assert gathered(sums) == [(12, "a", 6), (21, "b", 1), (7, "all", 27)]


def test_bounded_streams_have_no_late_elements(env: StreamExecutionEnvironment) -> None:
    """Elements out of order are in time: the watermark passes them at the end of the source."""
    given = [(30, "a", 1), (1, "a", 1), (31, "a", 1)]
    stream = env.from_collection(given, SALE).assign_timestamps_and_watermarks(MONOTONOUS)
    windows = stream.key_by(lambda sale: sale[1], Types.STRING()).window(
        TumblingEventTimeWindows.of(millis(10))
    )
    made = windows.side_output_late_data(LATE).allowed_lateness(1).process(Spans(), SPAN)
    assert gathered(made) == [("a", 0, 10, 1), ("a", 30, 40, 2)]
    assert gathered(made.get_side_output(LATE)) == []


def test_windows_with_a_trigger(env: StreamExecutionEnvironment) -> None:
    """C.3, C.19, C.20: each second element fires and purges; the third one stays unsaid."""
    windows = keyed(env).window(TumblingEventTimeWindows.of(millis(10)))
    made = windows.trigger(PurgingTrigger.of(CountTrigger.of(2))).process(Spans(), SPAN)
    assert gathered(made) == [("a", 0, 10, 2)]


def test_windows_of_the_clock_at_the_end_of_a_batch(batch: StreamExecutionEnvironment) -> None:
    """B.28: batch mode fires the timers of the clock, too."""
    stream = batch.from_collection([("a", 1), ("a", 2), ("b", 4)], NAMED)
    windows = stream.key_by(lambda pair: pair[0], Types.STRING()).window(
        TumblingProcessingTimeWindows.of(Time.hours(1))
    )
    sums = windows.reduce(lambda one, two: (one[0], one[1] + two[1]))
    assert gathered(sums) == [("a", 3), ("b", 4)]
