"""Which windows an element belongs to: facts C.26-C.29."""

import io
import pickle
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.common import Time
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    TimestampError,
)
from flinkish.windowing import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    CountWindow,
    CountWindowSerializer,
    CumulativeEventTimeWindows,
    CumulativeProcessingTimeWindows,
    DynamicEventTimeSessionWindows,
    EndOfStreamTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindow,
    GlobalWindows,
    GlobalWindowSerializer,
    MergingWindowAssigner,
    NeverTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeWindow,
    TimeWindowSerializer,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    Window,
    WindowAssigner,
)

LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1


class At(WindowAssigner.WindowAssignerContext):
    def __init__(self, now: int = 0) -> None:
        self.now = now

    def get_current_processing_time(self) -> int:
        return self.now

    def get_runtime_context(self) -> Any:
        raise AssertionError("nobody should ask")


def spans(assigner: WindowAssigner, timestamp: int | None, now: int = 0) -> list[tuple[int, int]]:
    windows = assigner.assign_windows("element", timestamp, At(now))
    return [(window.start, window.end) for window in windows]


@pytest.mark.parametrize(
    ("timestamp", "offset", "expected"),
    [
        (0, 0, (0, 1000)),
        (999, 0, (0, 1000)),
        (1000, 0, (1000, 2000)),
        (-1, 0, (-1000, 0)),
        (-1000, 0, (-1000, 0)),
        (0, 100, (-900, 100)),
        (100, 100, (100, 1100)),
        (0, -100, (-100, 900)),
        (-950, 100, (-1900, -900)),
    ],
)
def test_tumbling_starts_round_down(timestamp: int, offset: int, expected: Any) -> None:
    """C.26."""
    assert spans(TumblingEventTimeWindows.of(1000, offset), timestamp) == [expected]
    assert spans(TumblingProcessingTimeWindows.of(1000, offset), None, timestamp) == [expected]


def test_sliding_windows_come_from_the_latest_start_downward() -> None:
    """C.27."""
    assigner = SlidingEventTimeWindows.of(Time.seconds(5), timedelta(seconds=1))
    expected = [(4000, 9000), (3000, 8000), (2000, 7000), (1000, 6000), (0, 5000)]
    assert spans(assigner, 4999) == expected
    assert spans(SlidingProcessingTimeWindows.of(5000, 1000), None, 4999) == expected
    assert spans(SlidingEventTimeWindows.of(10, 5), -1) == [(-5, 5), (-10, 0)]
    assert spans(SlidingEventTimeWindows.of(5, 10), 7) == [], "between windows"


def test_cumulative_windows_share_a_start() -> None:
    assigner = CumulativeEventTimeWindows.of(60, 20)
    assert spans(assigner, 5) == [(0, 20), (0, 40), (0, 60)]
    assert spans(assigner, 25) == [(0, 40), (0, 60)]
    assert spans(assigner, 59) == [(0, 60)]
    assert spans(assigner, -1) == [(-60, 0)]
    assert spans(CumulativeProcessingTimeWindows.of(60, 20, 10), None, 10) == [
        (10, 30),
        (10, 50),
        (10, 70),
    ]


@given(
    st.integers(-(10**15), 10**15), st.integers(1, 10**6), st.integers(1, 50), st.integers(-99, 99)
)
def test_every_window_holds_its_time(timestamp: int, slide: int, parts: int, offset: int) -> None:
    """C.26, C.27."""
    offset = max(1 - slide, min(slide - 1, offset))
    size = slide * parts
    for assigner in (
        TumblingEventTimeWindows.of(slide, offset),
        SlidingEventTimeWindows.of(size, slide, offset),
        CumulativeEventTimeWindows.of(size, slide, offset),
        EventTimeSessionWindows.with_gap(slide),
    ):
        found = spans(assigner, timestamp)
        assert all(start <= timestamp < end for start, end in found)
        assert len(found) == len(set(found)) >= 1
    assert len(spans(SlidingEventTimeWindows.of(size, slide, offset), timestamp)) == parts


