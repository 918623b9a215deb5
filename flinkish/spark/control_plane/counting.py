"""Counters of operators on the driver.

Invariants:
  C1  In a step (an epoch, or a stage of a batch job) a partition has the counters of one attempt:
      those of a later attempt take the place of those before, they are not added.
  C2  What is shown never falls.  While an attempt catches up with one that died, the old figure
      stands; when it has, figures are exact again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from flinkish.spark.control_plane.attempts import Attempt

__all__ = ["CounterLedger", "Counts"]

Counts = dict[str, dict[int, dict[str, int]]]
"""Operator to partition to name to count."""

_STEPS = 16  # of a partition that may still change


@dataclass
class _Line:
    """An operator's partition in one series of steps."""

    settled: Counter[str] = field(default_factory=Counter)  # of steps that are over
    settled_to: int = -1
    steps: dict[int, dict[str, int]] = field(default_factory=dict)
    shown: dict[str, int] = field(default_factory=dict)

    def put(self, step: int, counters: dict[str, int]) -> None:
        if step <= self.settled_to:
            return  # sixteen steps later its attempts are of the past
        self.steps[step] = counters
        while len(self.steps) > _STEPS:
            oldest = min(self.steps)
            self.settled.update(self.steps.pop(oldest))
            self.settled_to = oldest

    def look(self) -> dict[str, int]:
        exact = Counter(self.settled)
        for counters in self.steps.values():
            exact.update(counters)
        for name, count in exact.items():
            self.shown[name] = max(count, self.shown.get(name, count))
        return self.shown


class CounterLedger:
    """What was counted, by query, operator and partition.  Complexity: O(1) a report."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str, int], _Line] = {}

    def put(self, attempt: Attempt, counters: dict[str, int]) -> None:
        """An attempt that is wanted has counted so far."""
        series, step = attempt.step
        key = series, attempt.operator, attempt.partition
        line = self._lines.setdefault(key, _Line())
        line.look()  # what was there to be seen before it is replaced
        line.put(step, counters)

    def counts(self, query: str | None = None) -> Counts:
        """Sums over all queries, or those of one; its id, or "batch"."""
        found: Counts = {}
        for (series, operator, partition), line in sorted(self._lines.items()):
            if query in (None, series):
                sums = found.setdefault(operator, {}).setdefault(partition, {})
                for name, count in line.look().items():
                    sums[name] = sums.get(name, 0) + count
        return found
