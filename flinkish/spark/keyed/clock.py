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

from flinkish._core.values.codec import CorruptFrame, NewerFrame, seal, unseal
from flinkish.common.formats import newer_format
from flinkish.spark.keyed.group_state import HEAD, corrupt_state, stored_head
from flinkish.spark.keyed.plan import OperatorPlan

__all__ = ["clock_head", "last_watermark"]

KIND_CLOCK = 11
CLOCK_FORMAT = 1


def clock_head(batch: int | None, watermark: int) -> bytes:
    """The head of a clock that saw this watermark (Flink's, in ms) in this batch."""
    text = json.dumps({"batch": batch, "watermark": watermark}).encode()
    return seal(KIND_CLOCK, CLOCK_FORMAT, 0, text)


def last_watermark(plan: OperatorPlan, log: Any, batch: int | None, watermark: int) -> int | None:
    """The watermark (Flink's, in ms) of the batch before; this one's is kept for the next.

    ``log`` is the clock's map.  None if the clock was not called in the batch before: it is that of
    a new operator, or of a checkpoint from before there were clocks.
    """
    stored = stored_head(log)
    log.updateValue(HEAD, (clock_head(batch, watermark), False))
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
