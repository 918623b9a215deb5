"""The task of a keyed operator whose state is versioned by batch.

Rows are handled at the watermark before the batch; then the marks that came with them move it, and
timers that are due fire in the same batch.  The new state is written at the end of the input, and
counts if the batch is committed (see `flinkish.spark.versions.names`).

A task works on the partitions whose rows it has, each under the partition's own name: see
`flinkish.spark.keyed.ends`.  There is one partition, unless Spark's plan has been reshaped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from flinkish.common.errors import IllegalStateError, UnsupportedOperationError
from flinkish.spark.channels import Mark
from flinkish.spark.internals import input_is_whole
from flinkish.spark.keyed.checkpoint_settings import check_settings
from flinkish.spark.keyed.counted_rows import Counts
from flinkish.spark.keyed.ends import Payloads, Share, inputs_by_partition
from flinkish.spark.keyed.group_call import Clock, call_group
from flinkish.spark.keyed.group_state import (
    GroupState,
    Head,
    open_tables,
)
from flinkish.spark.keyed.marks import MARK_TAG, mark_payload, read_mark
from flinkish.spark.keyed.notes import gauges_of_others, note_heads
from flinkish.spark.keyed.operator_run import OperatorRun
from flinkish.spark.keyed.output_rows import Reader
from flinkish.spark.keyed.packing import (
    NULL_KEY_GROUP,
    SETTINGS_GROUP,
)
from flinkish.spark.keyed.plan import MARK, OperatorPlan
from flinkish.spark.keyed.result_rows import Result, result_batch
from flinkish.spark.mapped_frame import Batches, MapBatches
from flinkish.spark.versions.batch import Batch, current_batch
from flinkish.spark.versions.directory import VersionDirectory
from flinkish.spark.versions.loading import load
from flinkish.spark.versions.purge import purge
from flinkish.spark.versions.state import PartitionState

__all__ = ["in_order", "output_runner", "version_runner"]

_NUMBERED = (
    "operator {0!r} has no input in this batch, so each task takes the partition with its own "
    "number, and {1}: Spark numbers tasks after those of another part of the query, as in a union "
    "of DataFrames, or runs several partitions in one task, as after coalesce(). Unite the streams "
    "with DataStream.union, or call repartition() on the DataFrame of the operator's output first"
)

_CUT = {
    False: "the input of operator {0!r} ended before its end: Spark has given this attempt of the "
    "task up, so nothing of it counts",
    None: "this release of Spark does not show operator {0!r} whether its input came to its end or "
    "was cut short, so its state could be that of a part: take StateSettings(backend='store')",
}


def version_runner(plan: OperatorPlan) -> MapBatches:
    """The function for `mapInArrow` that runs the operator over packed rows; it gives results."""

    def run(batches: Batches) -> Batches:
        return (result_batch([result]) for result in _results(plan, batches))

    run.__name__ = f"run {plan.uid}"  # in Spark's plans
    return run


def output_runner(plan: OperatorPlan, reader: Reader, counts: Counts) -> MapBatches:
    """The function for `mapInArrow` that runs the operator and gives the outputs that are read.

    All that is counted is added to ``counts``.
    """

    def run(batches: Batches) -> Batches:
        for result in _results(plan, batches):
            counts.add(result)
            rows = reader.read(result.tag, result.phase, result.given)
            if rows is not None:
                yield rows

    run.__name__ = f"run {plan.uid}, {reader.name(plan.uid)}"  # in Spark's plans
    return run


def _results(plan: OperatorPlan, batches: Batches) -> Iterator[Result]:
    """The results of the partitions of this task; the state of each is written after its last."""
    assert plan.partitions is not None
    inputs = inputs_by_partition(batches, plan.partitions)
    if not (whole := input_is_whole()):
        raise IllegalStateError(_CUT[whole].format(plan.uid))
    batch = current_batch(plan.state.checkpoint)
    if not inputs:
        inputs = {_number_of_task(plan, batch): Share()}
    for partition, share in inputs.items():
        share.check(plan, partition, batch.tag)
        yield from _run_partition(plan, replace(batch, partition=partition), share)


def _run_partition(plan: OperatorPlan, batch: Batch, share: Share) -> Iterator[Result]:
    """Run the operator over a partition, and write its state."""
    partitions = plan.partitions
    assert partitions is not None
    directory = VersionDirectory(batch.checkpoint, plan.uid)
    state = load(directory, batch, partitions, plan.defined_ms, plan.uid, plan.definition[:8])
    try:
        yield from _Partition(plan, batch, state).process(share.payloads, share.marks)
        state.commit(batch.number - batch.retained)
    except BaseException:
        state.abandon()
        raise
    purge(directory, batch, partitions)


def _number_of_task(plan: OperatorPlan, batch: Batch) -> int:
    """The partition that a task without any input stands for (E5)."""
    assert plan.partitions is not None
    own = batch.partition
    if own >= plan.partitions:
        # If the tasks' numbers do not begin at 0, the last task gets here, so the batch fails.
        why = f"this is number {own}, from 0, of {plan.partitions} partitions"
        raise UnsupportedOperationError(_NUMBERED.format(plan.uid, why))
    written = VersionDirectory(batch.checkpoint, plan.uid).names(batch.number + 1)
    if any(
        (one.run, one.partition, one.attempt) == (batch.run, own, batch.attempt) for one in written
    ):
        why = f"task {own} has written its state already"
        raise UnsupportedOperationError(_NUMBERED.format(plan.uid, why))
    return own


class _Partition:
    """The key groups of a partition in one batch."""

    def __init__(self, plan: OperatorPlan, batch: Batch, state: PartitionState) -> None:
        self._plan = plan
        self._batch = batch
        self._state = state
        self._run: OperatorRun | None = None
        self._groups: GroupState | None = None
        self._held: Counter[str] = Counter()

    def process(self, payloads: Payloads, marks: list[bytes]) -> Iterator[Result]:
        """Handle rows, move the watermark, fire timers; what is counted and held comes last."""
        plan, state = self._plan, self._state
        progress = state.progress
        seen = progress.watermark
        channels = [one.channels if one.timed else () for one in plan.inputs]
        progress.move(channels, map(read_mark, marks), self._batch.now)
        watermark = progress.watermark
        clock = Clock(seen, watermark, self._batch.now)
        note_heads(plan, state)
        check_settings(plan, state.use(SETTINGS_GROUP))
        # Processing time is Spark's own; of event time Spark's timers count one more.
        due = state.timers(clock.now if plan.processing_time else clock.watermark + 1)
        called = sorted({*payloads, *due} - {NULL_KEY_GROUP})
        try:
            if called or NULL_KEY_GROUP in payloads:
                run = self._opened()
                if lost := payloads.get(NULL_KEY_GROUP):
                    yield from run.route_null_keys(run.unpack(in_order(lost)))
                for key_group in called:
                    yield from self._call(run, key_group, clock, payloads.get(key_group, []))
        except BaseException as error:
            self._end(error)
            raise
        counts = self._end(None)
        note_heads(plan, state)
        self._held.update(gauges_of_others(plan, state, self._batch.partition, called))
        yield replace(counts, gauges=dict(self._held))
        if plan.has_watermark:
            said = None if progress.is_idle else watermark
            yield Result(SETTINGS_GROUP, MARK, MARK_TAG, mark=mark_payload(Mark(said)))

    def _opened(self) -> OperatorRun:
        """The operator, opened for this task, and its states compared with the checkpoint's."""
        run: OperatorRun = self._plan.strategy.open_run(self._plan, subtask=self._batch.partition)
        self._run = run
        tables = open_tables(self._plan, run.query_id)
        self._groups = GroupState(self._plan, run.backend, self._state, tables)
        check_settings(self._plan, self._state.use(SETTINGS_GROUP), lambda: run.backend)
        return run

    def _call(
        self, run: OperatorRun, key_group: int, clock: Clock, rows: list[Any]
    ) -> Iterator[Result]:
        assert self._groups is not None
        self._state.use(key_group)

        def timer_of(_: Head | None) -> int | None:
            return run.next_wake_up(clock.now)

        yield from call_group(run, self._groups, key_group, clock, in_order(rows), (), timer_of)
        self._held.update(self._groups.gauges)

    def _end(self, error: BaseException | None) -> Result:
        """Close the functions; with a control plane the task has to be wanted still.

        What was counted, as a result.
        """
        run, self._run = self._run, None
        if run is None:
            return Result(SETTINGS_GROUP)
        run.__exit__(None if error is None else type(error), error, None)
        return run.counts.result(SETTINGS_GROUP)


def in_order(rows: list[tuple[int, int, int, bytes]]) -> list[bytes]:
    """Payloads of several tasks come in no order; in this one each run of the batch is the same."""
    return [payload for _, _, _, payload in sorted(rows)]
