"""Notes on key groups in version files, so that a batch reads only the heads that it needs."""

from __future__ import annotations

from collections.abc import Collection

from flinkish.spark.keyed.group_state import Head, read_head
from flinkish.spark.keyed.plan import OperatorPlan
from flinkish.spark.keyed.result_rows import GAUGES, REPORTS
from flinkish.spark.versions.groups import Note
from flinkish.spark.versions.state import PartitionState

__all__ = ["gauges_of_others", "note_heads"]

_KEY_GROUPS, *_COUNTED = GAUGES


def note_heads(plan: OperatorPlan, state: PartitionState) -> None:
    """Note what the heads say that have been written since the last call.

    For files of an earlier flinkish these are all heads, once.
    """
    for key_group in state.without_note:
        head = read_head(plan, state.use(key_group), key_group)
        assert head is not None
        state.note(_note_of(head))


def _note_of(head: Head) -> Note:
    gauges = head.gauges
    keys, event_timers, processing_timers, log_bytes, table_bytes = (
        gauges[name] for name in _COUNTED
    )
    counts = keys, event_timers, processing_timers, log_bytes, table_bytes
    return Note(head.timer, head.generation, counts)


def gauges_of_others(
    plan: OperatorPlan, state: PartitionState, partition: int, called: Collection[int]
) -> dict[str, int]:
    """The gauges of a partition's key groups that were not called; each is a report."""
    assert plan.partitions is not None
    number, sums = state.counted(plan.state.generation, called)
    groups = range(partition, plan.max_parallelism, plan.partitions)
    return {
        REPORTS: len(groups) - len(called),
        _KEY_GROUPS: number,
        **dict(zip(_COUNTED, sums, strict=True)),
    }
