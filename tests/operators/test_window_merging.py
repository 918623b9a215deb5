"""Windows that merge, and windows with evictors: facts C.10, C.11, C.13-C.17, C.25, C.30."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from flinkish.common import OutputTag, Types
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    IllegalStateError,
    IncompatibleStateError,
    SerializationError,
    TimestampError,
    UnsupportedOperationError,
)
from flinkish.functions import AggregateFunction, ProcessWindowFunction
from flinkish.operators import WindowOperatorBuilder as Builder
from flinkish.state import ValueStateDescriptor
from flinkish.testing import KeyedOneInputStreamOperatorTestHarness
from flinkish.windowing import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    DeltaEvictor,
    DeltaTrigger,
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    Evictor,
    GlobalWindows,
    MergingWindowAssigner,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    TimeEvictor,
    TimeWindow,
    TimeWindowSerializer,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from tests.operators.windowed import Elements, Script, harness_of, records

FIRE = TriggerResult.FIRE


class Spans(ProcessWindowFunction):
    """(key, start, end, sorted values)."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        window = context.window()
        yield key, window.start, window.end, sorted(element[1] for element in elements)


class Gather(AggregateFunction):
    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        return [*accumulator, value[1]]

    def get_result(self, accumulator: list[Any]) -> list[Any]:
        return sorted(accumulator)

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        return acc_a + acc_b


def give(harness: KeyedOneInputStreamOperatorTestHarness[Any], *times: int) -> None:
    for time in times:
        harness.process_element(("k", time), time)
        harness.operator.table._check()


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
        with other, pytest.raises(IncompatibleStateError, match="'window-contents' is declared"):
            other.initialize_state(kept)


# --- evictors


def test_evictors_take_elements_out_for_good() -> None:
    """C.25."""
    builder = Builder(GlobalWindows.create()).trigger(CountTrigger.of(2))
    with harness_of(builder.evictor(CountEvictor.of(3)).process(Elements())) as h:
        give(h, *range(6))
        assert records(h) == [("k", 0, [0, 1]), ("k", 0, [1, 2, 3]), ("k", 0, [3, 4, 5])]


@pytest.mark.parametrize(
    ("evictor", "expected"),
    [
        (CountEvictor.of(1, True), [[0, 1], [1, 2, 3]]),
        (TimeEvictor.of(2), [[0, 1], [2, 3]]),
        (DeltaEvictor.of(2, lambda one, last: last[1] - one[1]), [[0, 1], [2, 3]]),
    ],
)
def test_evictors_before_and_after(evictor: Evictor, expected: list[Any]) -> None:
    """C.25: evict before, call, evict after, keep what is left."""
    builder = Builder(GlobalWindows.create()).trigger(CountTrigger.of(2))
    with harness_of(builder.evictor(evictor).process(Elements())) as h:
        give(h, *range(4))
        assert [values for _, _, values in records(h)] == expected


class Nosy(Evictor):
    def evict_before(self, elements: Any, size: int, window: Any, ctx: Any) -> None:
        assert size == len(elements)
        assert (ctx.get_current_watermark(), ctx.get_current_processing_time()) == (0, 0)
        elements.clear()

    def evict_after(self, elements: Any, size: int, window: Any, ctx: Any) -> None:
        assert size == 0
        assert isinstance(ctx, Evictor.EvictorContext)


def test_an_evictor_that_takes_everything() -> None:
    """C.25: the function is called with nothing, and nothing is kept."""
    builder = Builder(TumblingEventTimeWindows.of(10)).trigger(CountTrigger.of(2))
    with harness_of(builder.evictor(Nosy()).process(Elements())) as h:
        h.process_watermark(0)
        give(h, 1, 2)
        assert records(h) == [("k", 0, [])]
        assert h.num_keyed_state_entries() == 0


def test_folding_with_an_evictor_folds_what_it_leaves() -> None:
    """C.25."""
    for finish, expected in (
        (lambda b: b.aggregate(Gather()), [[1, 2], [2, 3]]),
        (lambda b: b.reduce(lambda x, y: ("k", x[1] + y[1])), [("k", 3), ("k", 5)]),
        (lambda b: b.aggregate(Gather(), Named()), [("k", [[1, 2]]), ("k", [[2, 3]])]),
    ):
        builder = Builder(GlobalWindows.create()).trigger(CountTrigger.of(1))
        with harness_of(finish(builder.evictor(CountEvictor.of(2)))) as h:
            give(h, 1, 2, 3)
            assert records(h)[1:] == expected


