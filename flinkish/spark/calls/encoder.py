"""Answers as columns: results, errors that are kept, and counts."""

from __future__ import annotations

import json
from datetime import tzinfo
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from flinkish.common.notes import add_note, shortened
from flinkish.common.typeinfo import TypeInformation
from flinkish.spark.batches import joined
from flinkish.spark.calls.answers import COUNTS, ERROR, ERROR_TYPE, Answer, Counts, Failure
from flinkish.spark.calls.stamps import Stamped
from flinkish.spark.encoders import RowEncoder, struct_columns
from flinkish.spark.keyed.result_rows import METRICS

__all__ = ["AnswerEncoder"]

_LONGEST = 10_000  # characters of an error's message that are kept


class AnswerEncoder:
    """Makes columns of answers, and counts on.

    ``columns`` are those of the task: a struct for the main output, whose fields are ``output``,
    one for a side output if there is one, one for counts.  ``on_error`` is "fail", "drop", "column"
    or "side"; failed rows have the columns ``failed``, of which ``kept`` are taken from the row.
    ``what`` says whose output it is, for messages.  With ``stamped`` the last columns of the output
    are those that it makes of the rows' stamps.

    Usually a block of answers has no errors and all results fit: then all its values are converted
    at once.  Only where one does not fit, each row's are by themselves.
    """

    def __init__(
        self,
        what: str,
        columns: pa.Schema,
        output: pa.Schema,
        output_type: TypeInformation | None,
        on_error: str,
        failed: pa.Schema,
        kept: tuple[str, ...],
        time_zone: tzinfo,
        stamped: Stamped | None = None,
    ) -> None:
        self._columns = columns
        self._output = output
        self._on_error = on_error
        self._kept = kept
        results = pa.schema(list(output)[:-1]) if on_error == "column" else output
        self._stamped = stamped
        if stamped is not None:
            results = pa.schema(list(output)[: -len(stamped.names)])
        self._results = RowEncoder(what, results, output_type, time_zone)
        self._failed_rows = RowEncoder(what, failed, None, time_zone)
        self._failures = self._given = 0

    def encode(self, values: list[Answer | Counts]) -> pa.RecordBatch:
        """Answers as columns; a Counts comes last if at all, since nothing follows it."""
        counts = values[-1]
        if isinstance(counts, Counts):
            parts = [*self._parts(values[:-1]), self._count(counts)]
        else:
            parts = self._parts(values)
        return joined(parts) if parts else pa.RecordBatch.from_pylist([], self._columns)

    def counted(self) -> dict[str, int]:
        """The counts so far, of those in COUNTERS that show here; from any thread."""
        counted = {"results": self._given, "failed": self._failures}
        if self._on_error == "drop":
            counted["dropped"] = self._failures
        return counted

    def _parts(self, answers: list[Any]) -> list[pa.RecordBatch]:
        parts: list[pa.RecordBatch] = []
        for failed, run in groupby(answers, _has_failed):
            if not failed:
                parts += self._good(list(run))
                continue
            rows = [(row, failure) for rows, failure, *_ in run for row in _each(rows)]
            self._failures += len(rows)
            if self._on_error != "drop":
                parts.append(self._failed(rows))
        return parts

    def _good(self, answers: list[Answer]) -> list[pa.RecordBatch]:
        """Results, which may still turn out not to fit."""
        values = [value for _, results, _, _ in answers for value in results]
        if not values:
            return []
        try:
            rows = self._results.encode(values)
        except Exception as error:
            return self._parts(self._without_misfits(answers, error))
        self._given += len(values)
        if self._on_error == "column":
            columns = [*rows.columns, pa.nulls(rows.num_rows, ERROR_TYPE)]
            rows = pa.RecordBatch.from_arrays(columns, schema=self._output)
        if self._stamped is not None:
            counts = [len(results) for _, results, _, _ in answers]
            stamps = self._stamped.columns(np.repeat([stamp for *_, stamp in answers], counts))
            rows = pa.RecordBatch.from_arrays([*rows.columns, *stamps], schema=self._output)
        return [struct_columns(self._columns, 0, rows)]

    def _without_misfits(self, answers: list[Answer], error: Exception) -> list[Answer]:
        """The answers with a failure in place of each that does not fit; or the error of one."""
        found: list[Answer] = []
        misfits = False
        for answer in answers:
            row, results, attempts, stamp = answer
            try:
                if results:
                    self._results.encode(results)
                found.append(answer)
            except Exception as misfit:
                add_note(misfit, f"given for {shortened(row)}, attempt {attempts}")
                if self._on_error == "fail":
                    raise
                misfits = True
                found.append((row, Failure(misfit, attempts), attempts, stamp))
        if not misfits:  # each by itself fits, but not all together
            raise error
        return found

    def _failed(self, failures: list[tuple[Any, Failure]]) -> pa.RecordBatch:
        """Rows with their errors: in the main output or in the side output."""
        names = self._failed_rows.schema.names
        no_results = dict.fromkeys(names)
        rows = [
            no_results | {name: row[name] for name in self._kept} | {ERROR: _described(failure)}
            for row, failure in failures
        ]
        if ERROR not in names:
            for fields in rows:
                del fields[ERROR]
        index = 1 if self._on_error == "side" else 0
        return struct_columns(self._columns, index, self._failed_rows.encode(rows))

    def _count(self, counts: Counts) -> pa.RecordBatch:
        counted: dict[str, Any] = counts.counts | self.counted()
        counted[METRICS] = json.dumps(counts.own) if counts.own else None
        rows = pa.RecordBatch.from_pylist([counted], pa.schema(COUNTS.fields))
        return struct_columns(self._columns, len(self._columns) - 1, rows)


def _each(rows: Any) -> list[Any]:
    """The rows of an answer: one, or those of a batch."""
    return rows if type(rows) is list else [rows]


def _has_failed(answer: Answer) -> bool:
    return type(answer[1]) is Failure


def _described(failure: Failure) -> dict[str, Any]:
    """An error as its column shows it."""
    error = failure.error
    kind = type(error)
    name = kind.__qualname__
    if kind.__module__ != "builtins":
        name = f"{kind.__module__}.{name}"
    try:
        message = str(error)
    except Exception as other:
        message = f"<its text raises {type(other).__name__}>"
    return {"type": name, "message": message[:_LONGEST], "attempts": failure.attempts}
