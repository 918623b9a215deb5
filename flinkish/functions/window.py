"""Functions of windows: called with the elements, or with the one result, of a window that fires.

They are generators, or return an iterable, or nothing.  A plain value goes to the output; a pair
of an OutputTag and a value goes to that side output.  Both have the window's last time (Flink:
WindowOperator).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic

from flinkish.common.type_variables import IN, KEY, OUT, W2, W
from flinkish.functions.base import Function
from flinkish.functions.runtime_context import KeyedStateStore

__all__ = [
    "AllWindowFunction",
    "ProcessAllWindowFunction",
    "ProcessWindowFunction",
    "WindowFunction",
]


class _WindowContext(ABC, Generic[W]):
    """The context of a call of ``process`` or ``clear``; not to be kept after it."""

    @abstractmethod
    def window(self) -> W:
        """The window."""

    @abstractmethod
    def window_state(self) -> KeyedStateStore:
        """States of the window, which ``clear`` has to clear.

        UnsupportedOperationError for windows that merge (Flink: WindowOperator).
        """

    @abstractmethod
    def global_state(self) -> KeyedStateStore:
        """States that all windows of the key share."""


class WindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Makes any number of values of the elements of a window."""

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Any:
        """Yields what the elements of ``window`` become."""


class AllWindowFunction(Function, Generic[IN, OUT, W]):
    """Makes any number of values of the elements of a window; there are no keys."""

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Any:
        """Yields what the elements of ``window`` become."""


class ProcessWindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Makes any number of values of the elements of a window; knows time and has state."""

    class Context(_WindowContext[W2]):
        """The context of a call of ``process`` or ``clear``."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The clock, in ms."""

        @abstractmethod
        def current_watermark(self) -> int:
            """How far event time has come, in ms."""

    @abstractmethod
    def process(
        self, key: KEY, context: ProcessWindowFunction.Context[W], elements: Iterable[IN]
    ) -> Any:
        """Yields what the elements of ``context.window()`` become."""

    def clear(self, context: ProcessWindowFunction.Context[W]) -> None:
        """Called when the window is forgotten: clear its state here."""


class ProcessAllWindowFunction(Function, Generic[IN, OUT, W]):
    """Makes any number of values of the elements of a window; there are no keys."""

    class Context(_WindowContext[W2]):
        """The context of a call of ``process`` or ``clear``."""

    @abstractmethod
    def process(self, context: ProcessAllWindowFunction.Context[W], elements: Iterable[IN]) -> Any:
        """Yields what the elements of ``context.window()`` become."""

    def clear(self, context: ProcessAllWindowFunction.Context[W]) -> None:
        """Called when the window is forgotten: clear its state here."""
