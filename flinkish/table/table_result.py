"""PyFlink's results of statements."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from queue import SimpleQueue
from typing import Any

from flinkish.common.errors import FutureTimeoutError
from flinkish.common.jobs import JobClient, JobID, RunningJob
from flinkish.common.row import Row
from flinkish.common.typeinfo import RowTypeInfo
from flinkish.environment.collected import CloseableIterator, elements_of
from flinkish.table.printed import print_known_rows, print_rows
from flinkish.table.result_kind import ResultKind
from flinkish.table.table_schema import TableSchema

__all__ = ["TableResult"]

_POLL_S = 0.01


class TableResult:
    """The result of a statement: rows that are known, or those of a job that runs."""

    def __init__(
        self,
        kind: RowTypeInfo,
        rows: CloseableIterator,
        result_kind: ResultKind,
        *,
        job: RunningJob | None = None,
        queue: SimpleQueue[Any] | None = None,
    ) -> None:
        self._kind = kind
        self._rows = rows
        self._result_kind = result_kind
        self._job = job
        self._queue = queue
        self._client = None if job is None else JobClient(JobID.generate(), job)

    @staticmethod
    def of_rows(
        kind: RowTypeInfo,
        rows: Sequence[Sequence[Any]],
        result_kind: ResultKind = ResultKind.SUCCESS_WITH_CONTENT,
        job: RunningJob | None = None,
    ) -> TableResult:
        """The result of a statement whose rows are known; of the job that it began, if it did."""
        made = CloseableIterator(iter([Row(*row) for row in rows]), lambda: None)
        return TableResult(kind, made, result_kind, job=job)

    @staticmethod
    def of_query(kind: RowTypeInfo, job: RunningJob, queue: SimpleQueue[Any]) -> TableResult:
        """The result of a job that puts its rows into a queue."""
        elements = elements_of(job, queue)

        def unnamed() -> Iterator[Row]:
            for row in elements:
                yield Row.of_kind(row.get_row_kind(), *row)

        rows = CloseableIterator(unnamed(), elements.close)
        return TableResult(kind, rows, ResultKind.SUCCESS_WITH_CONTENT, job=job, queue=queue)

    def get_resolved_schema(self) -> TableSchema:
        """The names and types of the columns, as `get_table_schema` gives them."""
        return TableSchema.of(self._kind)

    def get_job_client(self) -> JobClient | None:
        """The client that watches and ends the job; None if the statement began none."""
        return self._client

    def wait(self, timeout_ms: int | None = None) -> None:
        """Wait for a query's first row, or for the end of an INSERT.

        Raises:
            FutureTimeoutError: that takes longer than ``timeout_ms``.
            JobExecutionError: the job failed.
        """
        if self._job is None:
            return
        ends = None if timeout_ms is None else time.monotonic() + timeout_ms / 1000
        while self._queue is None or self._queue.empty():
            if self._job.status().is_terminal_state():
                self._job.wait()
                return
            if ends is not None and time.monotonic() > ends:
                raise FutureTimeoutError(
                    f"the job has no result after {timeout_ms} ms: wait longer, or end it with "
                    "get_job_client().cancel()"
                )
            time.sleep(_POLL_S)

    def get_table_schema(self) -> TableSchema:
        """The columns of the rows."""
        return TableSchema.of(self._kind)

    def get_result_kind(self) -> ResultKind:
        """Whether there are rows to show."""
        return self._result_kind

    def collect(self) -> CloseableIterator:
        """The rows as they come, without names of fields; a second call goes on with the first.

        To close it ends the job.
        """
        return self._rows

    def print(self) -> None:
        """Print a query's rows as they come, or rows that are known; OK if there are none."""
        if self._result_kind is ResultKind.SUCCESS:
            print("OK", flush=True)
        elif self._queue is not None:
            print_rows(self._kind, self._rows)
        elif self._job is not None:
            print(*(value for row in self._rows for value in row), flush=True)
        else:
            print_known_rows(self._kind, self._rows)
