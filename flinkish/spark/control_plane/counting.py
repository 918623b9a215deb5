"""Counters of operators on the driver.

Invariants:
  C1  In a step (an epoch, or a stage of a batch job) a partition has the counters of one attempt:
      those of a later attempt take the place of those before, they are not added.  If Spark
      speculates, attempts run side by side: the first that ends well is the one, and until then
      the latest that has not failed.
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
class _Step:
    """The attempt that a step's counters are of; how it ended, None while it runs."""

    run: str
    task: int
    counters: dict[str, int]
    ended: bool | None

    def stands(self, new: _Step, speculation: bool) -> bool:
        """Whether it stays when that attempt says how far it is."""
        if new.run != self.run or new.task == self.task or self.ended is False:
            return False  # reports of an earlier run are refused
        if speculation and (self.ended or new.ended):
            return bool(self.ended)
        return new.task < self.task


@dataclass
class _Line:
    """An operator's partition in one series of steps."""

    settled: Counter[str] = field(default_factory=Counter)  # of steps that are over
    settled_to: int = -1
    steps: dict[int, _Step] = field(default_factory=dict)
    shown: dict[str, int] = field(default_factory=dict)

    def put(self, step: int, new: _Step, speculation: bool) -> None:
        if step <= self.settled_to:
            return  # sixteen steps later its attempts are of the past
        known = self.steps.get(step)
        if known is not None and known.stands(new, speculation):
            return
        self.steps[step] = new
        while len(self.steps) > _STEPS:
            oldest = min(self.steps)
            self.settled.update(self.steps.pop(oldest).counters)
            self.settled_to = oldest

    def look(self) -> dict[str, int]:
        exact = Counter(self.settled)
        for step in self.steps.values():
            exact.update(step.counters)
        for name, count in exact.items():
            self.shown[name] = max(count, self.shown.get(name, count))
        return self.shown


class CounterLedger:
    """Counts by query, operator and partition.  Complexity: O(1) a report."""

    def __init__(self, *, speculation: bool = False) -> None:
        self._speculation = speculation
        self._lines: dict[tuple[str, str, int], _Line] = {}

    def put(self, attempt: Attempt, counters: dict[str, int], ended: bool | None = None) -> None:
        """An attempt that is wanted has counted so far; ``ended`` is whether it ended well."""
        series, step = attempt.step
        key = series, attempt.operator, attempt.partition
        line = self._lines.setdefault(key, _Line())
        line.look()  # what was there to be seen before it is replaced
        line.put(step, _Step(attempt.run, attempt.task, counters, ended), self._speculation)

    def counts(self, query: str | None = None) -> Counts:
        """Sums over all queries, or those of one; its id, or "batch"."""
        found: Counts = {}
        for (series, operator, partition), line in sorted(self._lines.items()):
            if query in (None, series):
                sums = found.setdefault(operator, {}).setdefault(partition, {})
                for name, count in line.look().items():
                    sums[name] = sums.get(name, 0) + count
        return found
