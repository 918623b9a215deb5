"""The counters of a run of a keyed operator, reported as results without rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from flinkish.metrics import MetricGroup
from flinkish.spark.keyed.result_rows import COUNTERS, METRICS, Result

__all__ = ["RunCounts"]


class RunCounts:
    """The counters of one run: those of its engine, those of others, and the user's own.

    ``of_engine`` gives the engine's totals.
    """

    def __init__(self, of_engine: Callable[[], dict[str, int]], metrics: MetricGroup) -> None:
        self._of_engine = of_engine
        self._metrics = metrics
        self._added = dict.fromkeys(COUNTERS, 0)
        self._taken = dict.fromkeys(COUNTERS, 0)
        self._own_taken: dict[str, int] = {}

    def add(self, counters: Mapping[str, int]) -> None:
        """Count what was seen outside of the engine."""
        for name, n in counters.items():
            self._added[name] += n

    def totals(self) -> dict[str, int]:
        """The counts since the run began, without the user's own; from any thread."""
        return self._added | self._of_engine()

    def of_job(self, uid: str) -> dict[str, int]:
        """All counts since the run began, by the uid of the operator and a name; see `JobScope`."""
        own = {f"{METRICS}.{name}": n for name, n in self._metrics.counts().items()}
        return {f"{uid}.{name}": n for name, n in (self.totals() | own).items()}

    def take(self) -> dict[str, int]:
        """The same since the last call."""
        totals = self.totals()
        since = {name: total - self._taken[name] for name, total in totals.items()}
        self._taken.update(totals)
        return since

    def result(self, key_group: int, gauges: dict[str, int] | None = None) -> Result:
        """The counts since the last call, with the user's own, as a result of a key group."""
        counts = self._metrics.counts()
        own = {name: n - self._own_taken.get(name, 0) for name, n in counts.items()}
        self._own_taken = counts
        return Result(
            key_group,
            counters=self.take(),
            gauges=gauges,
            metrics=json.dumps(own) if own else None,
        )
