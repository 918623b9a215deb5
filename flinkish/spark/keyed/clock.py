"""The watermark of the batch before, for the rows that come before this batch's.

Rows that an operator makes on the way to a watermark reach the next operator before that watermark
does.  There the one of the batch before is current still.  Spark hands each batch its own
watermark only, and a key group that changes nothing writes nothing.  So each partition of an
operator that follows another keeps a clock in Spark's state: the watermark that its last batch
saw.  It is a group of its own, which Spark calls first (see `placement`).
"""

from __future__ import annotations

import json
from typing import Any

from pyspark import TaskContext

from flinkish._core.values.codec import CorruptFrame, NewerFrame, seal, unseal
from flinkish.common.formats import newer_format
from flinkish.spark.keyed.group_state import HEAD, corrupt_state, stored_head
from flinkish.spark.keyed.placement import clock_slot
from flinkish.spark.keyed.plan import OperatorPlan

__all__ = ["batch_id", "last_watermark", "own_clock"]

KIND_CLOCK = 11
CLOCK_FORMAT = 1

# In tasks of a query that runs again Spark's own setting, which a program may have changed since,
# is not the number of partitions; the first of these is, where Spark has it.
_PARTITIONS = ("spark.sql.streaming.internal.stateStore.partitions", "spark.sql.shuffle.partitions")
_SPARKS_DEFAULT = "200"


def batch_id(context: TaskContext | None) -> int | None:
    """The number of the micro-batch that a task belongs to; None of a task of no stream."""
    found = context.getLocalProperty("streaming.sql.batchId") if context else None
    return None if found is None else int(found)


def own_clock(context: TaskContext) -> int | None:
    """The slot of the clock that this task has to call: all tasks before an operator call all.

    They are as many as the operator's partitions, since those of the operator before it are, and
    numbered in a row.
    """
    found = (context.getLocalProperty(name) for name in _PARTITIONS)
    partitions = int(next(filter(None, found), _SPARKS_DEFAULT))
    return clock_slot(context.partitionId() % partitions, partitions)


def last_watermark(plan: OperatorPlan, log: Any, batch: int | None, watermark: int) -> int | None:
    """The watermark (Flink's, in ms) of the batch before; this one's is kept for the next.

    ``log`` is the clock's map.  None if the clock was not called in the batch before: it is that of
    a new operator, or of a checkpoint from before there were clocks.
    """
    stored = stored_head(log)
    text = json.dumps({"batch": batch, "watermark": watermark}).encode()
    log.updateValue(HEAD, (seal(KIND_CLOCK, CLOCK_FORMAT, 0, text), False))
    if stored is None or batch is None:
        return None
    try:
        found = json.loads(bytes(unseal(stored[0], KIND_CLOCK, 0, version=CLOCK_FORMAT)))
    except CorruptFrame as error:
        raise corrupt_state(plan, str(error), CLOCK_FORMAT, None) from error
    except NewerFrame as error:
        raise newer_format(error, f"the checkpoint of operator {plan.uid!r}") from error
    known: int = found["watermark"]
    return known if found["batch"] == batch - 1 else None