def test_sessions() -> None:
    """C.29."""
    assert spans(EventTimeSessionWindows.with_gap("5 seconds"), 100) == [(100, 5100)]
    assert spans(ProcessingTimeSessionWindows.with_gap(5), None, 7) == [(7, 12)]
    dynamic = EventTimeSessionWindows.with_dynamic_gap(len)
    assert type(dynamic) is DynamicEventTimeSessionWindows
    assert spans(dynamic, 0) == [(0, 7)]
    dynamic = ProcessingTimeSessionWindows.with_dynamic_gap(lambda element: "1 second")
    assert spans(dynamic, None, 5) == [(5, 1005)]
    for gap in (0, -1):
        with pytest.raises(IllegalArgumentError, match="gap"):
            EventTimeSessionWindows.with_gap(gap)
        with pytest.raises(IllegalArgumentError, match="the gap of the session of 'element'"):
            spans(EventTimeSessionWindows.with_dynamic_gap(lambda element: gap), 0)  # noqa: B023
    with pytest.raises(ArgumentTypeError, match="dynamic gap"):
        EventTimeSessionWindows.with_dynamic_gap(5)  # type: ignore[arg-type]


def test_one_window_for_everything() -> None:
    """C.29."""
    assigner = GlobalWindows.create()
    assert list(assigner.assign_windows("element", None, At())) == [GlobalWindow.get()]
    assert GlobalWindow.get().max_timestamp() == HIGHEST
    assert isinstance(assigner.get_default_trigger(), NeverTrigger)
    ending = GlobalWindows.create_with_end_of_stream_trigger()
    assert isinstance(ending.get_default_trigger(), EndOfStreamTrigger)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: TumblingEventTimeWindows.of(0), "at least 1 ms"),
        (lambda: TumblingEventTimeWindows.of(10, 10), "less than its size of 10 ms"),
        (lambda: TumblingEventTimeWindows.of(10, -10), "less than its size of 10 ms"),
        (lambda: SlidingEventTimeWindows.of(10, 0), "at least 1 ms"),
        (lambda: SlidingEventTimeWindows.of(0, 1), "at least 1 ms"),
        (lambda: SlidingEventTimeWindows.of(10, 5, 5), "less than its slide of 5 ms"),
        (lambda: SlidingEventTimeWindows.of(10_000_002, 1), "at most 10000000 are allowed"),
        (lambda: CumulativeEventTimeWindows.of(10, 3), "a multiple of its step"),
        (lambda: CumulativeEventTimeWindows.of(10, 5, 10), "less than its size"),
        (lambda: CumulativeEventTimeWindows.of(10_000_002, 1), "at most 10000000 are allowed"),
        (lambda: CountTumblingWindowAssigner.of(0), "at least 1"),
        (lambda: CountSlidingWindowAssigner.of(2, 0), "at least 1"),
    ],
)
def test_bad_numbers_are_refused(make: Any, says: str) -> None:
    """C.26."""
    with pytest.raises(IllegalArgumentError, match=says):
        make()
    assert SlidingEventTimeWindows.of(10_000_000, 1).size == 10_000_000


@pytest.mark.parametrize("timestamp", [None, LOWEST])
@pytest.mark.parametrize(
    "assigner",
    [
        TumblingEventTimeWindows.of(10),
        SlidingEventTimeWindows.of(10, 5),
        CumulativeEventTimeWindows.of(10, 5),
        EventTimeSessionWindows.with_gap(10),
    ],
)
def test_event_time_is_needed(assigner: WindowAssigner, timestamp: int | None) -> None:
    """C.26."""
    with pytest.raises(TimestampError, match="assign_timestamps_and_watermarks"):
        assigner.assign_windows("element", timestamp, At())


