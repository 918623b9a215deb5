"""Which run of a streaming query a task belongs to.

Spark says it by the job group alone, which a program may set to something else, as within
`foreachBatch`.  So the driver says it, too, where it can.
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
    """The id of the run: what the driver said of this query, else the job group.

    A thread inherits properties, so those of a query that has started another one are not that
    one's.
    """
    query, _, run = (context.getLocalProperty(RUN) or "").partition(" ")
    if run and query == context.getLocalProperty(_QUERY):
        return run
    return context.getLocalProperty(_JOB_GROUP)
