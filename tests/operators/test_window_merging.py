"""Windows that merge, and snapshots of windows: facts C.10, C.11, C.13-C.17."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from flinkish.common import OutputTag, Types
from flinkish.common.errors import (
    IncompatibleStateError,
    UnsupportedOperationError,
)
from flinkish.functions import ProcessWindowFunction
from flinkish.operators import WindowOperatorBuilder as Builder
from flinkish.state import ValueStateDescriptor
from flinkish.testing import KeyedOneInputStreamOperatorTestHarness
from flinkish.windowing import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    CountTumblingWindowAssigner,
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    MergingWindowAssigner,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    TimeWindow,
    TimeWindowSerializer,
    TriggerResult,
    TumblingEventTimeWindows,
)
from tests.operators.windowed import Elements, Gather, Script, Spans, give, harness_of, records

FIRE = TriggerResult.FIRE


def held(harness: KeyedOneInputStreamOperatorTestHarness[Any]) -> tuple[int, int]:
    return harness.num_keyed_state_entries(), harness.num_event_time_timers()


def test_sessions_are_merged_eagerly() -> None:
    """C.13: contents stay in the first state window, timers move on."""
    with harness_of(Builder(EventTimeSessionWindows.with_gap(10)).process(Spans())) as h:
        give(h, 0, 5, 30)
        assert held(h) == (3, 2), "two windows' contents, one set of windows"
        give(h, 22)
        assert held(h) == (3, 2)
        give(h, 13)
        assert held(h) == (2, 1), "all is one"
        h.process_watermark(39)
        assert records(h) == [("k", 0, 40, [0, 5, 13, 22, 30])]
        assert held(h) == (0, 0)


def test_what_merging_calls() -> None:
    """C.13: on_merge for the new window, then clear for each that it replaces."""
    trigger = Script()
    builder = Builder(EventTimeSessionWindows.with_gap(10)).trigger(trigger)
    with harness_of(builder.process(Spans())) as h:
        give(h, 0, 20)
        assert trigger.merged == []
        give(h, 10)
        assert trigger.merged == [TimeWindow(0, 30)]
        assert sorted(trigger.cleared) == [TimeWindow(0, 10), TimeWindow(20, 30)]
        assert trigger.calls[-1][1] == TimeWindow(0, 30)
        give(h, 15)
        assert trigger.merged == [TimeWindow(0, 30)], "a window within calls nothing (C.15)"


@pytest.mark.parametrize(
    "finish", [lambda b: b.aggregate(Gather()), lambda b: b.reduce(lambda x, y: ("k", x[1] + y[1]))]
)
def test_folded_contents_merge(finish: Any) -> None:
    """C.13."""
    with harness_of(finish(Builder(EventTimeSessionWindows.with_gap(10)))) as h:
        give(h, 20, 0, 10)
        h.process_watermark(29)
        assert records(h) in ([[0, 10, 20]], [("k", 30)])
        assert held(h) == (0, 0)


def test_timers_of_windows_that_were_merged_away_are_ignored() -> None:
    """C.11."""
    trigger = Script(timers=[("event", 7)])
    builder = Builder(EventTimeSessionWindows.with_gap(10)).trigger(trigger)
    with harness_of(builder.process(Spans())) as h:
        give(h, 0)
        trigger.timers.clear()
        give(h, 5)
        assert held(h)[1] == 2, "the trigger leaves its timer, the operator takes its own"
        h.process_watermark(7)
        assert [call[0] for call in trigger.calls] == ["element", "element"]


def test_a_merge_that_comes_too_late_is_refused() -> None:
    """C.14."""

    class Shrinking(EventTimeSessionWindows):
        def merge_windows(self, windows: Any, callback: Any) -> None:
            if len(list(windows)) > 1:
                callback.merge(list(windows), TimeWindow(0, 5))

    with harness_of(Builder(Shrinking(10)).process(Spans())) as h:
        give(h, 0)
        h.process_watermark(8)
        with pytest.raises(UnsupportedOperationError, match="cannot become shorter by merging"):
            give(h, 5)

    class ShrinkingOnTheClock(ProcessingTimeSessionWindows):
        merge_windows = Shrinking.merge_windows  # type: ignore[assignment]

    with harness_of(Builder(ShrinkingOnTheClock(10)).process(Spans())) as h:
        give(h, 0)
        h.set_processing_time(8)
        with pytest.raises(UnsupportedOperationError, match="current processing time 8"):
            give(h, 5)


def test_cleanup_of_purged_sessions() -> None:
    """C.10."""
    builder = Builder(EventTimeSessionWindows.with_gap(10))
    with harness_of(builder.trigger(PurgingTrigger.of(CountTrigger.of(2))).process(Spans())) as h:
        give(h, 0, 5, 7)
        assert records(h) == [("k", 0, 15, [0, 5])]
        h.process_watermark(16)
        assert held(h) == (0, 0)
        assert len(records(h)) == 1


def test_lateness_of_sessions() -> None:
    """C.6, C.7: an element may be late and still join a session that is not."""
    late = OutputTag("late")
    builder = Builder(EventTimeSessionWindows.with_gap(10)).allowed_lateness(5)
    with harness_of(builder.side_output_late_data(late).process(Spans())) as h:
        give(h, 0, 9)
        h.process_watermark(20)
        assert records(h) == [("k", 0, 19, [0, 9])]
        give(h, 5)
        assert records(h)[1:] == [("k", 0, 19, [0, 5, 9])]
        give(h, -20)
        assert [record.value for record in h.get_side_output(late) or ()] == [("k", -20)]
        h.process_watermark(24)
        assert held(h) == (0, 0)


def test_continuous_trigger_on_sessions() -> None:
    """C.21 in an operator."""
    builder = Builder(EventTimeSessionWindows.with_gap(10))
    with harness_of(builder.trigger(ContinuousEventTimeTrigger.of(5)).process(Spans())) as h:
        give(h, 1, 4, 9)
        h.process_watermark(5)
        assert records(h) == [("k", 1, 19, [1, 4, 9])]
        h.process_watermark(18)
        assert len(records(h)) == 4, "at 5, 10, 15 and the end"
        assert held(h) == (0, 0)


def test_sessions_on_the_clock() -> None:
    with harness_of(Builder(ProcessingTimeSessionWindows.with_gap(10)).process(Spans())) as h:
        for now, value in ((0, 1), (6, 2), (30, 3)):
            h.set_processing_time(now)
            give(h, value)
        assert records(h) == [("k", 0, 16, [1, 2])]
        h.set_processing_time(40)
        assert records(h)[1:] == [("k", 30, 40, [3])]
        assert h.num_keyed_state_entries() == h.num_processing_time_timers() == 0


def test_dynamic_gaps() -> None:
    """C.29."""
    assigner = EventTimeSessionWindows.with_dynamic_gap(lambda element: element[1])
    assert isinstance(assigner, DynamicEventTimeSessionWindows)
    with harness_of(Builder(assigner).process(Spans())) as h:
        h.process_element(("k", 100), 0)
        h.process_element(("k", 3), 50)
        h.process_element(("k", 5), 200)
        h.process_watermark(300)
        assert records(h) == [("k", 0, 100, [3, 100]), ("k", 200, 205, [5])]


def test_many_sessions_between_two_snapshots_need_few_rows() -> None:
    builder = Builder(EventTimeSessionWindows.with_gap(10))
    with harness_of(builder.process(Spans())) as h:
        h.operator.process_batch([("k", at) for at in range(5_000)], list(range(5_000)))
        assert h.operator.table.number_of_keys < 10
        h.operator.table._check()
        h.process_watermark(1 << 50)
        assert records(h) == [("k", 0, 5_009, list(range(5_000)))]


class Clusters(MergingWindowAssigner):
    """Windows of the user's own that merge: numbers of tens."""

    def assign_windows(self, element: Any, timestamp: Any, context: Any) -> Any:
        return [TimeWindow(timestamp, timestamp + 10)]

    def merge_windows(self, windows: Any, callback: Any) -> None:
        TimeWindow.merge_windows(windows, callback)

    def get_default_trigger(self, env: Any = None) -> Any:
        return CountTrigger.of(3)

    def get_window_serializer(self) -> Any:
        return Serializer()

    def is_event_time(self) -> bool:
        return True