def test_assigners_show_their_numbers_and_defaults() -> None:
    for assigner, event, merging, numbers in (
        (TumblingEventTimeWindows.of(10, 3), True, False, (10, 10, 3, None)),
        (TumblingProcessingTimeWindows.of(10), False, False, (10, 10, 0, None)),
        (SlidingEventTimeWindows.of(10, 5, 1), True, False, (10, 5, 1, None)),
        (CumulativeEventTimeWindows.of(10, 5), True, False, (10, None, 0, None)),
        (EventTimeSessionWindows.with_gap(7), True, True, (None, None, None, 7)),
        (ProcessingTimeSessionWindows.with_gap(7), False, True, (None, None, None, 7)),
    ):
        found = (assigner.size, assigner.slide, assigner.offset, assigner.gap)
        assert (assigner.is_event_time(), assigner.is_merging, found) == (event, merging, numbers)
        assert isinstance(assigner, MergingWindowAssigner) is merging
        default = assigner.get_default_trigger(None)
        assert type(default) is (EventTimeTrigger if event else ProcessingTimeTrigger)
        assert type(pickle.loads(pickle.dumps(assigner))) is type(assigner)
        assert type(assigner).__name__ in repr(assigner)


def test_windows_of_time() -> None:
    """C.28."""
    window = TimeWindow(0, 10)
    assert window.max_timestamp() == 9
    assert window.intersects(TimeWindow(10, 20)), "they touch"
    assert not window.intersects(TimeWindow(11, 20))
    assert window.cover(TimeWindow(-5, 3)) == TimeWindow(-5, 10)
    assert TimeWindow.get_window_start_with_offset(-1, 0, 10) == -10
    assert isinstance(window, Window)
    assert len({window, TimeWindow(0, 10), TimeWindow(0, 11)}) == 2
    assert TimeWindow(0, 5) < window
    assert pickle.loads(pickle.dumps(window)) == window
    assert window != (0, 10)
    assert repr(window) == "TimeWindow(start=0, end=10)"


class Merges:
    def __init__(self) -> None:
        self.calls: list[Any] = []

    def merge(self, to_be_merged: Any, merge_result: Any) -> None:
        self.calls.append((sorted((one.start, one.end) for one in to_be_merged), merge_result))


@given(
    st.tuples(st.integers(0, 3), st.integers(0, 3)), st.tuples(st.integers(0, 3), st.integers(0, 3))
)
def test_windows_are_ordered_by_start_then_end(one: Any, other: Any) -> None:
    first, second = TimeWindow(*one), TimeWindow(*other)
    assert (first < second, first <= second) == (one < other, one <= other)
    assert (first > second, first >= second) == (one > other, one >= other)


def test_only_groups_of_several_are_merged() -> None:
    """C.28."""
    seen = Merges()
    windows = [TimeWindow(8, 12), TimeWindow(0, 4), TimeWindow(4, 8), TimeWindow(20, 30)]
    EventTimeSessionWindows.with_gap(4).merge_windows(windows, seen)  # type: ignore[arg-type]
    assert seen.calls == [([(0, 4), (4, 8), (8, 12)], TimeWindow(0, 12))]


@pytest.mark.parametrize(
    ("serializer", "window"),
    [
        (TimeWindowSerializer(), TimeWindow(-5, HIGHEST)),
        (CountWindowSerializer(), CountWindow(7)),
        (GlobalWindowSerializer(), GlobalWindow.get()),
    ],
)
def test_serializers(serializer: Any, window: Any) -> None:
    stream = io.BytesIO()
    serializer.serialize(window, stream)
    stream.seek(0)
    assert serializer.deserialize(stream) == window
    assert stream.read() == b""


def test_count_windows() -> None:
    assert CountWindow(3) == CountWindow(3) != CountWindow(4)
    assert hash(CountWindow(3)) == hash(CountWindow(3))
    assert CountWindow(3).max_timestamp() == HIGHEST
