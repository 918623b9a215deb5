"""Windows that take element by element, in one process.

Rows are (key, time) of 10,000 keys in random order, times ascending, five milliseconds apart;
they go through the operator in batches of 10,000, a watermark ten seconds behind after each, and
all that is left fires at the end.  ``track_`` gives rows a second.
"""

import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from flinkish.common import Types, Watermark
from flinkish.functions import AggregateFunction, ProcessWindowFunction
from flinkish.operators import OperatorEnvironment, WindowOperator, WindowOperatorBuilder
from flinkish.testing import TestProcessingTimeService
from flinkish.windowing import (
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
)

KEYS = 10_000
ROWS = 200_000
BATCH = 10_000
SPACING = 5


class Size(ProcessWindowFunction):
    """How many elements a window has."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield key, context.window().start, len(list(elements))


class Mean(AggregateFunction):
    """The mean of the times."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Any, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class AtTheEnd(Trigger):
    """What EventTimeTrigger does, as a user would write it."""

    def on_element(self, element: Any, timestamp: Any, window: Any, ctx: Any) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Any) -> None:
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


class Nowhere:
    """An output that keeps nothing."""

    def emit(self, element: object) -> None:
        pass

    def emit_side(self, tag: object, record: object) -> None:
        pass

    def emit_batch(self, tag: object, values: list, timestamps: list) -> None:
        pass


def operators(kind: str) -> WindowOperator:
    """The operator of this name."""
    minute = TumblingEventTimeWindows.of("1 minute")
    sessions = EventTimeSessionWindows.with_gap("1 minute")
    in_fives = PurgingTrigger.of(CountTrigger.of(5))
    made: dict[str, WindowOperator] = {
        "tumbling, process": WindowOperatorBuilder(minute).process(Size()),
        "tumbling, aggregate": WindowOperatorBuilder(minute).aggregate(Mean()),
        "sliding by 3, aggregate": WindowOperatorBuilder(
            SlidingEventTimeWindows.of("1 minute", "20 seconds")
        ).aggregate(Mean()),
        "session, process": WindowOperatorBuilder(sessions).process(Size()),
        "session, aggregate": WindowOperatorBuilder(sessions).aggregate(Mean()),
        "own trigger, process": WindowOperatorBuilder(minute).trigger(AtTheEnd()).process(Size()),
        "own trigger on sessions": WindowOperatorBuilder(sessions)
        .trigger(AtTheEnd())
        .process(Size()),
        "count trigger, aggregate": WindowOperatorBuilder(GlobalWindows.create())
        .trigger(in_fives)
        .aggregate(Mean()),
    }
    return made[kind]


class Windows:
    """Rows through WindowOperator."""

    timeout = 300
    params = (
        [
            "tumbling, process",
            "tumbling, aggregate",
            "sliding by 3, aggregate",
            "session, process",
            "session, aggregate",
            "own trigger, process",
            "own trigger on sessions",
            "count trigger, aggregate",
        ],
    )
    param_names = ("windows",)

    def setup(self, kind: str) -> None:
        rng = np.random.default_rng(20240917)
        self.keys = rng.integers(0, KEYS, ROWS)
        self.times = np.arange(ROWS, dtype=np.int64) * SPACING
        self.rows = list(zip(self.keys.tolist(), self.times.tolist(), strict=True))

    def seconds(self, kind: str) -> float:
        operator = operators(kind)
        clock = TestProcessingTimeService()
        clock.set_current_time(0)
        operator.setup(
            Nowhere(),
            OperatorEnvironment(
                key_selector=lambda row: row[0],
                key_type=Types.LONG(),
                processing_time_service=clock,
            ),
        )
        operator.initialize_state()
        operator.open()
        start = time.perf_counter()
        for at in range(0, ROWS, BATCH):
            part = slice(at, at + BATCH)
            operator.process_batch(self.rows[part], self.times[part], self.keys[part])
            operator.process_watermark(Watermark(int(self.times[part][-1]) - 10_000))
        operator.process_watermark(Watermark(1 << 60))
        took = time.perf_counter() - start
        operator.close()
        return took

    def track_rows_per_second(self, kind: str) -> float:
        return ROWS / sorted(self.seconds(kind) for _ in range(3))[1]

    track_rows_per_second.unit = "rows/s"  # type: ignore[attr-defined]
