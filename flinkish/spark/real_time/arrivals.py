"""Record batches as they come to a task, so that it can wait for them and for the time at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from threading import BoundedSemaphore, Thread

import pyarrow as pa
import pyarrow.compute as pc

from flinkish.common.errors import MailboxTimeoutError
from flinkish.mailbox import MAX_PRIORITY, Mail, TaskMailbox
from flinkish.spark.batches import joined
from flinkish.spark.mapped_frame import Batches, MapBatches

__all__ = ["PAD", "Arrivals", "rows_of", "unpadded", "with_rows", "without_pads"]

# The column that is null in rows, and bytes in pads, which push them to Python (`prompt`).
PAD = "__flinkish_pad"

_MOST = 64  # batches that wait for the task


class Arrivals:
    """The batches of a task's input, read by a thread of its own, which sends each as a mail.

    The reader thread waits while `_MOST` of them are not handled.  It ends with the input, or with
    its worker: after an error Spark ends the worker, too.
    """

    def __init__(self, batches: Batches) -> None:
        self.ended = False
        self._batches = batches
        self._mailbox = TaskMailbox()
        self._room = BoundedSemaphore(_MOST)
        self._taken: list[pa.RecordBatch] = []
        Thread(target=self._read, name="flinkish-arrivals", daemon=True).start()

    def take(self, timeout_ms: int | None = None) -> list[pa.RecordBatch]:
        """All batches that have come; waits for one, for so long at most.

        Empty after that time, or if the input has ``ended``.  What reading raised is raised here.
        """
        mailbox = self._mailbox
        try:
            mail = mailbox.take(timeout=timeout_ms)
        except MailboxTimeoutError:
            return []
        mail.run()
        while (more := mailbox.try_take()) is not None:
            more.run()
        found, self._taken = self._taken, []
        return found

    def _read(self) -> None:
        last: Callable[[], object] = self._end
        try:
            for batch in self._batches:
                self._room.acquire()
                self._mailbox.put(Mail(partial(self._take, batch), MAX_PRIORITY))
        except BaseException as error:
            last = partial(self._fail, error)
        self._mailbox.put(Mail(last, MAX_PRIORITY))

    def _take(self, batch: pa.RecordBatch) -> None:
        self._room.release()
        self._taken.append(batch)

    def _end(self) -> None:
        self.ended = True

    @staticmethod
    def _fail(error: BaseException) -> None:
        raise error


def rows_of(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of a batch that has the column PAD, without it.

    Pads are at its end, where they have filled it, and at its begin, after those.
    """
    pads = batch.column(PAD)
    first, last = 0, len(pads)
    if first < last and pads[last - 1].is_valid:
        last -= 1
    if first < last and pads[0].is_valid:
        first += 1
    rows = batch.slice(first, last - first)
    if rows.column(PAD).null_count < rows.num_rows:  # batches of another size than was set
        rows = rows.filter(pc.is_null(rows.column(PAD)))
    return rows.drop_columns([PAD])


def without_pads(then: MapBatches | None) -> MapBatches:
    """A function of the rows from a source, for input that has pads.

    Rows that have come while the task was busy go together: a batch costs as much as many rows, so
    a task that is late has less to do for each.
    """

    def run(batches: Batches) -> Batches:
        rows = _arrived(Arrivals(batches))
        yield from rows if then is None else then(rows)

    run.__name__ = "rows" if then is None else then.__name__  # in Spark's plans
    return run


def _arrived(arrivals: Arrivals) -> Batches:
    while not arrivals.ended:
        if found := list(with_rows(arrivals.take())):
            yield joined(found)


def with_rows(batches: Iterable[pa.RecordBatch]) -> Batches:
    """The rows of batches that have some."""
    return (rows for batch in batches if (rows := rows_of(batch)).num_rows)


def unpadded(function: MapBatches) -> MapBatches:
    """A function of rows, for input that has pads, which reads ahead on a thread of its own."""

    def run(batches: Batches) -> Batches:
        return function(with_rows(batches))

    run.__name__ = function.__name__  # in Spark's plans
    return run