class Named(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield key, list(elements)


# --- counting windows


def test_count_windows() -> None:
    with harness_of(Builder(CountTumblingWindowAssigner.of(2)).process(Elements())) as h:
        give(h, *range(5))
        assert [values for _, _, values in records(h)] == [[0, 1], [2, 3]]
        assert h.num_keyed_state_entries() == 3, "one element, its count, the key's"
    with harness_of(Builder(CountSlidingWindowAssigner.of(3, 2)).process(Elements())) as h:
        give(h, *range(6))
        assert [values for _, _, values in records(h)] == [[0, 1, 2], [2, 3, 4]]


# --- what is refused


class Impatient(EventTimeSessionWindows):
    def get_default_trigger(self, env: Any = None) -> Any:
        return DeltaTrigger.of(1, max)


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (
            lambda b: b(EventTimeSessionWindows.with_gap(5)).trigger(DeltaTrigger.of(1, max)),
            UnsupportedOperationError,
            "trigger that does not support merging.*DeltaTrigger.can_merge",
        ),
        (
            lambda b: b(Impatient(5)),
            UnsupportedOperationError,
            "Impatient merges windows, and DeltaTrigger.can_merge",
        ),
        (
            lambda b: b(TumblingProcessingTimeWindows.of(5)).allowed_lateness(1),
            IllegalArgumentError,
            "nothing is late for TumblingProcessingTimeWindows",
        ),
        (
            lambda b: b(TumblingEventTimeWindows.of(5)).allowed_lateness(-1),
            IllegalArgumentError,
            "allowed_lateness must be at least 0",
        ),
        (lambda b: b(TumblingEventTimeWindows), ArgumentTypeError, "make an instance"),
        (lambda b: b("10 seconds"), ArgumentTypeError, "has no assign_windows"),
        (
            lambda b: b(TumblingEventTimeWindows.of(5)).trigger(CountTrigger),
            ArgumentTypeError,
            "make an instance",
        ),
        (
            lambda b: b(TumblingEventTimeWindows.of(5)).evictor(3),
            ArgumentTypeError,
            "has no evict_before",
        ),
        (
            lambda b: b(TumblingEventTimeWindows.of(5)).side_output_late_data("late"),
            ArgumentTypeError,
            "an OutputTag",
        ),
        (
            lambda b: b(TumblingEventTimeWindows.of(5)).process(Gather()),
            ArgumentTypeError,
            "has process",
        ),
        (
            lambda b: b(TumblingEventTimeWindows.of(5)).apply(Spans),
            ArgumentTypeError,
            "make an instance",
        ),
        (lambda b: b(TumblingEventTimeWindows.of(5)).reduce(5), ArgumentTypeError, "reduce takes"),
        (
            lambda b: b(TumblingEventTimeWindows.of(5)).aggregate(max),
            ArgumentTypeError,
            "has no create_accumulator",
        ),
        (
            lambda b: b(TumblingEventTimeWindows.of(5)).aggregate(Gather(), max),
            ArgumentTypeError,
            "process or apply",
        ),
    ],
)
def test_refused_when_put_together(make: Any, error: type[Exception], says: str) -> None:
    """C.30 and its like."""
    with pytest.raises(error, match=says):
        make(Builder)


def test_elements_without_timestamps() -> None:
    """C.26."""
    builder = Builder(TumblingEventTimeWindows.of(5))
    with harness_of(builder.process(Elements())) as h:
        with pytest.raises(TimestampError, match="assign_timestamps_and_watermarks"):
            h.process_element(("k", 1))
        give(h, 1)
        h.process_watermark(4)
        assert records(h) == [("k", 0, [1])], "the operator goes on"


def test_triggers_must_answer() -> None:
    builder = Builder(TumblingEventTimeWindows.of(5))
    with (
        harness_of(builder.trigger(Script(results=["fire"])).process(Elements())) as h,  # type: ignore[list-item]
        pytest.raises(ArgumentTypeError, match="on_element of the trigger returned 'fire'"),
    ):
        give(h, 1)


def test_elements_that_cannot_be_kept() -> None:
    builder = Builder(TumblingEventTimeWindows.of(5))
    with (
        harness_of(builder.process(Elements())) as h,
        pytest.raises(SerializationError, match="a window was given a value of type tuple"),
    ):
        h.process_element(("k", lambda: 1), 1)


class Broken(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        raise OSError("no more")


def test_errors_name_function_and_key() -> None:
    with harness_of(Builder(TumblingEventTimeWindows.of(5)).process(Broken())) as h:
        give(h, 1)
        with pytest.raises(OSError, match="no more") as raised:
            h.process_watermark(4)
        notes = " ".join(raised.value.__notes__)
        assert "Broken.process for the key 'k', timestamp 4" in notes


class Feeding(ProcessWindowFunction):
    def __init__(self, feed: Any) -> None:
        self.feed = feed

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        self.feed()
        yield 1


def test_a_function_cannot_feed_its_own_operator() -> None:
    builder = Builder(TumblingEventTimeWindows.of(5))
    with harness_of(builder.process(Feeding(lambda: give(h, 3)))) as h:
        give(h, 1)
        with pytest.raises(IllegalStateError, match="hands elements or time"):
            h.process_watermark(4)
