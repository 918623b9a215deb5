"""The functions of an operator, opened and closed with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flinkish.common.notes import add_note, shortened

__all__ = ["OpenedFunctions"]


class OpenedFunctions:
    """Opens functions in their order, closes them in the reverse order, each once.

    A function whose ``open`` raises is closed, too, as in Flink.
    """

    def __init__(self) -> None:
        self._opened: list[Any] = []
        self.at: Any = None  # the one that did not open, unless it is the first

    def open(self, functions: Sequence[Any], runtime_context: Any) -> None:
        """Open each, until one raises."""
        for function in functions:
            self.at = function if self._opened else None
            self._opened.append(function)
            function.open(runtime_context)
        self.at = None

    def close(self) -> None:
        """Close each, whatever the others raise; the first error is raised, the others noted."""
        first: Exception | None = None
        while self._opened:
            function = self._opened.pop()
            try:
                function.close()
            except Exception as error:
                if first is None:
                    first = error
                else:
                    name = type(function).__name__
                    add_note(first, f"close of {name} raised, too: {shortened(error)}")
        if first is not None:
            raise first
