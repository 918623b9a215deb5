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
from flinkish.spark.keyed.output_rows import Reader
from flinkish.spark.keyed.plan import AFTER_WATERMARK
from flinkish.spark.keyed.result_rows import Result

__all__ = ["Gathered"]

_MOST_ROWS = 4096  # that go to Spark together


class Gathered:
    """The results of the outputs that are read, in their order, and marks.

    Threading: the task's thread.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._parts: list[pa.RecordBatch] = []
        self._rows = 0
        self._held: dict[str, list[Outputs]] = {}
        self._waiting = 0
        self._limits: dict[str, int] = {}

    @property
    def is_full(self) -> bool:
        """Whether there is enough for Spark."""
        return self._rows + self._waiting >= _MOST_ROWS

    def add(self, result: Result) -> None:
        """Take a result; those of other outputs are dropped."""
        if result.outputs is None:
            self._encode()
            self._part(result.tag, result.phase, result.given)
        elif result.tag in self._reader.tags:
            tag = result.tag
            self._held.setdefault(tag, []).append(result.outputs)
            self._waiting += len(result.outputs.values)
            if self._waiting >= self._limits.get(tag, FIRST_OUTPUTS):
                self._encode()

    def take(self) -> Iterator[pa.RecordBatch]:
        """The rows since the last call, in the columns of the reader, or none.

        SchemaMismatchError and SerializationError for a value that does not fit.
        """
        self._encode()
        if self._parts:
            yield joined(self._parts)
            self._parts, self._rows = [], 0

    def _encode(self) -> None:
        """Make columns of the values that are held."""
        held, self._held, self._waiting = self._held, {}, 0
        for tag, several in held.items():
            try:
                pieces = Outputs.of(several).pieces(self._limits.get(tag, FIRST_OUTPUTS))
                for rows, limit in pieces:
                    self._limits[tag] = limit
                    self._part(tag, AFTER_WATERMARK, rows)
            except Exception:
                for one in several:
                    _check(one)
                raise

    def _part(
        self, tag: str | None, phase: int | None, given: pa.RecordBatch | bytes | None
    ) -> None:
        rows = self._reader.read(tag, phase, given)
        if rows is not None:
            self._parts.append(rows)
            self._rows += rows.num_rows


def _check(outputs: Outputs) -> None:
    """Encode values that were made together; an error says where that was."""
    try:
        outputs.rows(0, len(outputs.values))
    except Exception as error:
        misfit = error.__cause__
        number = misfit.row_index if isinstance(misfit, RecordMismatch) else None
        if outputs.explain is not None:
            outputs.explain(error, number)
        raise
