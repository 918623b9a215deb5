"""Results of an operator as payloads, and the rows of its outputs out of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pyarrow as pa

from flinkish.spark.encoders import struct_columns
from flinkish.spark.keyed.marks import MARK_TAG, mark_row
from flinkish.spark.keyed.plan import EVENT_TIME, PHASE
from flinkish.spark.mapped_frame import Batches

__all__ = [
    "AllOutputsReader",
    "OutputReader",
    "Reader",
    "read_payload",
    "unpacker",
    "write_payload",
]


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


class OutputReader:
    """Reads the results of an operator as rows of one output, by its tag.

    They have the columns of ``schema``, then EVENT_TIME and PHASE, for a following operator.  With
    ``marks`` a mark of the watermark becomes a row, too.
    """

    def __init__(self, tag: str, schema: pa.Schema, *, marks: bool = False) -> None:
        self.tags = frozenset({tag})
        self._tag = tag
        self._schema = schema
        self._timed = schema.append(pa.field(EVENT_TIME, pa.int64()))
        self._marks = marks

    def read(self, tag: str | None, phase: int | None, given: Any) -> pa.RecordBatch | None:
        """A result: its tag, its phase, and its rows, or these as a payload.

        None for one of another output.
        """
        if tag == self._tag:
            if isinstance(given, pa.RecordBatch):
                rows = given
                _check_columns(rows.schema, self._timed)
            else:
                rows = read_payload(given, self._timed)
            phases = pa.repeat(pa.scalar(phase, pa.int32()), rows.num_rows)
            return rows.append_column(PHASE, phases)
        return mark_row(given, self._schema) if self._marks and tag == MARK_TAG else None

    def name(self, uid: str) -> str:
        """The outputs that it reads of an operator, for Spark's plans."""
        return " ".join(filter(None, ("output", self._tag, "of", uid)))


class AllOutputsReader:
    """Reads the results of an operator as rows of several outputs, by their tags.

    Each output is a struct in a column of ``columns``, in this order, which is null in rows of
    others; then come EVENT_TIME and PHASE.  ``marks`` as of `OutputReader`.
    """

    def __init__(
        self, outputs: Mapping[str, pa.Schema], columns: pa.Schema, *, marks: bool
    ) -> None:
        self.tags = frozenset(outputs)
        self._readers = {tag: OutputReader(tag, schema) for tag, schema in outputs.items()}
        self._places = {tag: place for place, tag in enumerate(outputs)}
        self._columns = columns
        self._marks = marks

    def read(self, tag: str | None, phase: int | None, given: Any) -> pa.RecordBatch | None:
        """A result, as `OutputReader.read`."""
        if tag not in self.tags:
            return mark_row(given, self._columns) if self._marks and tag == MARK_TAG else None
        assert tag is not None
        rows = self._readers[tag].read(tag, phase, given)
        assert rows is not None
        own = rows.select(rows.schema.names[:-2])
        found = struct_columns(self._columns, self._places[tag], own)
        for name in (EVENT_TIME, PHASE):
            found = found.append_column(name, rows.column(name))
        return found

    def name(self, uid: str) -> str:
        """The outputs that it reads of an operator, for Spark's plans."""
        return f"outputs of {uid}"


Reader: TypeAlias = "OutputReader | AllOutputsReader"


def unpacker(reader: Reader, uid: str) -> Callable[[Batches], Batches]:
    """The function for `mapInArrow` that takes outputs out of an operator's results."""

    def unpack(batches: Batches) -> Batches:
        for batch in batches:
            tags, phases = (batch.column(name).to_pylist() for name in ("tag", "phase"))
            payloads = batch.column("payload")
            for found, phase, payload in zip(tags, phases, payloads, strict=True):
                rows = reader.read(found, phase, payload.as_buffer())
                if rows is not None:
                    yield rows

    unpack.__name__ = reader.name(uid)  # in Spark's plans
    return unpack
