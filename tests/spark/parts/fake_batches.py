"""Stands for the iterator that Spark hands a Python worker: it blocks until it is told to go on."""

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from tests.spark.task_operators import NUMBERS


def numbers(*values: int) -> pa.RecordBatch:
    return pa.record_batch([pa.array(values, pa.int64())], schema=NUMBERS)


class Feed(Iterator[pa.RecordBatch]):
    """Batches that a test puts; `None` is the end, an exception is raised."""

    def __init__(self, *batches: Any, end: bool = False) -> None:
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.drawn = 0  # batches that were taken
        self.waiting = threading.Event()  # somebody waits in here
        self.thread: threading.Thread | None = None
        self._ended = False
        for batch in batches:
            self.put(batch)
        if end:
            self.put(None)

    def put(self, batch: Any) -> None:
        self._queue.put(batch)

    def put_all(self, batches: Iterable[Any]) -> None:
        for batch in batches:
            self.put(batch)

    def __next__(self) -> pa.RecordBatch:
        assert not self._ended, "read behind the end, where Spark's own code goes on"
        self.thread = threading.current_thread()
        if self._queue.empty():
            self.waiting.set()
        batch = self._queue.get()
        self.waiting.clear()
        if batch is None:
            self._ended = True
            raise StopIteration
        if isinstance(batch, BaseException):
            raise batch
        self.drawn += 1
        return batch
