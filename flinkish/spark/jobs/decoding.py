"""Decoding of sources' records, in the Python worker that runs the functions after the source."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from flinkish.common.errors import SerializationError
from flinkish.common.notes import shortened
from flinkish.common.row_formats.decoder import RecordDecoder
from flinkish.common.row_formats.errors import RecordError
from flinkish.spark.encoders import RowEncoder
from flinkish.spark.internals import arrow_schema
from flinkish.spark.mapped_frame import Batches
from flinkish.spark.streams.rows import Output

__all__ = ["ORIGIN", "RECORD", "Decoding"]

# Columns: the bytes of a record, and a struct of its origin, which errors show.
RECORD = "record"
ORIGIN = "__flinkish_origin"
_MOST_SHOWN = 500  # bytes of a record that an error shows


class Decoding:
    """A function of record batches that replaces RECORD and ORIGIN by the columns of elements.

    ``kept`` are columns of the source that are passed on, with one value per element.
    """

    __name__ = "decode"  # in Spark's plans

    def __init__(
        self, decoder: RecordDecoder, schema: StructType, kept: Sequence[str], zone: tzinfo
    ) -> None:
        output = Output.of(decoder.produced, "the type of the format")
        self.made = StructType([*output.schema.fields, *(schema[name] for name in kept)])
        self._decoder = decoder
        self._kept = list(kept)
        self._elements = arrow_schema(output.schema)
        self._all = arrow_schema(self.made)
        self._zone = zone

    def __call__(self, batches: Batches) -> Batches:
        """The batches of elements."""
        produced = self._decoder.produced
        encoder = RowEncoder("the format", self._elements, produced, self._zone)
        for batch in batches:
            column = self._decoder.decode_column(batch.column(RECORD))
            if column is not None:
                columns: list[Any] = [column]
                kept = batch
            else:
                elements, rows = self._decode(batch)
                if not elements:
                    continue
                columns = encoder.encode(elements).columns
                kept = batch.take(pa.array(rows, pa.int64()))
            columns += [kept.column(name) for name in self._kept]
            yield pa.RecordBatch.from_arrays(columns, schema=self._all)

    def _decode(self, batch: pa.RecordBatch) -> tuple[list[Any], list[int]]:
        """The elements of a batch, and the row that each comes from."""
        decode = self._decoder.decode
        elements: list[Any] = []
        rows: list[int] = []
        for row, record in enumerate(batch.column(RECORD).to_pylist()):
            try:
                decoded = decode(record)
            except RecordError as error:
                origin = batch.column(ORIGIN)[row].as_py()
                raise SerializationError(_wrong(error, record, origin)) from error
            elements += decoded
            rows += [row] * len(decoded)
        return elements, rows


def _wrong(error: RecordError, record: bytes | None, origin: dict[str, Any]) -> str:
    where = ", ".join(f"{name} {value}" for name, value in origin.items())
    if record is None:
        return f"{where}: {error}"
    text = record[:_MOST_SHOWN].decode("utf-8", "backslashreplace")
    return f"{where}: {error}; the record is {shortened(text)}"