class Serializer(TimeWindowSerializer):
    """Not the one that the floor knows."""


def test_merging_windows_of_the_users_own() -> None:
    with harness_of(Builder(Clusters()).process(Spans())) as h:
        give(h, 0, 20, 10)
        assert records(h) == [("k", 0, 30, [0, 10, 20])]
        restored = h.snapshot()
        h.process_watermark(30)
        assert held(h) == (0, 0)
    with KeyedOneInputStreamOperatorTestHarness(
        Builder(Clusters()).process(Spans()), lambda value: value[0]
    ) as h:
        h.initialize_state(restored)
        h.open()
        give(h, 29, 28, 27)
        assert records(h) == [("k", 0, 39, [0, 10, 20, 27, 28, 29])]


# --- state


class Windowed(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        state = context.global_state().get_state(ValueStateDescriptor("n", Types.LONG()))
        state.update((state.value() or 0) + 1)
        yield state.value()
        context.window_state().get_state(ValueStateDescriptor("m", Types.LONG()))


def test_merging_windows_have_no_state_of_their_own() -> None:
    """C.16."""
    builder = Builder(EventTimeSessionWindows.with_gap(10))
    with harness_of(builder.process(Windowed())) as h:
        give(h, 0)
        with pytest.raises(UnsupportedOperationError, match="not allowed when using merging"):
            h.process_watermark(20)
        assert records(h) == [1]


@pytest.mark.parametrize(
    "builder",
    [
        Builder(TumblingEventTimeWindows.of(40)),
        Builder(EventTimeSessionWindows.with_gap(10)),
    ],
)
def test_snapshots_keep_everything(builder: Builder) -> None:
    """C.17: contents, state and timers of the trigger, merging set."""
    builder.trigger(PurgingTrigger.of(ContinuousEventTimeTrigger.of(25)))
    with harness_of(builder.process(Spans())) as h:
        for key in range(20):
            for time in (1, 8, 30):
                h.process_element((key, time), time)
        kept = h.snapshot(1, 1)
        before = held(h)
        h.process_watermark(100)
        expected = sorted(records(h))
    found = []
    for index in range(3):  # three subtasks go on where one stopped
        harness = KeyedOneInputStreamOperatorTestHarness(
            builder.process(Spans()), lambda value: value[0], None, 128, 3, index
        )
        with harness as h:
            part = harness.repartition_operator_state(kept, 128, 1, 3, index)
            h.initialize_state(part)
            h.open()
            before = (before[0] - held(h)[0], before[1] - held(h)[1])
            h.process_watermark(100)
            found += records(h)
            assert held(h) == (0, 0)
    assert before == (0, 0)
    assert sorted(found) == expected


def test_windows_of_another_kind_are_not_taken_for_these() -> None:
    with harness_of(Builder(CountTumblingWindowAssigner.of(2)).process(Elements())) as h:
        give(h, 1)
        kept = h.snapshot()
    other = KeyedOneInputStreamOperatorTestHarness(
        Builder(TumblingEventTimeWindows.of(2)).process(Elements()), lambda v: v[0]
    )
    with other, pytest.raises(IncompatibleStateError, match="count-window"):
        other.initialize_state(kept)


def test_windows_that_merge_are_not_taken_for_those_that_do_not() -> None:
    with harness_of(Builder(TumblingEventTimeWindows.of(2)).process(Elements())) as h:
        give(h, 1)
        kept = h.snapshot()
    for assigner, keeps in (
        (EventTimeSessionWindows.with_gap(2), lambda b: b.process(Elements())),
        (TumblingEventTimeWindows.of(2), lambda b: b.aggregate(Gather())),
    ):
        other = KeyedOneInputStreamOperatorTestHarness(keeps(Builder(assigner)), lambda v: v[0])
        with (
            other,
            pytest.raises(IncompatibleStateError, match="'window-contents' was declared as"),
        ):
            other.initialize_state(kept)
