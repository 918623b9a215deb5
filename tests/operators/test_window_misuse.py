"""What windows refuse, and what errors say: facts C.26, C.30."""

from collections.abc import Iterable, Iterator
from threading import Lock
from typing import Any

import pytest

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    IllegalStateError,
    SerializationError,
    TimestampError,
    UnsupportedOperationError,
)
from flinkish.functions import ProcessWindowFunction
from flinkish.operators import WindowOperatorBuilder as Builder
from flinkish.windowing import (
    CountTrigger,
    DeltaTrigger,
    EventTimeSessionWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from tests.operators.windowed import Elements, Gather, Script, Spans, give, harness_of, records


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
        h.process_element(("k", Lock()), 1)


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
