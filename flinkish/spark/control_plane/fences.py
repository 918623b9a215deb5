"""Which attempts are still wanted.

Invariants:
  F1  Of an application's runs of a query only the last is let in; of a run only the last epoch; of
      a partition, in that epoch, only the last attempt, unless Spark speculates: then all of them,
      since Spark runs them side by side and itself ends those that it needs no more.  "Last" is
      what came last, never what was heard last: Spark numbers the tasks of an application as it
      starts them, so a task with a smaller number than the first of a run belongs to an earlier
      run.
  F2  Who was refused once is refused for ever.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from flinkish.spark.control_plane.attempts import Attempt
from flinkish.spark.control_plane.messages import REFUSED, Verdict

__all__ = ["Fences"]

_RUNS = 1000  # that are remembered; each stage of a batch job is one


@dataclass
class _Query:
    """The last run of a query, and the least number of its tasks."""

    run: str
    first_task: int


@dataclass
class _Run:
    """The last epoch of a run, and the last attempt of each of its partitions."""

    epoch: int = -1
    last: dict[tuple[int, str, int], Attempt] = field(default_factory=dict)


class Fences:
    """Lets attempts in or says why not.

    Complexity: O(1) an attempt; remembers the last 1,000 runs.
    """

    def __init__(self, *, speculation: bool = False) -> None:
        self._speculation = speculation
        self._applications: list[str] = []
        self._queries: dict[str, _Query] = {}
        self._runs: OrderedDict[str, _Run] = OrderedDict()

    def admit(self, attempt: Attempt) -> Verdict | None:
        """None if it is wanted, else a refusal; asking again changes nothing."""
        return (
            self._check_application(attempt)
            or self._check_run(attempt)
            or self._check_epoch(attempt)
            or self._check_attempt(attempt)
        )

    def epoch(self, run: str) -> int:
        """The last epoch of a run; -1 before its first task came."""
        known = self._runs.get(run)
        return -1 if known is None else known.epoch

    def epochs(self) -> dict[str, int]:
        """The last epoch of every run."""
        return {name: run.epoch for name, run in self._runs.items()}

    def _check_application(self, attempt: Attempt) -> Verdict | None:
        name = attempt.application
        if name not in self._applications:
            # Another SparkContext of this driver numbers its tasks anew.
            self._applications.append(name)
            self._queries.clear()
            self._runs.clear()
        elif name != self._applications[-1]:
            latest = self._applications[-1]
            return _refusal(attempt, None, f"application {latest!r} has followed {name!r}")
        return None

    def _check_run(self, attempt: Attempt) -> Verdict | None:
        if not attempt.query:
            return None
        query = self._queries.get(attempt.query)
        if query is None:
            self._queries[attempt.query] = _Query(attempt.run, attempt.task)
        elif query.run == attempt.run:
            query.first_task = min(query.first_task, attempt.task)
        elif attempt.task > query.first_task:
            self._runs.pop(query.run, None)
            self._queries[attempt.query] = _Query(attempt.run, attempt.task)
        else:
            token = query.run, self.epoch(query.run)
            return _refusal(attempt, token, f"the query was started anew as run {query.run!r}")
        return None

    def _check_epoch(self, attempt: Attempt) -> Verdict | None:
        run = self._runs.setdefault(attempt.run, _Run())
        self._runs.move_to_end(attempt.run)
        if len(self._runs) > _RUNS:
            self._runs.popitem(last=False)
        if attempt.epoch < run.epoch:
            token = attempt.run, run.epoch
            return _refusal(attempt, token, f"epoch {run.epoch} of the run has begun")
        if attempt.epoch > run.epoch:
            run.epoch = attempt.epoch
            run.last.clear()
        return None

    def _check_attempt(self, attempt: Attempt) -> Verdict | None:
        if self._speculation:
            return None
        last = self._runs[attempt.run].last
        part = attempt.stage, attempt.operator, attempt.partition
        newest = last.get(part)
        if newest is not None and newest.task > attempt.task:
            why = f"attempt {newest.number} (task {newest.task}) has taken over the partition"
            return _refusal(attempt, attempt.token, why)
        last[part] = attempt
        return None


def _refusal(attempt: Attempt, expected: tuple[str, int] | None, why: str) -> Verdict:
    live = "" if expected is None else f"; the live token is {expected!r}"
    reason = (
        f"{attempt} is refused: {why}. Its token is {attempt.token!r}{live}. Nobody waits for what "
        "it does: it should end"
    )
    return Verdict(REFUSED, reason, expected)
