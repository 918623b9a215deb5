"""How much output one row of results carries.

All output of a key group in a batch once was one value, which had to fit into the JVM's heap with
its copies.  Now a run stops each time it has about PIECE_BYTES, and yields them as a row.  It
counts outputs, not bytes: how large they are is known only once they are columns, so each piece
says how many outputs the next one takes.  What came out larger is cut.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

__all__ = ["FIRST_OUTPUTS", "MOST_OUTPUTS", "PIECE_BYTES", "cut", "outputs_of"]

PIECE_BYTES = 8 * 1024 * 1024
FIRST_OUTPUTS = 1024  # in the first piece, before anything is known
MOST_OUTPUTS = 65_536  # Python objects that wait to become columns


def outputs_of(batch: pa.RecordBatch) -> int:
    """How many outputs like those of a batch, which has some, make a piece."""
    size: int = batch.nbytes
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
