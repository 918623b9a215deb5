"""Which windows are computed from columns, and what is said about it."""

from typing import Any

import pyarrow as pa
import pytest

from flinkish.functions import AggregateFunction
from flinkish.functions.aggregates import Count, DistinctCount, First, Max, Sum
from flinkish.operators.vector_window import PER_ROW, VECTORISED, choose_path
from flinkish.windowing import (
    CountEvictor,
    CountTrigger,
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)

SCHEMA = pa.schema([("n", pa.int64()), ("x", pa.float64()), ("text", pa.string())])
TUMBLING = TumblingEventTimeWindows.of(10)


class Mine(AggregateFunction):
    """A user's own."""

    create_accumulator = add = get_result = merge = lambda *_: None  # type: ignore[assignment]


class MySlidingWindows(SlidingEventTimeWindows):
    """A user's own."""


@pytest.mark.parametrize(
    ("assigner", "path", "says"),
    [
        (TUMBLING, VECTORISED, "built-in aggregates on TumblingEventTimeWindows"),
        (SlidingEventTimeWindows.of(10, 5), VECTORISED, "SlidingEventTimeWindows, one accumulator"),
        (CumulativeEventTimeWindows.of(10, 5), VECTORISED, "CumulativeEventTimeWindows, one"),
        (EventTimeSessionWindows.with_gap(5), VECTORISED, "on EventTimeSessionWindows"),
        (EventTimeSessionWindows.with_dynamic_gap(int), PER_ROW, "Dynamic"),
        (TumblingProcessingTimeWindows.of(10), PER_ROW, "or the clock"),
        (GlobalWindows.create(), PER_ROW, "GlobalWindows needs each element"),
        (MySlidingWindows.of(10, 5), PER_ROW, "MySlidingWindows needs each element"),
        (TumblingEventTimeWindows.of(2**61), PER_ROW, "longer than"),
    ],
)
def test_by_assigner(assigner: Any, path: str, says: str) -> None:
    found, reason = choose_path(assigner, None, None, [Count()], SCHEMA)
    assert found == path
    assert says in reason


@pytest.mark.parametrize(
    ("trigger", "evictor", "function", "aggregates", "says"),
    [
        (CountTrigger.of(3), None, None, [Count()], "CountTrigger is asked for each element"),
        (None, CountEvictor.of(3), None, [Count()], "CountEvictor needs each element"),
        (None, None, print, [Count()], "is called for each window"),
        (None, None, None, [Mine()], "Mine is called for each element"),
        (None, None, None, [DistinctCount("n")], "not kept in a fixed number of bytes"),
        (None, None, None, [Sum("text")], "Sum('text') is of string values"),
        (None, None, None, [Max("text")], "Max('text') is of string values"),
        (None, None, None, [Sum("nothing")], "of no column"),
    ],
)
def test_by_what_is_asked_for(
    trigger: Any, evictor: Any, function: Any, aggregates: Any, says: str
) -> None:
    path, reason = choose_path(
        TUMBLING, trigger, evictor, aggregates, SCHEMA, window_function=function
    )
    assert path == PER_ROW
    assert says in reason


def test_the_default_trigger_and_any_column_that_is_counted() -> None:
    aggregates = [Count(), Count("text"), Sum("n"), First("x")]
    assert choose_path(TUMBLING, EventTimeTrigger.create(), None, aggregates, SCHEMA)[0] == (
        VECTORISED
    )
