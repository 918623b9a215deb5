"""The driver's knowledge of its workers; sans I/O, time (ms, monotonic) is an argument."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from flinkish.spark.control_plane.attempts import Attempt
from flinkish.spark.control_plane.counting import CounterLedger
from flinkish.spark.control_plane.fences import Fences
from flinkish.spark.control_plane.messages import (
    CANCEL,
    DRAIN,
    Beat,
    BeatReply,
    TaskReport,
    Verdict,
    WorkerIdentity,
)

__all__ = ["PlaneLedger", "TaskInfo", "WorkerInfo"]


@dataclass(frozen=True)
class TaskInfo:
    """A task that a worker runs; ``since_ms`` since the epoch, by the driver's clock."""

    operator: str
    partition: int
    run: str
    epoch: int
    attempt: int
    since_ms: int


@dataclass(frozen=True)
class WorkerInfo:
    """A worker that is alive: a Python process of Spark's; times in ms since the epoch."""

    worker: str
    host: str
    pid: int
    since_ms: int
    last_seen_ms: int
    settings_version: int
    tasks: tuple[TaskInfo, ...]


@dataclass
class _Worker:
    identity: WorkerIdentity
    since_ms: int
    seen_ms: int = 0
    version: int = 0
    tasks: dict[tuple[int, str], tuple[Attempt, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Order:
    kind: str
    reason: str
    last: dict[str, int]  # the epoch after which a run has none, when it drains


class PlaneLedger:
    """Workers, their tasks and counters; orders and settings for them.

    Threading: one thread at a time.  Complexity: a beat O(its tasks).
    """

    def __init__(self, timeout_ms: int, *, speculation: bool = False) -> None:
        self.fences = Fences(speculation=speculation)
        self.counters = CounterLedger(speculation=speculation)
        self.settings: dict[str, Any] = {}
        self.version = 0
        self._timeout_ms = timeout_ms
        self._workers: dict[str, _Worker] = {}
        self._orders: dict[tuple[str | None, str | None], _Order] = {}

    # --- workers

    def beat(self, beat: Beat, now_ms: int) -> BeatReply:
        """Take in what a worker says of itself; it need not be known."""
        known = self._workers.get(beat.identity.worker)
        if known is None:
            known = self._workers[beat.identity.worker] = _Worker(beat.identity, now_ms)
        known.seen_ms, known.version = now_ms, beat.version
        before, known.tasks = known.tasks, {}
        verdicts = []
        for report in beat.tasks:
            verdicts.append(self._report(report))
            if report.ended is None:
                key = report.attempt.task, report.attempt.operator
                known.tasks[key] = report.attempt, before.get(key, (None, now_ms))[1]
        news = dict(self.settings) if beat.version != self.version else None
        return BeatReply(verdicts, self.version, news)

    def _report(self, report: TaskReport) -> Verdict:
        refusal = self.fences.admit(report.attempt)
        if refusal is not None:
            return refusal
        # One that failed leaves its counts until the next attempt has its own.
        self.counters.put(report.attempt, report.counters, report.ended)
        return self._ordered(report.attempt)

    def lose(self, worker: str) -> bool:
        """A worker's connection is lost; whether it was known."""
        return self._workers.pop(worker, None) is not None

    def expire(self, now_ms: int) -> list[str]:
        """Forget workers that were silent for too long, and name them."""
        silent = [
            name
            for name, known in self._workers.items()
            if now_ms - known.seen_ms > self._timeout_ms
        ]
        for name in silent:
            del self._workers[name]
        return silent

    def workers(self, now_ms: int, wall_ms: int) -> list[WorkerInfo]:
        """Those that are alive, the oldest first; ``wall_ms`` is now since the epoch."""
        epoch = wall_ms - now_ms
        return [
            WorkerInfo(
                worker=known.identity.worker,
                host=known.identity.host,
                pid=known.identity.pid,
                since_ms=known.since_ms + epoch,
                last_seen_ms=known.seen_ms + epoch,
                settings_version=known.version,
                tasks=tuple(
                    TaskInfo(
                        operator=attempt.operator,
                        partition=attempt.partition,
                        run=attempt.run,
                        epoch=attempt.epoch,
                        attempt=attempt.number,
                        since_ms=since_ms + epoch,
                    )
                    for attempt, since_ms in known.tasks.values()
                ),
            )
            for known in self._workers.values()
        ]

    # --- orders

    def order(self, run: str | None, operator: str | None, kind: str, reason: str) -> None:
        """Cancel or drain operators: of a run, of a name, or all."""
        self._orders[run, operator] = _Order(kind, reason, self.fences.epochs())

    def lift(self, run: str | None, operator: str | None) -> None:
        """Take an order back, which was given in the same words."""
        self._orders.pop((run, operator), None)

    def _ordered(self, attempt: Attempt) -> Verdict:
        draining = Verdict()
        for run in (None, attempt.run):
            for operator in (None, attempt.operator):
                order = self._orders.get((run, operator))
                if order is None:
                    continue
                if order.kind == CANCEL:
                    return Verdict(CANCEL, f"{attempt} was cancelled: {order.reason}")
                last = order.last.get(attempt.run, -1)
                if attempt.epoch > last:
                    after = f"after epoch {last}" if last >= 0 else "before its first task"
                    why = f"{attempt} may not begin: the run is drained {after}: {order.reason}"
                    return Verdict(CANCEL, why)
                draining = Verdict(DRAIN, order.reason)
        return draining

    # --- settings

    def set(self, name: str, value: Any) -> None:
        """Change a setting; workers hear of it with their next beat."""
        self.settings[name] = value
        self.version += 1
