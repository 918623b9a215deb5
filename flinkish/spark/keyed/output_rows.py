"""Results of an operator as payloads, and the rows of one of its outputs out of these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from flinkish.spark.keyed.marks import MARK_TAG, mark_row
from flinkish.spark.keyed.plan import EVENT_TIME, PHASE
from flinkish.spark.mapped_frame import Batches

__all__ = ["output_name", "output_reader", "read_payload", "unpacker", "write_payload"]


def write_payload(batch: pa.RecordBatch) -> pa.Buffer:
    """A batch of output with its schema."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def read_payload(payload: Any, schema: pa.Schema) -> pa.RecordBatch:
    """Read a payload of `write_payload`, which must have this schema."""
    with pa.ipc.open_stream(payload) as reader:
        _check_columns(reader.schema, schema)
        return reader.read_next_batch()


def _check_columns(found: pa.Schema, schema: pa.Schema) -> None:
    """TypeError for rows of an output that has other columns than it is read with."""
    if not found.equals(schema):
        raise TypeError(
            f"an output was written with the columns {found} and is read with {schema}; give the "
            "OutputTag the same type where it is yielded and where it is read"
        )


def output_reader(
    tag: str, schema: pa.Schema, *, marks: bool = False
) -> Callable[[str | None, int | None, Any], pa.RecordBatch | None]:
    """The function that reads a result: its tag, its phase, and its rows, or these as a payload.

    It gives the rows with the columns of `schema`, then EVENT_TIME and PHASE, for a following
    operator; None for those of another output.  With ``marks`` a mark of the watermark becomes a
    row, too.
    """
    timed = schema.append(pa.field(EVENT_TIME, pa.int64()))

    def read(found: str | None, phase: int | None, given: Any) -> pa.RecordBatch | None:
        if found == tag:
            if isinstance(given, pa.RecordBatch):
                rows = given
                _check_columns(rows.schema, timed)
            else:
                rows = read_payload(given, timed)
            phases = np.full(rows.num_rows, phase, np.int32)
            return rows.append_column(PHASE, pa.array(phases))
        return mark_row(given, schema) if marks and found == MARK_TAG else None

    return read


def unpacker(
    tag: str, schema: pa.Schema, uid: str, *, marks: bool = False
) -> Callable[[Batches], Batches]:
    """The function for `mapInArrow` that takes one output out of an operator's results."""
    read = output_reader(tag, schema, marks=marks)

    def unpack(batches: Batches) -> Batches:
        for batch in batches:
            tags, phases = (batch.column(name).to_pylist() for name in ("tag", "phase"))
            payloads = batch.column("payload")
            for found, phase, payload in zip(tags, phases, payloads, strict=True):
                rows = read(found, phase, payload.as_buffer())
                if rows is not None:
                    yield rows

    # In Spark's plans.
    unpack.__name__ = output_name(tag, uid)
    return unpack


def output_name(tag: str, uid: str) -> str:
    """The name in Spark's plans of the function that gives an output of an operator."""
    return " ".join(filter(None, ("output", tag, "of", uid)))
