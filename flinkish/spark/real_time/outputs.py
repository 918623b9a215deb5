"""Outputs of the key groups of a task, gathered until they go to Spark.

Columns cost as much for one row as for a hundred, and a turn of a task has few rows of each of
many key groups: so these hand over Python objects, which become columns together.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from flinkish._core.columns.columns import RecordMismatch
from flinkish.spark.batches import joined
from flinkish.spark.keyed.output_pieces import FIRST_OUTPUTS, Outputs
from flinkish.spark.keyed.output_rows import output_reader
from flinkish.spark.keyed.plan import AFTER_WATERMARK
from flinkish.spark.keyed.result_rows import Result

__all__ = ["Gathered"]

_MOST_ROWS = 4096  # that go to Spark together


class Gathered:
    """The results of one output, by its tag, in their order, and marks.

    Threading: the task's thread.
    """

    def __init__(self, tag: str, schema: pa.Schema) -> None:
        self._tag = tag
        self._read = output_reader(tag, schema, marks=True)
        self._parts: list[pa.RecordBatch] = []
        self._rows = 0
        self._held: list[Result] = []
        self._waiting = 0
        self._limit = FIRST_OUTPUTS

    @property
    def is_full(self) -> bool:
        """Whether there is enough for Spark."""
        return self._rows + self._waiting >= _MOST_ROWS

    def add(self, result: Result) -> None:
        """Take a result; those of other outputs are dropped."""
        if result.outputs is None:
            self._encode()
            self._part(self._read(result.tag, result.phase, result.given))
        elif result.tag == self._tag:
            self._held.append(result)
            self._waiting += len(result.outputs.values)
            if self._waiting >= self._limit:
                self._encode()

    def take(self) -> Iterator[pa.RecordBatch]:
        """The rows since the last call: a batch of the schema, EVENT_TIME and PHASE, or none.

        SchemaMismatchError and SerializationError for a value that does not fit.
        """
        self._encode()
        if self._parts:
            yield joined(self._parts)
            self._parts, self._rows = [], 0

    def _encode(self) -> None:
        """Make columns of the values that are held."""
        held, self._held, self._waiting = self._held, [], 0
        if not held:
            return
        outputs = Outputs.of([one.outputs for one in held if one.outputs is not None])
        try:
            for rows, limit in outputs.pieces(self._limit):
                self._limit = limit
                self._part(self._read(self._tag, AFTER_WATERMARK, rows))
        except Exception:
            for one in held:
                _check(one.outputs)
            raise

    def _part(self, rows: pa.RecordBatch | None) -> None:
        if rows is not None:
            self._parts.append(rows)
            self._rows += rows.num_rows


def _check(outputs: Outputs | None) -> None:
    """Encode values that were made together; an error says where that was."""
    assert outputs is not None
    try:
        outputs.rows(0, len(outputs.values))
    except Exception as error:
        misfit = error.__cause__
        number = misfit.row_index if isinstance(misfit, RecordMismatch) else None
        if outputs.explain is not None:
            outputs.explain(error, number)
        raise
