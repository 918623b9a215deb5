"""The elements of a stream that a job gives as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

__all__ = ["CloseableIterator"]


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
