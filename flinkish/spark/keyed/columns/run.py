"""One task's run of a vectorised window operator: payloads in, fired windows as columns out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import TaskContext

from flinkish._core.values.codec import unpack_payload
from flinkish.common.notes import add_note, spell_out_notes
from flinkish.operators.key_columns import columns_of_keys
from flinkish.operators.vector_window import FiredWindows, VectorWindow
from flinkish.spark.keyed.columns.packing import pane_schema
from flinkish.spark.keyed.columns.plan import PANE_BEGIN, RECORD, vector_of
from flinkish.spark.keyed.operator_run import OperatorRun
from flinkish.spark.keyed.output_pieces import MOST_OUTPUTS, cut
from flinkish.spark.keyed.plan import EVENT_TIME, MAIN
from flinkish.spark.keyed.result_rows import Result

__all__ = ["VectorRun"]

_US = 1_000


class VectorRun(OperatorRun):
    """Windows of built-in aggregates over the table of one key group after another.

    What it yields is what the window operator would, as columns: the key, the window, the results.
    """

    def _open(self, context: TaskContext | None) -> None:
        plan = self._plan
        self._vector = vector = vector_of(plan)
        self._window = VectorWindow(self.backend, vector.spec, vector.aggregates_of(plan.schema))
        self._panes = pane_schema(plan) if vector.combines else None

    def explain(self, error: BaseException, key_group: int | None = None) -> None:
        """Note on an error where it happened."""
        group = "" if key_group is None else f", key group {key_group}"
        add_note(error, f"raised in {self._operator}{group}")
        spell_out_notes(error)

    # --- in

    def process(self, payloads: Iterable[bytes], phase: int) -> Iterator[Result]:
        """Take packed rows, or records of panes."""
        if self._panes is None:
            yield from super().process(payloads, phase)
            return
        for payload in payloads:
            batch = unpack_payload(payload, self._panes)
            self.merge_panes(batch, self.key_rows(batch))

    def merge_panes(self, batch: pa.RecordBatch, rows: npt.NDArray[np.uint32]) -> None:
        """Take records of panes with the table's rows of their keys."""
        begins = batch.column(PANE_BEGIN).to_numpy()
        self._window.merge(rows, begins, _records(batch.column(RECORD), self._window))

    def process_rows(
        self, batch: pa.RecordBatch, rows: npt.NDArray[np.uint32], phase: int
    ) -> Iterator[Result]:
        """Take a packed batch with the table's rows of its keys; yield its late rows."""
        late = self._window.process(batch, rows, batch.column(EVENT_TIME).to_numpy())
        if len(late) and self._vector.late_tag is not None:
            lost = batch.take(pa.array(late))
            columns = lost.select(self._plan.schema.names)
            tag = self.outputs.side(self._vector.late_tag).schema
            columns = columns.select(tag.names).cast(tag)
            stamped = columns.append_column(EVENT_TIME, lost.column(EVENT_TIME))
            for piece in cut(stamped):
                yield Result(self._key_group, phase, self._vector.late_tag.tag_id, piece)
        if self._window.engine.waiting >= MOST_OUTPUTS:
            yield from self.take_outputs(phase)

    def advance(self, watermark: int, now: int, phase: int) -> Iterator[Result]:
        """Move the watermark (ms) and fire the windows that are due."""
        self._window.advance_watermark(watermark)
        yield from self.take_outputs(phase)

    def next_wake_up(self, now: int) -> int | None:
        """When Spark must call again, on event time; None if no window is open."""
        event = self._window.engine.next_event_timer()
        return None if event is None else min(event + 1, 2**63 - 1)

    # --- out

    def take_outputs(self, phase: int) -> Iterator[Result]:
        """The windows that have fired since the last call."""
        fired = self._window.take()
        for start in range(0, 0 if fired is None else len(fired), MOST_OUTPUTS):
            assert fired is not None
            for piece in cut(self.columns_of(fired.slice(start, start + MOST_OUTPUTS))):
                yield Result(self._key_group, phase, MAIN, piece)

    def columns_of(self, fired: FiredWindows) -> pa.RecordBatch:
        """Fired windows in the columns of the output, and their times."""
        names = self._plan.key_columns
        kinds = [self._plan.schema.field(name).type for name in names]
        columns = [
            *columns_of_keys(self.table, fired.rows, kinds),
            pa.array(fired.begins * _US).cast(pa.timestamp("us", "UTC")),
            pa.array(fired.ends * _US).cast(pa.timestamp("us", "UTC")),
            *fired.results,
        ]
        batch = pa.record_batch(columns, schema=self._plan.output)
        return batch.append_column(EVENT_TIME, pa.array(fired.ends - 1))

    def _calls(self) -> int:
        return self._window.engine.processed

    def _engine_counts(self) -> dict[str, int]:
        # Late rows are those that no window took.
        engine = self._window.engine
        return {
            "rows": engine.processed,
            "late_rows": engine.dropped,
            "timers_fired": engine.fired_timers,
        }


def _records(column: pa.Array, window: VectorWindow) -> npt.NDArray[np.uint8]:
    """Records as rows of bytes, from binary of any kind."""
    size = window.aggregates.layout.stride
    column = column.cast(pa.binary(size))
    data = np.frombuffer(column.buffers()[1], np.uint8)
    return data[column.offset * size : (column.offset + len(column)) * size].reshape(-1, size)
