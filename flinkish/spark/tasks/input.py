"""Spark's input of a task: read ahead by a thread, and handed out as records.

Spark gives a Python worker its rows as an iterator that blocks in a read of the worker's socket.
A thread of its own waits there, so that the task's thread can serve timers and mails meanwhile.

Invariants:
  I1  The reader thread alone calls the iterator, and nobody else reads the socket while it lives.
      Behind the iterator's end it has read no byte: Spark's own code goes on there, and uses
      the process for the next task.
  I2  Under the lock: ``_available`` is not done only if there is nothing to poll, neither a batch
      nor the end nor an error.  It is completed after the lock was given back, by the one thread
      that took it out of its place, since its callbacks may call in again.
  I3  The reader goes for another batch only while what waits is below both limits, so no more
      than that and one batch are held.
  I4  A thread inside of the iterator cannot be called back.  So a task that ends before its input
      does must fail: Spark then ends the process, and the thread with it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from operator import length_hint
from typing import Any

import pyarrow as pa

from flinkish.common.elements import StreamElement, StreamRecord
from flinkish.common.futures import complete, shared_future
from flinkish.spark.elements import ElementReader
from flinkish.task import InputStatus

__all__ = ["BatchReader", "RowInput"]

AHEAD_ROWS = 20_000
AHEAD_BYTES = 16 * 1024 * 1024

# Rows become records in blocks: quick, and still in the processor's cache when they are used.
_BLOCK = 512

_READY: Future[None] = Future()
_READY.set_result(None)


class BatchReader:
    """Reads ``batches`` on a thread of its own, as far ahead as ``ahead_rows`` and ``ahead_bytes``.

    Threading: the methods are for the task's thread; none of them blocks, but ``close`` for as
    long as it is told.
    """

    def __init__(
        self,
        batches: Iterator[pa.RecordBatch],
        name: str,
        *,
        ahead_rows: int = AHEAD_ROWS,
        ahead_bytes: int = AHEAD_BYTES,
    ) -> None:
        self._batches = batches
        self._ahead_rows = ahead_rows
        self._ahead_bytes = ahead_bytes
        self._changed = threading.Condition(threading.Lock())
        self._waiting: deque[pa.RecordBatch] = deque()
        self._rows = self._bytes = 0
        self._ended = self._closed = False
        self._error: BaseException | None = None
        self._available: Future[None] = shared_future()
        self._thread = threading.Thread(target=self._run, name=f"{name}-reader", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def poll(self) -> pa.RecordBatch | None:
        """The next batch, or None for none by now; raises what the iterator raised."""
        with self._changed:
            if self._waiting:
                batch = self._waiting.popleft()
                self._rows -= batch.num_rows
                self._bytes -= batch.nbytes
                self._changed.notify()
                return batch
            if self._error is not None:
                raise self._error
        return None

    def ended(self) -> bool:
        """Whether the iterator ended and every batch was polled."""
        with self._changed:
            return self._ended and not self._waiting

    def get_available_future(self) -> Future[None]:
        """Done as soon as there is a batch, the end or an error."""
        with self._changed:
            if not self._has_news() and self._available.done():
                self._available = shared_future()
            return self._available

    def close(self, patience_ms: int) -> bool:
        """Read no more; whether the thread has ended within ``patience_ms``.

        It has not where it waits inside of the iterator (I4).
        """
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._rows = self._bytes = 0
            self._changed.notify()
        if self._thread.ident is not None:  # it was started
            self._thread.join(patience_ms / 1000)
        return not self._thread.is_alive()

    # --- the thread

    def _run(self) -> None:
        error: BaseException | None = None
        try:
            while self._await_room():
                batch = next(self._batches, None)
                if batch is None:
                    break
                self._tell(batch)
                del batch  # not for as long as the thread waits
        except BaseException as raised:
            error = raised
        self._tell(None, error)

    def _await_room(self) -> bool:
        with self._changed:
            while not self._closed and (
                self._rows >= self._ahead_rows or self._bytes >= self._ahead_bytes
            ):
                self._changed.wait()
            return not self._closed

    def _tell(self, batch: pa.RecordBatch | None, error: BaseException | None = None) -> None:
        with self._changed:
            if batch is None:
                self._ended, self._error = error is None, error
            elif not self._closed:
                self._waiting.append(batch)
                self._rows += batch.num_rows
                self._bytes += batch.nbytes
            news, self._available = self._available, _READY
        if not news.done():
            complete(news, None)

    def _has_news(self) -> bool:
        return bool(self._waiting) or self._ended or self._error is not None


class RowInput:
    """The rows of a reader's batches as a task's input: a record for each.

    ``read`` makes the elements of a batch, by default Rows of all columns; ``stamps`` gives the
    timestamps of its records, which have none without it.

    It never says that the input has ended, which is for the task to say: ``on_end()`` is called,
    once, when there is nothing left.

    Threading: the task's thread.
    """

    def __init__(
        self,
        reader: BatchReader,
        on_end: Callable[[], object],
        read: Callable[[pa.RecordBatch], ElementReader] = ElementReader,
        stamps: Callable[[pa.RecordBatch], list[int | None]] | None = None,
    ) -> None:
        self._reader = reader
        self._on_end = on_end
        self._read = read
        self._stamps = stamps
        self._times: list[int | None] | None = None  # of all rows
        self._elements: ElementReader | None = None
        self._at = 0  # how many of them have been made records
        self._block: list[StreamRecord] = []
        self._left: Iterator[StreamRecord] = iter(self._block)
        self._before = 0  # rows before the block
        self.ended = False

    def poll_next(self) -> StreamElement | InputStatus:
        """The next row, a watermark, or how the input stands."""
        for record in self._left:
            return record
        return self._next_block()

    def get_available_future(self) -> Future[None]:
        """A future that is done when there is something to poll."""
        return self._reader.get_available_future()

    def last_row(self) -> tuple[int, Any] | None:
        """Number, from 0, and value of the last row that was taken."""
        index = len(self._block) - length_hint(self._left) - 1
        return None if index < 0 else (self._before + index, self._block[index].value)

    def _next_block(self) -> StreamElement | InputStatus:
        while self._elements is None or self._at == len(self._elements):
            batch = self._reader.poll()
            if batch is None:
                if self._reader.ended() and not self.ended:
                    self.ended = True
                    self._on_end()
                return InputStatus.NOTHING_AVAILABLE
            self._times = None if self._stamps is None else self._stamps(batch)
            self._elements, self._at = self._read(batch), 0
        stop = min(self._at + _BLOCK, len(self._elements))
        self._before += len(self._block)
        values = self._elements.elements(self._at, stop)
        if self._times is None:
            self._block = [StreamRecord(value) for value in values]
        else:
            self._block = list(map(StreamRecord, values, self._times[self._at : stop]))
        self._left = iter(self._block)
        self._at = stop
        return next(self._left)
