"""The vectorised window operator gives what the window operator gives element by element.

Facts C.2, C.5 - C.7, C.13, C.18, C.26 - C.28, against ``tests.models.vector_windows``.
"""

from dataclasses import dataclass, field
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
from hypothesis import assume, given

from flinkish._core.state import log as state_log
from flinkish._core.state.table import StateTable
from flinkish.functions.aggregates import (
    Avg,
    BuiltInAggregate,
    BuiltInAggregates,
    Count,
    First,
    Last,
    Max,
    Min,
    Sum,
)
from flinkish.operators.vector_aggregates import VectorAggregates
from flinkish.operators.vector_window import VectorWindow, WindowSpec
from flinkish.state.backend import KeyedStateBackend
from flinkish.windowing import (
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from tests.models.vector_windows import ModelWindows

SCHEMA = pa.schema(
    [("number", pa.int64()), ("large", pa.int64()), ("share", pa.float64()), ("flag", pa.bool_())]
)
BASE = 1_000  # a multiple of nothing below, so that offsets show


def aggregates() -> list[BuiltInAggregate]:
    return [
        Count(),
        Count("number"),
        Sum("number"),
        Avg("large"),
        Min("large"),
        Max("large"),
        First("number"),
        Last("number"),
        Sum("share"),
        Avg("share"),
        Min("share"),
        Max("share"),
        First("share"),
        Max("flag"),
    ]


# The lone count is of its own: its records lie in entries of the table, not in the slab.
WANTED = st.one_of(
    st.just([Count()]),
    st.lists(st.sampled_from(aggregates()), min_size=1, unique_by=lambda a: a.name),
    st.just(aggregates()),
)


@st.composite
def assigners(draw: st.DrawFn) -> WindowAssigner:
    kind = draw(st.sampled_from(["tumbling", "sliding", "gaps", "cumulative", "session"]))
    if kind == "session":
        return EventTimeSessionWindows.with_gap(draw(st.integers(1, 12)))
    part = draw(st.integers(1, 9))
    if kind == "tumbling":
        offset = draw(st.integers(1 - part, part - 1))
        return TumblingEventTimeWindows.of(part, offset)
    if kind == "cumulative":
        size = part * draw(st.integers(1, 6))
        return CumulativeEventTimeWindows.of(size, part, draw(st.integers(1 - size, size - 1)))
    offset = draw(st.integers(1 - part, part - 1))
    size = draw(st.integers(1, part) if kind == "gaps" else st.integers(part, part * 7))
    return SlidingEventTimeWindows.of(size, part, offset)


NUMBERS = st.one_of(st.none(), st.integers(-5, 5))
LARGE = st.one_of(NUMBERS, st.sampled_from([2**63 - 1, -(2**63)]))
# Sums of these are exact in any order.
SHARES = st.one_of(
    st.none(), st.integers(-40, 40).map(lambda n: n / 8), st.sampled_from([-0.0, float("inf")])
)
ELEMENTS = st.tuples(
    st.integers(0, 3),
    st.integers(-30, 60),
    NUMBERS,
    LARGE,
    SHARES,
    st.sampled_from([None, True, False]),
)
# A batch, or a watermark.
STEPS = st.lists(
    st.one_of(st.lists(ELEMENTS, min_size=1, max_size=12), st.integers(0, 25)), max_size=12
)


@dataclass
class Vectorised:
    """A VectorWindow over a table whose log is kept, and its output as tuples."""

    spec: WindowSpec
    wanted: list[BuiltInAggregate]
    pieces: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        table = StateTable(0, tracking=True)
        backend = KeyedStateBackend(table)
        self.window = VectorWindow(backend, self.spec, VectorAggregates(self.wanted, SCHEMA))
        state_log.replay(table, self.pieces, list(range(len(table.cells))), 0)
        # Numbers of arrivals follow the clock, which no restart turns back.
        table.processing_time = 1_700_000_000_000 + len(self.pieces)
        self.table = table

    def reopen(self, watermark: int) -> None:
        """As after a failure: from what the log says."""
        self.open()
        self.table.watermark = watermark
        self.table._check()

    def rows_of(self, keys: list[int]) -> np.ndarray:
        rows = np.empty(len(keys), np.uint32)
        self.table.intern_ints(np.array(keys, np.int64), None, rows)
        return rows

    def process(self, elements: list[Any]) -> list[Any]:
        """The numbers of the late ones."""
        batch = batch_of(elements)
        times = np.array([time for _, time, *_ in elements], np.int64)
        rows = self.rows_of([key for key, *_ in elements])
        return self.window.process(batch, rows, times).tolist()

    def combine(self, elements: list[Any], size: int) -> int:
        """Have chunks of this size travel as records of panes; how many elements were late."""
        before = self.window.engine.dropped
        combiner = self.spec.combiner(self.window.aggregates)
        for start in range(0, len(elements), size):
            chunk = elements[start : start + size]
            keys = np.array([key for key, *_ in chunk], np.uint32)
            times = np.array([time for _, time, *_ in chunk], np.int64)
            words = self.window.aggregates.words_of(batch_of(chunk))
            firsts, begins, records = combiner.combine(keys, times, words)
            self.window.merge(self.rows_of(keys[firsts].tolist()), begins, records)
        return self.window.engine.dropped - before

    def commit(self) -> list[Any]:
        fired = self.window.take()
        out = []
        if fired is not None:
            keys = [self.table.key_of(row) for row in fired.rows]
            results = zip(*(column.to_pylist() for column in fired.results), strict=True)
            out = list(zip(keys, fired.begins.tolist(), fired.ends.tolist(), results, strict=True))
        self.pieces.append(state_log.commit(self.table))
        self.table._check()
        return out


def batch_of(elements: list[Any]) -> pa.RecordBatch:
    columns = zip(*(element[2:] for element in elements), strict=True)
    return pa.record_batch(
        [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def row_of(element: Any) -> dict[str, Any]:
    return dict(zip(SCHEMA.names, element[2:], strict=True))


def checked(result: tuple[Any, ...]) -> tuple[Any, ...]:
    """A result that compares, nan with nan too."""
    return tuple("nan" if value != value else value for value in result)


def rows_as_compared(rows: list[Any]) -> list[Any]:
    return [(key, begin, end, checked(result)) for key, begin, end, result in rows]


def by_time(rows: list[Any]) -> list[Any]:
    return sorted(rows_as_compared(rows), key=lambda row: (row[2], row[0]))


@given(WANTED, assigners(), st.sampled_from([0, 0, 3, 20, 2**62, 2**63 - 1]), STEPS, st.data())
def test_equals_the_window_operator(
    wanted: list[BuiltInAggregate],
    assigner: WindowAssigner,
    lateness: int,
    steps: list[Any],
    data: st.DataObject,
) -> None:
    model = ModelWindows(assigner, BuiltInAggregates(wanted), lateness)
    vector = Vectorised(WindowSpec.of(assigner, lateness), wanted)
    watermark = -(2**63)
    for step in [*steps, 2**63 - 1]:
        if isinstance(step, list):
            elements = [(key, BASE + time, *rest) for key, time, *rest in step]
            before = len(model.late)
            for element in elements:
                model.process(element[0], row_of(element), element[1])
            late = vector.process(elements)
            assert [(e[0], row_of(e), e[1]) for e in map(elements.__getitem__, late)] == (
                model.late[before:]
            )
            found = vector.commit()
            assert rows_as_compared(found) == rows_as_compared(model.output)
        else:
            watermark = max(watermark, BASE - 30) + step if step < 100 else step
            model.advance(watermark)
            vector.window.advance_watermark(watermark)
            found = vector.commit()
            ends = [end for _, _, end, _ in found]
            assert ends == sorted(ends)
            assert by_time(found) == by_time(model.output)
        model.output.clear()
        if data.draw(st.booleans()):
            vector.reopen(watermark)
    if lateness < 2**62:
        assert vector.table.number_of_keys == 0
        assert vector.table.number_of_event_timers == 0


@given(WANTED, assigners(), STEPS, st.integers(1, 6))
def test_elements_that_were_combined_before_give_the_same(
    wanted: list[BuiltInAggregate], assigner: WindowAssigner, steps: list[Any], chunk: int
) -> None:
    spec = WindowSpec.of(assigner)
    assume(spec.combines)
    model = ModelWindows(assigner, BuiltInAggregates(wanted), 0)
    vector = Vectorised(spec, wanted)
    watermark = BASE - 30
    for step in [*steps, 2**62]:
        if isinstance(step, list):
            elements = [(key, BASE + time, *rest) for key, time, *rest in step]
            before = len(model.late)
            for element in elements:
                model.process(element[0], row_of(element), element[1])
            assert vector.combine(elements, chunk) == len(model.late) - before
        else:
            watermark += step
            model.advance(watermark)
            vector.window.advance_watermark(watermark)
        assert by_time(vector.commit()) == by_time(model.output)
        model.output.clear()
    assert vector.window.engine.processed == sum(len(s) for s in steps if isinstance(s, list))
