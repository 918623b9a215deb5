"""The elements of a stream that a job gives as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any

from flinkish.common.jobs import RunningJob

__all__ = ["CloseableIterator", "elements_of"]


class CloseableIterator(Iterator[Any]):
    """An iterator whose end, or `close`, ends what it reads from; use it in a ``with``."""

    def __init__(self, values: Iterator[Any], close: Callable[[], None]) -> None:
        self._values = values
        self._close: Callable[[], None] | None = close

    def __iter__(self) -> CloseableIterator:
        return self

    def __next__(self) -> Any:
        if self._close is None:
            raise StopIteration
        try:
            return next(self._values)
        except BaseException:
            self.close()
            raise

    def next(self) -> Any:
        """The next element; StopIteration after the last one."""
        return next(self)

    def close(self) -> None:
        """End the job; calls after the first do nothing."""
        close, self._close = self._close, None
        if close is not None:
            close()

    def __enter__(self) -> CloseableIterator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def elements_of(job: RunningJob, queue: SimpleQueue[Any]) -> CloseableIterator:
    """The elements that a job puts into a queue as they come, then its error if that was its end.

    To close it cancels the job, unless it has ended.
    """

    def taken() -> Iterator[Any]:
        while True:
            ended = job.status().is_terminal_state()
            try:
                yield queue.get(timeout=0 if ended else 0.05)
            except Empty:
                if ended:
                    break
        job.wait()

    def end() -> None:
        if not job.status().is_terminal_state():
            job.cancel()

    return CloseableIterator(taken(), end)
