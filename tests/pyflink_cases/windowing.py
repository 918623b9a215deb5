"""Windows: a function, an assigner and a trigger of one's own."""

from collections.abc import Iterable

from flinkish.common import Types
from flinkish.common.time import Time
from flinkish.datastream.functions import (
    AggregateFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from flinkish.datastream.output_tag import OutputTag
from flinkish.datastream.state import ReducingStateDescriptor, ValueStateDescriptor
from flinkish.datastream.window import (
    EventTimeSessionWindows,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TimeWindow,
    TimeWindowSerializer,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    WindowAssigner,
)

LARGE = OutputTag("large", Types.STRING())

MINUTES = TumblingEventTimeWindows.of(Time.minutes(1))
LAST_HOUR = SlidingEventTimeWindows.of(Time.hours(1), Time.minutes(5))


class CountWindowElements(ProcessWindowFunction[tuple, tuple, str, TimeWindow]):
    """Elements of each window, and how often the window has spoken."""

    def open(self, runtime_context):
        self.spoken = ValueStateDescriptor("spoken", Types.INT())

    def process(
        self,
        key: str,
        context: "ProcessWindowFunction.Context[TimeWindow]",
        elements: Iterable[tuple],
    ) -> Iterable[tuple]:
        state = context.window_state().get_state(self.spoken)
        spoken = (state.value() or 0) + 1
        state.update(spoken)
        count = len(list(elements))
        if count > 2:
            yield LARGE, key
        yield key, context.window().start, context.window().end, count, spoken

    def clear(self, context: "ProcessWindowFunction.Context"):
        context.window_state().get_state(self.spoken).clear()


class SumOfWindow(WindowFunction[tuple, tuple, str, TimeWindow]):
    def apply(self, key: str, window: TimeWindow, inputs: Iterable[tuple]):
        return [(key, window.max_timestamp(), sum(e[1] for e in inputs))]


class Average(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


class Larger(ReduceFunction):
    def reduce(self, value1, value2):
        return value1 if value1[1] > value2[1] else value2


class GapOfElement(SessionWindowTimeGapExtractor):
    def extract(self, element: tuple) -> int:
        return element[1]


SESSIONS = EventTimeSessionWindows.with_dynamic_gap(GapOfElement())


class EveryThird(Trigger[tuple, TimeWindow]):
    """Fires at every third element, and at the end of the window."""

    def __init__(self):
        self.count = ReducingStateDescriptor("seen", lambda a, b: a + b, Types.LONG())

    def on_element(
        self,
        element: tuple,
        timestamp: int,
        window: TimeWindow,
        ctx: "Trigger.TriggerContext",
    ) -> TriggerResult:
        ctx.register_event_time_timer(window.max_timestamp())
        state = ctx.get_partitioned_state(self.count)
        state.add(1)
        if state.get() >= 3:
            state.clear()
            return TriggerResult.FIRE
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window, ctx) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window, ctx) -> TriggerResult:
        if time >= window.max_timestamp():
            return TriggerResult.FIRE_AND_PURGE
        return TriggerResult.CONTINUE

    def on_merge(self, window, ctx: "Trigger.OnMergeContext") -> None:
        ctx.merge_partitioned_state(self.count)

    def clear(self, window, ctx) -> None:
        ctx.get_partitioned_state(self.count).clear()


class Halves(WindowAssigner[tuple, TimeWindow]):
    """Even values go into long windows, odd ones into short ones."""

    def assign_windows(self, element, timestamp, context: WindowAssigner.WindowAssignerContext):
        size = 1000 if element[1] % 2 == 0 else 100
        start = TimeWindow.get_window_start_with_offset(timestamp, 0, size)
        return [TimeWindow(start, start + size)]

    def get_default_trigger(self, env) -> Trigger:
        return EveryThird()

    def get_window_serializer(self):
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True
