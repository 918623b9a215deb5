"""Counts of tasks, which Spark brings to the driver when a batch ends."""

from __future__ import annotations

from collections import Counter

from pyspark import AccumulatorParam

__all__ = ["SumOfCounts"]


class SumOfCounts(AccumulatorParam[dict[str, int]]):
    """Sums by name, for an accumulator of Spark's."""

    def zero(self, value: dict[str, int]) -> dict[str, int]:
        """Nothing counted."""
        return {}

    def addInPlace(self, value1: dict[str, int], value2: dict[str, int]) -> dict[str, int]:
        """The sums of two; a name that is in one of them stays, whatever its count."""
        total = Counter(value1)
        total.update(value2)
        return dict(total)
