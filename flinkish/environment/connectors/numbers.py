"""Numbers as a source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkish.common.errors import IllegalArgumentError
from flinkish.common.typeinfo import TypeInformation, Types
from flinkish.environment.connectors.base import Source

if TYPE_CHECKING:
    from flinkish.spark.jobs.inputs import Input

__all__ = ["NumberSequenceSource"]


class NumberSequenceSource(Source):
    """The integers from ``start`` to ``end``, both included, as LONG."""

    def __init__(self, start: int, end: int) -> None:
        if start > end:
            raise IllegalArgumentError(f"the sequence must not end at {end}, before {start}")
        self._start, self._end = start, end

    def get_produced_type(self) -> TypeInformation:
        """The type of long integers."""
        return Types.LONG()

    def input(self) -> Input:
        """The numbers in order."""
        from flinkish.spark.jobs.inputs import NumbersInput

        return NumbersInput(self._start, self._end)
