"""The window operator: facts C.1-C.12, C.16 and C.25, and what may follow from them."""

from collections.abc import Iterable, Iterator
from typing import Any

from flinkish.common import OutputTag, StreamRecord, Types, Watermark
from flinkish.functions import (
    ProcessWindowFunction,
)
from flinkish.operators import WindowOperatorBuilder as Builder
from flinkish.state import ReducingStateDescriptor, ValueStateDescriptor
from flinkish.windowing import (
    CountTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeWindow,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from tests.operators.windowed import Elements, Script, harness_of, records

LATE = OutputTag("late")
SIDE = OutputTag("side")
CONTINUE, FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE
PURGE, BOTH = TriggerResult.PURGE, TriggerResult.FIRE_AND_PURGE


class Assigning(TumblingEventTimeWindows):
    """Gives the windows of the element, and counts calls."""

    def __init__(self) -> None:
        super().__init__(10)
        self.calls = 0

    def assign_windows(self, element: Any, timestamp: Any, context: Any) -> Any:
        self.calls += 1
        assert context.get_current_processing_time() == 0
        return [TimeWindow(*span) for span in element[1]]


def test_the_assigner_is_asked_once_and_the_trigger_for_each_window() -> None:
    """C.1."""
    assigner, trigger = Assigning(), Script()
    with harness_of(Builder(assigner).trigger(trigger).process(Elements())) as harness:
        harness.process_element(("k", ((0, 2), (2, 4))), 1)
        assert assigner.calls == 1
        assert [call[:2] for call in trigger.calls] == [
            ("element", TimeWindow(0, 2)),
            ("element", TimeWindow(2, 4)),
        ]


def test_windows_and_keys_do_not_interfere() -> None:
    """C.1."""
    builder = Builder(TumblingEventTimeWindows.of(10))
    with harness_of(builder.process(Elements())) as harness:
        for value, time in (("a", 1), ("b", 2), ("a", 11), ("a", 3)):
            harness.process_element((value, time), time)
        assert harness.num_event_time_timers() == harness.num_keyed_state_entries() == 3
        harness.process_watermark(9)
        assert records(harness) == [("a", 0, [1, 3]), ("b", 0, [2])]
        assert harness.num_event_time_timers() == 1


class Watching(ProcessWindowFunction):
    """Says how much is in the trigger's hands when it is called."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        self.log.append(f"function {len(list(elements))}")
        yield len(list(elements))


def test_the_order_of_things() -> None:
    """C.2: add, ask the trigger, emit, purge, register the cleanup."""
    log: list[str] = []

    class Ordered(Script):
        def on_element(self, element: Any, timestamp: Any, window: Any, ctx: Any) -> Any:
            log.append(f"trigger, {harness.num_event_time_timers()} timers")
            return BOTH

    builder = Builder(TumblingEventTimeWindows.of(10)).trigger(Ordered())
    with harness_of(builder.process(Watching(log))) as harness:
        harness.process_element(("k", 1), 1)
        assert harness.num_event_time_timers() == 1
        harness.process_element(("k", 2), 2)
        assert log == ["trigger, 0 timers", "function 1", "trigger, 1 timers", "function 1"]
        assert harness.num_keyed_state_entries() == 0, "purged"


def test_firing_keeps_and_purging_keeps_the_trigger() -> None:
    """C.3; an empty window does not speak (C.2)."""
    trigger = Script(results=[FIRE, FIRE, PURGE, FIRE, BOTH])
    builder = Builder(TumblingEventTimeWindows.of(10)).trigger(trigger)
    with harness_of(builder.process(Elements())) as harness:
        for at in range(5):
            harness.process_element(("k", at), at)
        assert records(harness) == [
            ("k", 0, [0]),
            ("k", 0, [0, 1]),
            ("k", 0, [3]),
            ("k", 0, [3, 4]),
        ]
        assert trigger.cleared == []
        trigger.results.append(FIRE)
        harness.process_watermark(9)
        assert len(records(harness)) == 4, "nothing is left to be given"
        assert trigger.cleared == [TimeWindow(0, 10)]


class Sideways(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield SIDE, (key, context.current_watermark(), context.current_processing_time())
        yield key


def test_output_has_the_windows_last_time() -> None:
    """C.4."""
    builder = Builder(TumblingEventTimeWindows.of(10))
    with harness_of(builder.process(Sideways())) as harness:
        harness.process_element(("k", 1), 1)
        harness.process_watermark(12)
        assert harness.get_output() == [StreamRecord("k", 9), Watermark(12)]
        assert harness.get_side_output(SIDE) == [StreamRecord(("k", 12, 0), 9)]


def test_cleanup_waits_for_the_allowed_lateness() -> None:
    """C.5, C.8: the trigger is called for the cleanup timer, too."""
    trigger = Script(event=[FIRE])
    builder = Builder(TumblingEventTimeWindows.of(10)).trigger(trigger)
    with harness_of(builder.allowed_lateness(20).process(Elements())) as harness:
        harness.process_element(("k", 1), 1)
        assert harness.num_event_time_timers() == 1
        harness.process_watermark(28)
        assert records(harness) == []
        harness.process_watermark(29)
        assert records(harness) == [("k", 0, [1])]
        assert trigger.calls[-1][:3] == ("event", TimeWindow(0, 10), 29)
        assert trigger.cleared == [TimeWindow(0, 10)]
        assert harness.num_event_time_timers() == harness.num_keyed_state_entries() == 0


def test_the_end_of_time_needs_no_cleanup_timer() -> None:
    """C.5."""
    trigger = Script()
    builder = Builder(Assigning()).trigger(trigger).allowed_lateness(100)
    highest = (1 << 63) - 1
    with harness_of(builder.process(Elements())) as harness:
        harness.process_element(("k", ((0, highest),)), 1)
        assert harness.num_event_time_timers() == 0
        assert harness.num_keyed_state_entries() == 1


def test_which_elements_are_late() -> None:
    """C.6: lateness 20, window [0, 2): watermark 20 is in time, 21 is not."""
    builder = Builder(TumblingEventTimeWindows.of(2)).allowed_lateness(20)
    with harness_of(builder.process(Elements())) as harness:
        harness.process_watermark(20)
        harness.process_element(("k", 0), 0)
        assert records(harness) == [("k", 0, [0])], "late firing at once (C.18)"
        harness.process_element(("k", 1), 0)
        assert records(harness)[-1] == ("k", 0, [0, 1]), "FIRE should not purge (C.3)"
        harness.process_watermark(21)
        assert harness.num_keyed_state_entries() == harness.num_event_time_timers() == 0
        harness.process_element(("k", 2), 0)
        assert len(records(harness)) == 2
        assert harness.num_keyed_state_entries() == harness.num_event_time_timers() == 0
        assert harness.get_metric("numLateRecordsDropped") == 1
        assert harness.get_metric("numLateRecords") == 3


def test_late_elements_of_no_window_go_to_the_side() -> None:
    """C.7."""
    builder = Builder(SlidingEventTimeWindows.of(10, 5)).side_output_late_data(LATE)
    with harness_of(builder.process(Elements())) as harness:
        harness.process_watermark(12)
        harness.process_element(("k", 8), 8)
        assert harness.get_side_output(LATE) is None, "[5, 15) still took it"
        harness.process_element(("k", 4), 4)
        assert harness.get_side_output(LATE) == [StreamRecord(("k", 4), 4)]
        assert harness.get_metric("numLateRecordsDropped") == 0


def test_elements_without_windows() -> None:
    """C.7: late or not is the element's own time then."""
    builder = Builder(Assigning()).side_output_late_data(LATE)
    with harness_of(builder.process(Elements())) as harness:
        harness.process_watermark(10)
        harness.process_element(("k", ()), 11)
        assert harness.get_side_output(LATE) is None
        harness.process_element(("k", ()), 10)
        assert harness.get_side_output(LATE) == [StreamRecord(("k", ()), 10)]
    with harness_of(Builder(Assigning()).process(Elements())) as harness:
        harness.process_watermark(10)
        harness.process_element(("k", ()), 11)
        assert harness.get_metric("numLateRecordsDropped") == 0


def test_nothing_is_late_on_processing_time() -> None:
    """C.5, C.6."""
    builder = Builder(TumblingProcessingTimeWindows.of(10))
    with harness_of(builder.process(Elements())) as harness:
        harness.process_watermark(1_000)
        harness.process_element(("k", 1), 1)
        assert harness.num_processing_time_timers() == 1
        harness.set_processing_time(9)
        assert records(harness) == [("k", 0, [1])]
        assert harness.num_keyed_state_entries() == 0
        harness.process_element(("k", 2))
        harness.set_processing_time(25)
        assert records(harness)[1:] == [("k", 0, [2])]


def test_cleanup_after_a_purge_clears_what_the_trigger_kept() -> None:
    """C.10."""
    builder = Builder(TumblingEventTimeWindows.of(10))
    operator = builder.trigger(PurgingTrigger.of(CountTrigger.of(2))).process(Elements())
    with harness_of(operator) as harness:
        for at in range(3):
            harness.process_element(("k", at), at)
        assert records(harness) == [("k", 0, [0, 1])]
        assert harness.num_keyed_state_entries() == 2, "one element, one count"
        harness.process_watermark(9)
        assert harness.num_keyed_state_entries() == harness.num_event_time_timers() == 0


def test_trigger_timer_and_cleanup_timer_are_one() -> None:
    """C.9."""
    trigger = Script(timers=[("event", 9)], event=[FIRE])
    builder = Builder(TumblingEventTimeWindows.of(10)).trigger(trigger)
    with harness_of(builder.process(Elements())) as harness:
        harness.process_element(("k", 1), 1)
        assert harness.num_event_time_timers() == 1
        harness.process_watermark(9)
        assert [call[0] for call in trigger.calls] == ["element", "event"]
        assert records(harness) == [("k", 0, [1])]
        assert trigger.cleared == [TimeWindow(0, 10)]


def test_timers_of_triggers() -> None:
    """C.12: deleted ones do not call; there is one more, for the cleanup."""
    trigger = Script(timers=[("event", 3), ("event", 5), ("processing", 7)], deletes=[("event", 3)])
    builder = Builder(TumblingEventTimeWindows.of(10)).trigger(trigger)
    with harness_of(builder.process(Elements())) as harness:
        harness.process_element(("k", 1), 1)
        assert harness.num_event_time_timers() == 2
        assert harness.num_processing_time_timers() == 1
        harness.process_watermark(6)
        harness.set_processing_time(7)
        assert [call[::2] for call in trigger.calls[1:]] == [("event", 5), ("processing", 7)]


class Remembering(ProcessWindowFunction):
    """Counts its firings, of the window and of the key."""

    def __init__(self) -> None:
        self.cleared: list[Any] = []
        self.mine = ValueStateDescriptor("fired", Types.LONG())
        self.all = ReducingStateDescriptor("fired-in-all", max, Types.LONG())

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        mine = context.window_state().get_state(self.mine)
        everywhere = context.global_state().get_reducing_state(self.all)
        mine.update((mine.value() or 0) + 1)
        everywhere.add((everywhere.get() or 0) + 1)
        self.seen.update((self.seen.value() or 0) + 1)
        yield context.window().start, mine.value(), everywhere.get(), self.seen.value()

    def clear(self, context: Any) -> None:
        self.cleared.append(context.window())
        context.window_state().get_state(self.mine).clear()


def test_state_of_the_window_and_of_the_key() -> None:
    """C.16: per-window state is cleared when the window is."""
    function = Remembering()
    builder = Builder(TumblingEventTimeWindows.of(10)).trigger(CountTrigger.of(1))
    with harness_of(builder.process(function)) as harness:
        for time in (1, 2, 11, 3):
            harness.process_element(("k", time), time)
        assert records(harness) == [(0, 1, 1, 1), (0, 2, 2, 2), (10, 1, 3, 3), (0, 3, 4, 4)]
        harness.process_watermark(9)
        assert function.cleared == [TimeWindow(0, 10)]
        assert harness.num_keyed_state_entries() == 4, "contents, window state, two of the key"
        harness.process_watermark(19)
        assert harness.num_keyed_state_entries() == 2


def test_state_of_the_key_outlives_its_windows() -> None:
    builder = Builder(TumblingEventTimeWindows.of(10))
    with harness_of(builder.process(Remembering())) as harness:
        for time in (5, 15, 25):
            harness.process_element(("k", time), time)
            harness.process_watermark(time + 4)
            harness.snapshot()  # frees rows that hold nothing
        assert records(harness) == [(0, 1, 1, 1), (10, 1, 2, 2), (20, 1, 3, 3)]
