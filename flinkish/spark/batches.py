"""Record batches that go on as one: each costs Spark, and pyarrow, as much as many rows."""

from __future__ import annotations

import pyarrow as pa

__all__ = ["joined"]


def joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of some batches, at least one, in their order."""
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
