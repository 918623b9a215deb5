"""The batch that a task belongs to, as its worker can know it.

Spark tells a task which query, run and batch it is of in local properties, and the batch's time and
watermark in the offset log of the checkpoint.  Where the checkpoint is, the driver says: by a local
property, too, or in the operator's settings.  It also says which run it is (`query_run`), and why
a query cannot have such state.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pyspark import TaskContext

from flinkish.common.errors import (
    IllegalArgumentError,
    IllegalStateError,
    UnsupportedOperationError,
)
from flinkish.common.file_systems import file_system_of_spark_path
from flinkish.spark.query_run import run_of

__all__ = ["CHECKPOINT", "REFUSED", "Batch", "current_batch"]

# The local property with the location of the query's checkpoint; `located` sets it.
CHECKPOINT = "flinkish.checkpoint"
# The local property with the reason why a query is refused; empty for one that is not.
REFUSED = "flinkish.refused"


@dataclass(frozen=True)
class Batch:
    """One attempt of a task of a micro-batch; times in ms."""

    checkpoint: str
    run: str
    number: int
    tag: int
    parent_tag: int | None
    partition: int
    attempt: int
    retained: int

    @property
    def now(self) -> int:
        """The time of the batch: the same each time that it is run."""
        return self.tag


def current_batch(checkpoint: str | None, tag: int | None = None) -> Batch:
    """The batch of this task, whose checkpoint is the given one unless the driver said.

    ``tag`` is its time (ms) if that is not in the offset log yet.

    ``partition`` is the number of Spark's task.

    IllegalArgumentError if the checkpoint is not known, IllegalStateError outside of a stream,
    UnsupportedOperationError for a query that the driver refuses.
    """
    context = TaskContext.get()
    said = {name: context.getLocalProperty(name) if context else None for name in _PROPERTIES}
    number, run = said["streaming.sql.batchId"], None if context is None else run_of(context)
    if context is None or number is None or run is None:
        raise IllegalStateError(
            "state versioned by batch is for tasks of a streaming query, and this task is of none: "
            "a thread that a foreachBatch function starts does not inherit what Spark says of the "
            "query, so run the DataFrame on the function's own thread, start the thread as "
            "pyspark.InheritableThread, or write with the stream's foreach_batch"
        )
    if said[REFUSED]:
        raise UnsupportedOperationError(said[REFUSED])
    location = checkpoint or said[CHECKPOINT]
    if location is None:
        raise IllegalArgumentError(
            "the worker does not know where the query's checkpoint is (on Spark Connect nobody "
            "tells it): give the operator state=StateSettings(backend='versioned', "
            "checkpoint=...), the same location as the writer's checkpointLocation"
        )
    batch = int(number)
    return Batch(
        location,
        run.replace("-", ""),
        batch,
        _time_of(location, run, batch) if tag is None else tag,
        _time_of(location, run, batch - 1) if batch else None,
        context.partitionId(),
        context.taskAttemptId(),
        int(said["spark.sql.streaming.minBatchesToRetain"] or 100),
    )


_PROPERTIES = (
    "streaming.sql.batchId",
    "spark.sql.streaming.minBatchesToRetain",
    CHECKPOINT,
    REFUSED,
)


@lru_cache(maxsize=64)
def _time_of(checkpoint: str, run: str, batch: int) -> int:
    """The time (ms) of a batch in the offset log; within a run an entry does not change."""
    file_system, directory = file_system_of_spark_path(checkpoint, "a checkpoint")
    path = f"{directory}/offsets/{batch}"
    try:
        with file_system.open_input_file(path) as file:
            lines = file.read().decode().splitlines()
        metadata: dict[str, Any] = json.loads(lines[1])
        return int(metadata["batchTimestampMs"])
    except FileNotFoundError as error:
        raise IllegalArgumentError(
            f"the checkpoint at {checkpoint!r} has no offsets of batch {batch}, which runs now: "
            "the operator's StateSettings(checkpoint=...) must be the query's checkpointLocation, "
            "and a file system that workers reach; the writer's option "
            "asyncProgressTrackingEnabled, with which Spark writes them later, must be left out, "
            "and trigger(realTime=...) is for operators of a session with real_time=True"
        ) from error
    except (IndexError, KeyError, ValueError) as error:
        raise IllegalStateError(
            f"the entry {path} of Spark's offset log cannot be read ({error!r}); this release of "
            "Spark may write it in another form: take StateSettings(backend='store')"
        ) from error
