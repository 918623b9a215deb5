"""The task of a keyed operator over all rows of bounded inputs, as in Flink's streaming mode.

The rows of a partition are of one key group, so they come in order of arrival.  While they are
handled the watermark is the lowest; after the last one it is the highest, as at the end of any
bounded source of Flink's, and all timers on event time fire.  Timers on processing time fire if
they are due by then; Flink, too, drops the others when its sources have ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from flinkish._core.state.table import StateTable
from flinkish.common.timestamps import MAX_TIMESTAMP, MIN_TIMESTAMP
from flinkish.spark.keyed.ends import inputs_by_partition
from flinkish.spark.keyed.operator_run import OperatorRun
from flinkish.spark.keyed.packing import NULL_KEY_GROUP, Batches
from flinkish.spark.keyed.plan import AFTER_WATERMARK, BEFORE_WATERMARK, OperatorPlan
from flinkish.spark.keyed.result_rows import Result, result_batch
from flinkish.spark.keyed.versioned import in_order

__all__ = ["bounded_runner"]


def bounded_runner(plan: OperatorPlan) -> Callable[[Batches], Batches]:
    """The function for `mapInArrow` that runs the operator over packed rows."""

    def run(batches: Batches) -> Batches:
        payloads = {
            key_group: rows
            for share in inputs_by_partition(batches, plan.partitions or 1).values()
            for key_group, rows in share.payloads.items()
        }
        if not payloads:
            return
        key_group = max(payloads)  # of rows with keys there is one
        with plan.strategy.open_run(plan, StateTable(max(key_group, 0))) as opened:
            lost = in_order(payloads.pop(NULL_KEY_GROUP, []))
            for result in _results(opened, lost, payloads.items()):
                yield result_batch([result])

    run.__name__ = f"run {plan.uid}"  # in Spark's plans
    return run


def _results(
    run: OperatorRun,
    lost: list[bytes],
    groups: Iterable[tuple[int, list[tuple[int, int, int, bytes]]]],
) -> Iterator[Result]:
    """All that comes of the rows of the key groups of a task, of which there is one at most."""
    if lost:
        yield from run.route_null_keys(run.unpack(lost))
    for key_group, rows in groups:
        run.check()
        run.begin(key_group, MIN_TIMESTAMP, _now())
        yield from run.process(in_order(rows), BEFORE_WATERMARK)
        yield from run.take_outputs(BEFORE_WATERMARK)
        # The function sees the time up to which timers fire, so a timer that it registers for a
        # later time is not due.
        run.table.processing_time = now = _now()
        yield from run.advance(MAX_TIMESTAMP, now, AFTER_WATERMARK)
        yield from run.take_outputs(AFTER_WATERMARK)
        yield run.counts.result(key_group)


def _now() -> int:
    return time.time_ns() // 1_000_000
