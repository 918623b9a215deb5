"""Sources and sinks that `from_source` and `sink_to` take."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from flinkish.common.errors import IllegalArgumentError
from flinkish.common.typeinfo import TypeInformation
from flinkish.environment.nodes import Act

if TYPE_CHECKING:
    from flinkish.spark.jobs.inputs import Input

__all__ = ["NumberSequenceSource", "Sink", "Source"]


class Source(ABC):
    """A description of where elements come from."""

    @abstractmethod
    def input(self) -> Input:
        """The rows that a job reads."""


class Sink(ABC):
    """A description of where elements go to."""

    @abstractmethod
    def writer(self, kind: TypeInformation | None) -> Act:
        """What writes the elements, of this type, of a round."""


class NumberSequenceSource(Source):
    """The integers from ``start`` to ``end``, both included, as LONG."""

    def __init__(self, start: int, end: int) -> None:
        if start > end:
            raise IllegalArgumentError(f"the sequence must not end at {end}, before {start}")
        self._start, self._end = start, end

    def input(self) -> Input:
        """Numbers in order."""
        from flinkish.spark.jobs.inputs import NumbersInput

        return NumbersInput(self._start, self._end)
