"""Which run of a streaming query a task belongs to.

Spark itself says it only by the job group, which a program may change, as within `foreachBatch`.
So the driver also sets a local property where it can.
"""

from __future__ import annotations

from pyspark import TaskContext

__all__ = ["RUN", "run_of", "told_run"]

# The local property with the ids of a query and of its run.
RUN = "flinkish.run"

_QUERY = "sql.streaming.queryId"
_JOB_GROUP = "spark.jobGroup.id"


def told_run(query_id: str, run_id: str) -> str:
    """The value of RUN."""
    return f"{query_id} {run_id}"


def run_of(context: TaskContext) -> str | None:
    """The id of the run: the one that the driver set for this query, else the job group.

    A thread inherits properties: a query that another query's thread started has those of the
    other, which do not count.
    """
    query, _, run = (context.getLocalProperty(RUN) or "").partition(" ")
    if run and query == context.getLocalProperty(_QUERY):
        return run
    return context.getLocalProperty(_JOB_GROUP)
