"""The operator of windows that are computed from whole columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flinkish._core.columns.records import RecordReader
from flinkish.common.elements import StreamRecord, Watermark
from flinkish.common.errors import SchemaMismatchError, TimestampError, UnsupportedOperationError
from flinkish.common.output_tag import OutputTag
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.functions.aggregates import BuiltInAggregate
from flinkish.operators.base import OperatorEnvironment, Output
from flinkish.operators.key_columns import columns_of_keys
from flinkish.operators.keyed import KeyedOperator
from flinkish.operators.vector_aggregates import VectorAggregates
from flinkish.operators.vector_window import VECTORISED, VectorWindow, WindowSpec, choose_path
from flinkish.time.namespaces import VOID_NAMESPACE
from flinkish.windowing import WindowAssigner

__all__ = ["ColumnOutput", "VectorWindowOperator"]

_SERVICES = {"window-timers": VOID_NAMESPACE.name}


@runtime_checkable
class ColumnOutput(Output, Protocol):
    """An output that takes columns as they are."""

    def emit_columns(
        self, tag: OutputTag | None, batch: pa.RecordBatch, timestamps: npt.NDArray[np.int64]
    ) -> None:
        """Take rows of a side output, or of the main output for None, with timestamps (ms)."""


class VectorWindowOperator(KeyedOperator):
    """Built-in aggregates over event-time windows: columns in, columns out.

    Args:
        assigner: tumbling, sliding, cumulative or session windows with a fixed gap, by event time.
        aggregates: what is computed of each window.
        schema: the columns of elements.  ``key`` is the one that is the key.
        allowed_lateness: in ms.
        late_tag: where elements go that are too late for all their windows; else they are counted.

    The output has the key, ``window_start`` and ``window_end`` (ms), the results, and the last
    time of the window as its timestamp (Flink: WindowOperator): as columns if the output takes
    them, else as Rows.  UnsupportedOperationError for what only the window operator can do.

    Metrics: ``numRecordsIn``, ``numLateRecordsDropped``, ``numFiredTimers``.
    """

    def __init__(
        self,
        assigner: WindowAssigner,
        aggregates: Sequence[BuiltInAggregate],
        schema: pa.Schema,
        key: str,
        *,
        allowed_lateness: int = 0,
        late_tag: OutputTag | None = None,
    ) -> None:
        super().__init__()
        path, reason = choose_path(assigner, None, None, aggregates, schema)
        if path != VECTORISED:
            raise UnsupportedOperationError(
                f"these windows cannot be computed from columns: {reason}; put the operator "
                "together with WindowOperatorBuilder"
            )
        self.spec = WindowSpec.of(assigner, allowed_lateness)
        self.aggregates = VectorAggregates(aggregates, schema)
        self.schema = schema
        self._key = key
        self._late_tag = late_tag
        bounds = [pa.field(name, pa.int64()) for name in ("window_start", "window_end")]
        self.output_schema = pa.schema([schema.field(key), *bounds, *self.aggregates.fields])

    def setup(self, output: Output, environment: OperatorEnvironment | None = None) -> None:
        """Say where results go and what surrounds it; the key is a column and needs no selector."""
        environment = environment or OperatorEnvironment()
        if environment.key_selector is None:
            name = self._key
            environment.key_selector = lambda value: value[name]
        super().setup(output, environment)
        self.window = VectorWindow(self.backend, self.spec, self.aggregates)
        metrics, engine = environment.metrics, self.window.engine
        metrics.gauge("numRecordsIn", lambda: engine.processed)
        metrics.gauge("numLateRecordsDropped", lambda: engine.dropped)
        metrics.gauge("numFiredTimers", lambda: engine.fired_timers)

    def _services(self) -> dict[str, str]:
        return _SERVICES

    # --- elements

    def process_element(self, record: StreamRecord) -> None:
        """Take a record, whose value gives its columns by name."""
        if record.timestamp is None:
            raise TimestampError(
                f"the element {record.value!r} has no timestamp, and windows follow event time: "
                "call assign_timestamps_and_watermarks before key_by"
            )
        columns = [pa.array([record.value[f.name]], f.type) for f in self.schema]
        self.process_batch(
            pa.record_batch(columns, schema=self.schema), np.array([record.timestamp], np.int64)
        )

    def process_batch(self, batch: pa.RecordBatch, timestamps: npt.NDArray[np.int64]) -> None:
        """Take a batch with its timestamps (ms), in its order.

        SchemaMismatchError for other columns, TimestampError for an element without timestamp.
        """
        self._require_open("process_batch")
        if not batch.schema.equals(self.schema):
            raise SchemaMismatchError(
                f"a batch has the columns {batch.schema}, and the operator takes {self.schema}"
            )
        if (timestamps == MIN_TIMESTAMP).any():
            raise TimestampError("an element of the batch has no timestamp, and windows need one")
        keys = batch.column(self._key)
        if pa.types.is_integer(keys.type) and keys.null_count == 0:
            keys = keys.to_numpy()
        rows = self.rows_of(batch, keys)
        self.table.processing_time = self._clock()
        late = self.window.process(batch, rows, timestamps)
        self._emit()
        if len(late) and self._late_tag is not None:
            self._give(self._late_tag, batch.take(pa.array(late)), timestamps[late])
        self._forget_keys()

    def process_watermark(self, watermark: Watermark) -> None:
        """Fire the windows that are due, then pass the watermark on.

        As in Flink's KeyedProcessOperator.
        """
        self._require_open("process_watermark")
        self.window.advance_watermark(watermark.timestamp)
        self._emit()
        self._forget_keys()
        self.output.emit(watermark)

    # --- output

    def _emit(self) -> None:
        fired = self.window.take()
        if fired is None:
            return
        columns = [
            *columns_of_keys(self.table, fired.rows, [self.schema.field(self._key).type]),
            pa.array(fired.begins),
            pa.array(fired.ends),
            *fired.results,
        ]
        batch = pa.record_batch(columns, schema=self.output_schema)
        self._give(None, batch, fired.ends - 1)

    def _give(
        self, tag: OutputTag | None, batch: pa.RecordBatch, times: npt.NDArray[np.int64]
    ) -> None:
        if isinstance(self.output, ColumnOutput):
            self.output.emit_columns(tag, batch, times)
            return
        for row, time in zip(RecordReader(batch).rows(), times.tolist(), strict=True):
            record = StreamRecord(row, time)
            if tag is None:
                self.output.emit(record)
            else:
                self.output.emit_side(tag, record)
