"""Windows of built-in aggregates, a batch at a time; and which windows can be so computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flinkish._core.windows.panes.engine import (
    PaneCombiner,
    PaneWindows,
    SessionWindows,
    WindowEngine,
)
from flinkish.common.errors import IllegalArgumentError, UnsupportedOperationError
from flinkish.functions.aggregates import BuiltInAggregate
from flinkish.operators.vector_aggregates import VectorAggregates, why_not_vectorised
from flinkish.state.backend import KeyedStateBackend, StateDeclaration
from flinkish.windowing import (
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)

__all__ = ["PER_ROW", "VECTORISED", "FiredWindows", "VectorWindow", "WindowSpec", "choose_path"]

VECTORISED = "vectorised"
PER_ROW = "per row"

_LONGEST = 1 << 60  # ms


@dataclass(frozen=True)
class WindowSpec:
    """Which windows there are, in numbers (ms).

    Windows of ``size`` end every ``unit``; cumulative ones have a ``cycle``; sessions only a
    ``gap``.
    """

    size: int = 0
    unit: int = 0
    offset: int = 0
    cycle: int = 0
    gap: int = 0
    lateness: int = 0

    @classmethod
    def of(cls, assigner: WindowAssigner, allowed_lateness: int = 0) -> WindowSpec:
        """The windows of an assigner; IllegalArgumentError for one without such numbers."""
        if type(assigner) is EventTimeSessionWindows:
            return cls(gap=assigner.gap, lateness=allowed_lateness)
        offset = assigner.offset or 0
        if isinstance(assigner, CumulativeEventTimeWindows):
            size, step = assigner.size, assigner.step
            return cls(size, step, offset % size, size, lateness=allowed_lateness)
        if isinstance(assigner, (TumblingEventTimeWindows, SlidingEventTimeWindows)):
            size, slide = assigner.size, assigner.slide
            return cls(size, slide, offset % slide, lateness=allowed_lateness)
        raise IllegalArgumentError(f"{assigner!r} says element by element what its windows are")

    @property
    def combines(self) -> bool:
        """Whether elements of a pane always have the same fate, so that they may travel as one.

        A late element of a window that still takes some fires it for itself; one that falls into
        a gap between windows, or makes a session, is late by its own time.
        """
        return self.gap == 0 and self.lateness == 0 and self.size >= self.unit

    def engine(self, backend: KeyedStateBackend, aggregates: VectorAggregates) -> WindowEngine:
        """The engine that computes these windows, with its state among that of the backend."""
        name = "sessions" if self.gap else "panes"
        # Records of another layout, or panes of other windows, must never be taken for these.
        declared = StateDeclaration(
            f"window-{name}", name, f"{self} of {aggregates.layout.steps}", False
        )
        (cell,) = backend.reconcile([declared])
        if self.gap:
            return SessionWindows(
                backend.table, cell, aggregates.layout, gap=self.gap, lateness=self.lateness
            )
        return PaneWindows(
            backend.table,
            cell,
            aggregates.layout,
            size=self.size,
            unit=self.unit,
            offset=self.offset,
            cycle=self.cycle,
            lateness=self.lateness,
        )

    def combiner(self, aggregates: VectorAggregates) -> PaneCombiner:
        """The combiner that makes one record of a key's elements in a pane."""
        if not self.combines:
            raise UnsupportedOperationError("elements of a pane of these windows differ in fate")
        return PaneCombiner(
            aggregates.layout,
            size=self.size,
            unit=self.unit,
            offset=self.offset,
            cycle=self.cycle,
        )


def choose_path(
    assigner: Any,
    trigger: Any,
    evictor: Any,
    aggregates: Sequence[Any],
    schema: pa.Schema,
    *,
    window_function: Any = None,
) -> tuple[str, str]:
    """VECTORISED or PER_ROW, and the reason in words, as ``explain`` shows it.

    ``schema`` is that of the elements' columns.
    """
    reason = _why_per_row(assigner, trigger, evictor, aggregates, schema, window_function)
    if reason is not None:
        return PER_ROW, reason
    shared = ", one accumulator a pane" if getattr(assigner, "slide", 0) != assigner.size else ""
    return VECTORISED, f"built-in aggregates on {type(assigner).__name__}{shared}"


