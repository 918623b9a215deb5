"""Functions at the end of a stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from flinkish.functions.base import Function

__all__ = ["SinkFunction"]


class SinkFunction(Function):
    """Takes each element out of the program, in the task that has it.

    A task that fails runs again, and a micro-batch, too, so ``invoke`` may see an element twice:
    at least once.
    """

    class Context(ABC):
        """The facts of an element that a sink may ask for."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """The event time (ms) of the element; None if it has none."""

        @abstractmethod
        def current_watermark(self) -> int:
            """The watermark (ms), the lowest if the stream shows none."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The time of the machine's clock (ms)."""

    @abstractmethod
    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        """Take an element."""
