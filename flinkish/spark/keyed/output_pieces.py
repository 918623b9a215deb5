"""How much output one row of results carries.

All output of a key group in a batch once was one value, which had to fit into the JVM's heap with
its copies.  Now a run stops each time it has about PIECE_BYTES, and yields them as a row.  It
counts outputs, not bytes: how large they are is known only once they are columns, so each piece
says how many outputs the next one takes.  What came out larger is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from flinkish._core.columns.columns import RecordMismatch
from flinkish.common.errors import SchemaMismatchError
from flinkish.common.notes import add_note, dated
from flinkish.spark.encoders import RowEncoder
from flinkish.spark.keyed.plan import EVENT_TIME

__all__ = ["FIRST_OUTPUTS", "MOST_OUTPUTS", "PIECE_BYTES", "Outputs", "cut", "outputs_of"]

PIECE_BYTES = 8 * 1024 * 1024
FIRST_OUTPUTS = 1024  # in the first piece, before anything is known
MOST_OUTPUTS = 65_536  # Python objects that wait to become columns


@dataclass(frozen=True, slots=True)
class Outputs:
    """Values of one output and their event times (ms), that are no columns yet.

    ``explain`` notes on an error of a value, by its number, where in the operator it happened;
    None if its caller does.
    """

    values: list[Any]
    times: list[int | None]
    encoder: RowEncoder
    explain: Callable[[BaseException, int | None], None] | None = None

    @classmethod
    def of(cls, several: Sequence[Outputs]) -> Outputs:
        """Several as one."""
        if len(several) == 1:
            return several[0]
        values = [value for one in several for value in one.values]
        times = [time for one in several for time in one.times]
        return cls(values, times, several[0].encoder, several[0].explain)

    def rows(self, start: int, stop: int) -> pa.RecordBatch:
        """Some of them as rows with EVENT_TIME.

        SchemaMismatchError and SerializationError as `RowEncoder.encode`.
        """
        times = self.times[start:stop]
        try:
            batch = self.encoder.encode(self.values[start:stop])
        except SchemaMismatchError as error:
            if isinstance(misfit := error.__cause__, RecordMismatch):
                row_time = dated(times[misfit.row_index])
                add_note(error, f"the row that does not fit has the event time {row_time}")
            raise
        return batch.append_column(EVENT_TIME, pa.array(times, pa.int64()))

    def pieces(self, limit: int) -> Iterator[tuple[pa.RecordBatch, int]]:
        """All of them as rows, ``limit`` at first, and after each piece how many are one."""
        at = 0
        while at < len(self.values):
            batch = self.rows(at, at + limit)
            at += limit
            limit = outputs_of(batch)
            yield batch, limit


def outputs_of(batch: pa.RecordBatch) -> int:
    """How many outputs like those of a batch, which has some, make a piece."""
    size: int = batch.get_total_buffer_size()  # a tenth of the time of nbytes; it was just made
    rows: int = batch.num_rows
    return max(1, min(MOST_OUTPUTS, PIECE_BYTES * rows // max(1, size)))


def cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The rows of a batch in pieces, each of at most PIECE_BYTES of data or of one row."""
    if batch.nbytes <= PIECE_BYTES or batch.num_rows == 1:
        yield batch
        return
    half = batch.num_rows // 2
    yield from cut(batch.slice(0, half))
    yield from cut(batch.slice(half))