def _why_per_row(
    assigner: Any,
    trigger: Any,
    evictor: Any,
    aggregates: Sequence[Any],
    schema: pa.Schema,
    window_function: Any,
) -> str | None:
    known = (
        TumblingEventTimeWindows,
        SlidingEventTimeWindows,
        CumulativeEventTimeWindows,
        EventTimeSessionWindows,
    )
    if type(assigner) not in known:
        return f"{type(assigner).__name__} needs each element, or the clock"
    if trigger is not None and type(trigger) is not EventTimeTrigger:
        return f"{type(trigger).__name__} is asked for each element"
    if evictor is not None:
        return f"{type(evictor).__name__} needs each element"
    if window_function is not None:
        return f"{type(window_function).__name__} is called for each window"
    if max(assigner.size or 0, assigner.gap or 0) >= _LONGEST:
        return "a window is longer than 2**60 ms"
    for aggregate in aggregates:
        if not isinstance(aggregate, BuiltInAggregate):
            return f"{type(aggregate).__name__} is called for each element"
        column = aggregate.column
        if column is not None and column not in schema.names:
            return f"{aggregate!r} is of no column"
        kind = None if column is None else schema.field(column).type
        reason = why_not_vectorised(aggregate, kind)
        if reason is not None:
            return reason
    return None


@dataclass(frozen=True)
class FiredWindows:
    """Windows that fired, in their order: rows of the keys, begins and ends (ms), results."""

    rows: npt.NDArray[np.uint32]
    begins: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    results: list[pa.Array]

    def __len__(self) -> int:
        return len(self.rows)

    def slice(self, start: int, stop: int) -> FiredWindows:
        """Those from ``start`` on, before ``stop``; shares their memory."""
        part = slice(start, stop)
        results = [column[part] for column in self.results]
        return FiredWindows(self.rows[part], self.begins[part], self.ends[part], results)


class VectorWindow:
    """Takes batches of columns, gives windows that fired.

    The results are, row for row, those of the window operator with the default trigger: a window
    fires when the watermark passes its end, and again for each element that it takes after that;
    elements too late for every window of theirs are told apart.  Windows that a watermark fires
    come out by time, those of one key in its order; late elements fire in order of arrival.
    """

    def __init__(
        self, backend: KeyedStateBackend, spec: WindowSpec, aggregates: VectorAggregates
    ) -> None:
        self.spec = spec
        self.aggregates = aggregates
        self.engine = spec.engine(backend, aggregates)
        self._taken: list[tuple[Any, ...]] = []

    def process(
        self,
        batch: pa.RecordBatch,
        rows: npt.NDArray[np.uint32],
        times: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.uint32]:
        """Take a batch: the table's rows of its keys, its times in ms.

        The numbers of the elements that came too late for every window of theirs (Flink:
        WindowOperator). ValueError for an element without time.
        """
        return self.engine.process(rows, times, self.aggregates.words_of(batch))

    def merge(
        self,
        rows: npt.NDArray[np.uint32],
        begins: npt.NDArray[np.int64],
        records: npt.NDArray[np.uint8],
    ) -> npt.NDArray[np.uint32]:
        """Take what a combiner made: rows of the keys, begins of the panes (ms), records.

        The numbers of the panes that came too late.
        """
        assert isinstance(self.engine, PaneWindows)
        return self.engine.merge(rows, begins, records)

    def advance_watermark(self, watermark: int) -> None:
        """Fire every window that is due at ``watermark`` (ms), earliest first."""
        if self.engine.waiting:
            self._taken.append(self.engine.take())
        self.engine.advance_watermark(watermark)
        if self.engine.waiting:
            rows, begins, ends, records = self.engine.take()
            if (ends[1:] < ends[:-1]).any():
                order = _by_time(ends, self.spec.unit)
                rows, begins, ends = rows[order], begins[order], ends[order]
                records = records[order]
            self._taken.append((rows, begins, ends, records))

    def take(self) -> FiredWindows | None:
        """The windows fired since the last call, or None; to be called before the table commits."""
        if self.engine.waiting:
            self._taken.append(self.engine.take())
        taken, self._taken = self._taken, []
        if not taken:
            return None
        if len(taken) > 1:
            taken = [tuple(np.concatenate(parts) for parts in zip(*taken, strict=True))]
        rows, begins, ends, records = taken[0]
        return FiredWindows(rows, begins, ends, self.aggregates.results(records))


def _by_time(ends: npt.NDArray[np.int64], unit: int) -> npt.NDArray[np.intp]:
    """The order of ends, equal ones as they are."""
    first = ends.min()
    if unit and (ends.max() - first) // unit < 1 << 16:
        # Sixteen bits are sorted in one pass.
        return np.argsort(((ends - first) // unit).astype(np.uint16), kind="stable")
    return np.argsort(ends, kind="stable")
