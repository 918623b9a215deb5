"""Functions of pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from flinkish.functions.base import Function

__all__ = ["ProcessJoinFunction"]


class ProcessJoinFunction(Function):
    """Makes any number of values of two elements that an interval join brings together.

    Flink's class of this name; PyFlink has no interval join.  ``process_element`` is a generator,
    or returns an iterable, or nothing; ``yield tag, value`` is for a side output.
    """

    class Context(ABC):
        """The context of a call with a pair; not to be kept after it."""

        @abstractmethod
        def get_left_timestamp(self) -> int:
            """Event time of the left element, in ms."""

        @abstractmethod
        def get_right_timestamp(self) -> int:
            """Event time of the right element, in ms."""

        @abstractmethod
        def get_timestamp(self) -> int:
            """Event time of the pair, and of what is made of it: the later of the two."""

    @abstractmethod
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Any:
        """Yields what the pair becomes."""
