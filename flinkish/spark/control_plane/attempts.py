"""Attempts of tasks: what a fencing token is made of."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark import TaskContext

from flinkish.common.errors import IllegalStateError
from flinkish.spark.query_run import run_of

__all__ = ["Attempt", "current_attempt"]


@dataclass(frozen=True)
class Attempt:
    """An operator in one attempt of a Spark task.

    ``run`` is that of a streaming query and ``epoch`` its micro-batch; a stage of a batch job is a
    run of its own, whose ``query`` is empty.  ``number`` counts the attempts of a partition,
    ``task`` is Spark's id of this one: later ones of an application have greater ids.
    """

    application: str
    query: str
    run: str
    epoch: int
    stage: int
    operator: str
    partition: int
    number: int
    task: int

    @property
    def token(self) -> tuple[str, int]:
        """The fencing token: run and epoch."""
        return self.run, self.epoch

    @property
    def step(self) -> tuple[str, int]:
        """A series of steps that each run once, and which of them this belongs to."""
        return (self.query, self.epoch) if self.query else ("batch", self.stage)

    def __str__(self) -> str:
        return (
            f"attempt {self.number} (task {self.task}) of operator {self.operator!r}, partition "
            f"{self.partition}, in epoch {self.epoch} of run {self.run!r}"
        )


def current_attempt(operator: str) -> Attempt:
    """The attempt that this process runs; IllegalStateError outside of Spark's tasks."""
    context = TaskContext.get()
    if context is None:
        raise IllegalStateError(
            f"operator {operator!r} is not in a task of Spark: use the control plane's task() in a "
            "function that a worker runs, for instance one of mapInArrow, or give it an attempt"
        )
    stage = context.stageId()
    query = context.getLocalProperty("sql.streaming.queryId") or ""
    epoch = context.getLocalProperty("streaming.sql.batchId") or ""
    streams = bool(query and epoch)
    run = run_of(context) or query
    return Attempt(
        application=context.getLocalProperty("spark.app.id") or "",
        query=query if streams else "",
        run=run if streams else f"stage-{stage}",
        epoch=int(epoch) if streams else 0,
        stage=stage,
        operator=operator,
        partition=context.partitionId(),
        number=context.attemptNumber(),
        task=context.taskAttemptId(),
    )
