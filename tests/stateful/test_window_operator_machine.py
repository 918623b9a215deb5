"""The window operator against its model: any elements, watermarks, batches and snapshots."""

from collections.abc import Iterable, Iterator
from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from flinkish.common import OutputTag
from flinkish.functions import AggregateFunction, ProcessWindowFunction
from flinkish.operators import WindowOperator, WindowOperatorBuilder
from flinkish.testing import KeyedOneInputStreamOperatorTestHarness
from flinkish.windowing import (
    CountTrigger,
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    Trigger,
    TumblingEventTimeWindows,
)
from tests.models.window_operator import WindowModel

LATE = OutputTag("late")
ASSIGNERS = [
    TumblingEventTimeWindows.of(10),
    TumblingEventTimeWindows.of(7, -3),
    SlidingEventTimeWindows.of(12, 4, 1),
    SlidingEventTimeWindows.of(5, 9),
    CumulativeEventTimeWindows.of(12, 4),
    EventTimeSessionWindows.with_gap(5),
    EventTimeSessionWindows.with_dynamic_gap(lambda value: 1 + value[1] % 7),
]


class OwnEventTimeTrigger(EventTimeTrigger):
    """The same, but asked for each element: no shortcut is taken for it."""


class Spans(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        window = context.window()
        yield key, window.start, window.end, sorted(value for _, value in elements)


class Gather(AggregateFunction):
    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        return [*accumulator, value]

    def get_result(self, accumulator: list[Any]) -> list[Any]:
        return accumulator

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        return acc_a + acc_b


class SpansOfOne(Spans):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        (found,) = elements
        return super().process(key, context, found)


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("elements"),
            st.lists(st.tuples(st.sampled_from(["a", "b", "a longer key"]), st.integers(-30, 60))),
        ),
        st.tuples(st.just("watermark"), st.integers(0, 12)),
        st.tuples(st.just("restart"), st.none()),
    ),
    max_size=14,
)


@given(
    st.sampled_from(ASSIGNERS),
    st.sampled_from([0, 6]),
    st.sampled_from([None, 2, 3]),
    st.booleans(),
    st.booleans(),
    STEPS,
)
def test_equals_the_model(
    assigner: Any, lateness: int, counts: int | None, purges: bool, folds: bool, steps: list[Any]
) -> None:
    model = WindowModel(assigner, lateness, counts, purges=purges)
    own = len(steps) % 2 == 1
    trigger: Trigger = OwnEventTimeTrigger() if own else EventTimeTrigger()
    if counts is not None:
        trigger = CountTrigger.of(counts)
    trigger = PurgingTrigger.of(trigger) if purges else trigger

    def operator() -> WindowOperator:
        builder = WindowOperatorBuilder(assigner).trigger(trigger).allowed_lateness(lateness)
        builder.side_output_late_data(LATE)
        if folds:
            return builder.aggregate(Gather(), SpansOfOne())
        return builder.process(Spans())

    harness = opened(operator(), None)
    number = seen = seen_late = 0
    watermark = -40
    for what, argument in [*steps, ("watermark", 200)]:
        if what == "elements":
            values = []
            for key, time in argument:
                values.append((key, number))
                model.process(key, (key, number), time)
                number += 1
            if values:
                times = np.array([time for _, time in argument], np.int64)
                harness.operator.process_batch(values, times)
        elif what == "watermark":
            watermark += argument
            model.advance(watermark)
            harness.process_watermark(watermark)
        else:
            kept = harness.snapshot()
            harness.close()
            harness = opened(operator(), kept)
            harness.process_watermark(watermark) if model.watermark == watermark else None
            seen = seen_late = 0
            model.late.clear()
        harness.operator.table._check()
        output = harness.extract_output_values()
        expected = [(k, s, e, [v for _, v in values]) for k, s, e, values in model.take()]
        assert sorted(output[seen:]) == expected
        seen = len(output)
        late = [record.value for record in harness.get_side_output(LATE) or ()]
        assert late[seen_late:] == [value for _, value in model.late]
        seen_late = len(late)
        model.late.clear()
    assert harness.num_keyed_state_entries() == 0
    assert harness.num_event_time_timers() == 0
    harness.close()


def opened(
    operator: WindowOperator, snapshot: bytes | None
) -> KeyedOneInputStreamOperatorTestHarness[Any]:
    harness = KeyedOneInputStreamOperatorTestHarness(operator, lambda value: value[0])
    harness.initialize_state(snapshot)
    harness.open()
    return harness
