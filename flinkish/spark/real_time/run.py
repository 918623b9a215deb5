"""The task of a keyed operator in a real-time batch.

Rows, marks and the end of the input are mails.  Between them the task waits, until the next timer
on processing time at most.  Key groups stay open for the whole batch, each with functions of its
own; what they hold is written at the end of the input.

Invariants:
  T1  A task belongs to the attempt of a batch whose time Spark's planner put into its rows.  Spark
      writes that time to its offset log after all tasks of the batch have ended, so version files
      that name another time do not count.
  T2  The end of the input is the end of the batch only if Spark's marker follows it: after the
      death of the JVM nothing is written.
  T3  The watermark moves after every task before this operator has been heard in this batch, to
      the least of theirs, and never back.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import pyarrow as pa

from flinkish.common.errors import IllegalStateError, UnsupportedOperationError
from flinkish.common.timestamps import MAX_TIMESTAMP
from flinkish.spark.channels import NUMBER_BITS, Mark
from flinkish.spark.internals import dumps, input_is_whole, loads
from flinkish.spark.keyed.checkpoint_settings import check_settings
from flinkish.spark.keyed.group_state import GroupState, Head, open_tables, read_head
from flinkish.spark.keyed.marks import MARK_TAG, mark_payload
from flinkish.spark.keyed.operator_run import OperatorRun
from flinkish.spark.keyed.packing import SETTINGS_GROUP, Batches
from flinkish.spark.keyed.plan import AFTER_WATERMARK, MARK, OperatorPlan
from flinkish.spark.keyed.result_rows import METRICS, Result
from flinkish.spark.mapped_frame import MapBatches
from flinkish.spark.real_time.arrivals import Arrivals, rows_of, with_rows
from flinkish.spark.real_time.outputs import Gathered
from flinkish.spark.real_time.partition_rows import Process
from flinkish.spark.real_time.received import Received, received
from flinkish.spark.real_time.upstream import source_tasks
from flinkish.spark.tables import TableFiles
from flinkish.spark.versions.batch import Batch, current_batch
from flinkish.spark.versions.directory import VersionDirectory
from flinkish.spark.versions.purge import purge
from flinkish.spark.versions.state import PartitionState, load
from flinkish.spark.worker_heap import settle

__all__ = ["BATCH_TIME", "real_time_runner"]

# The column with the time (ms) of the batch, which Spark's planner puts into packed rows.
BATCH_TIME = "__flinkish_batch_time"

Count = Callable[[dict[str, int]], None]

# No time (ms) is later; a timer at this one is due when the watermark is.
_NEVER = MAX_TIMESTAMP

_GIVEN_UP = (
    "the input of operator {0!r} ended before its end: Spark has given this attempt of the batch "
    "up, so nothing of it counts"
)
_UNSEEN = (
    "this release of Spark does not show operator {0!r} whether its input came to its end or was "
    "cut short, so its state could be that of a part: run the query with "
    "trigger(processingTime=...) and StateSettings(backend='store')"
)
_UNITED = (
    "the tasks of operator {0!r} are numbered after those of another part of the query (this is "
    "number {1}, from 0, and it has {2} partitions), and its state is found by that number: write "
    "the parts of the union in queries of their own"
)


def real_time_runner(
    plan: OperatorPlan, tag: str, schema: pa.Schema, count: Count | None = None
) -> MapBatches:
    """The function for `mapInArrow` that runs the operator over packed rows.

    It gives one output, by its tag: columns of the schema, EVENT_TIME and PHASE, and marks.
    ``count`` gets what the task has counted, by name, before its state counts.
    """

    def run(batches: Batches) -> Batches:
        arrivals = Arrivals(batches)
        found = arrivals.take()
        if not found:
            raise IllegalStateError(_GIVEN_UP.format(plan.uid))
        time_of_batch = rows_of(found[0]).column(BATCH_TIME)[0].as_py()
        batch = current_batch(plan.state.checkpoint, time_of_batch)
        partitions = plan.partitions
        assert partitions is not None
        if batch.partition >= partitions:
            raise UnsupportedOperationError(_UNITED.format(plan.uid, batch.partition, partitions))
        directory = VersionDirectory(batch.checkpoint, plan.uid)
        state = load(directory, batch, partitions, plan.defined_ms, plan.uid, plan.definition[:8])
        task = _Task(plan, batch, state, Gathered(tag, schema))
        try:
            while True:
                yield from task.handle(found)
                settle()
                if arrivals.ended:
                    break
                found = arrivals.take(task.wait_ms())
            if not (whole := input_is_whole()):
                raise IllegalStateError((_UNSEEN if whole is None else _GIVEN_UP).format(plan.uid))
            counts = task.commit()
            if count is not None:
                count(counts)
            state.commit(batch.number - batch.retained)
        except BaseException as error:
            task.abandon(error)
            state.abandon()
            raise
        purge(directory, batch, partitions)

    run.__name__ = f"run {plan.uid}"  # in Spark's plans
    return run


class _Times:
    """Times (ms) on both clocks before which no timer is due."""

    __slots__ = ("event", "processing")

    def __init__(self) -> None:
        self.event = self.processing = _NEVER

    def are_due(self, watermark: int, now: int) -> bool:
        """Whether a timer may be due."""
        return self.event <= watermark or self.processing <= now

    def include(self, other: _Times) -> None:
        """Be before those, too."""
        self.event = min(self.event, other.event)
        self.processing = min(self.processing, other.processing)


class _Group:
    """A key group that is open, and when its next timers are due."""

    def __init__(self, run: OperatorRun, state: GroupState, key_group: int) -> None:
        self.run = run
        self.state = state
        self.key_group = key_group
        self.next = _Times()

    def look(self) -> None:
        """See when the next timers are due."""
        event, processing = self.run.next_timers()
        self.next.event = _NEVER if event is None else event
        self.next.processing = _NEVER if processing is None else processing


class _Task:
    """The key groups of a partition in one batch."""

    def __init__(
        self,
        plan: OperatorPlan,
        batch: Batch,
        state: PartitionState,
        gathered: Gathered,
    ) -> None:
        self._plan = plan
        self._partition = batch.partition
        self._state = state
        self._gathered = gathered
        self._operator = dumps(plan.operator)
        self._groups: dict[int, _Group] = {}
        self._next = _Times()
        self._tables: TableFiles | None = None
        self._of_null_keys: OperatorRun | None = None
        self._progress = state.progress
        self._progress.channels = [{}, {}]
        self._heard: set[int] = set()
        self._marks: list[Mark] = []
        self._expected = plan.upstream or source_tasks(batch)
        self._inputs = [one.channels if one.timed else () for one in plan.inputs]
        idle = [one.idle_ms for channels in self._inputs for one in channels]
        self._idle_ms = min((one for one in idle if one is not None), default=None)
        check_settings(plan, state.use(SETTINGS_GROUP))
        self._due_heads = self._heads_with_timers()

    def _heads_with_timers(self) -> dict[int, Head]:
        """The heads of key groups that are not open, and have timers."""
        found = {}
        for key_group in [group for group in self._state.groups if group >= 0]:
            head = read_head(self._plan, self._state.use(key_group), key_group)
            if head is not None and head.timer is not None:
                found[key_group] = head
        return found

    def wait_ms(self) -> int | None:
        """How long the task may wait for mail: until a timer is due, or a channel may be idle."""
        due = self._next.processing
        if self._plan.processing_time:
            timers = (head.timer for head in self._due_heads.values())
            due = min(due, min((one for one in timers if one is not None), default=_NEVER))
        waits = [] if due == _NEVER else [max(due - _now(), 0)]
        if self._idle_ms is not None:
            waits.append(self._idle_ms // 2 + 1)
        return min(waits, default=None)

    def handle(self, batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Handle the rows that came, then move the watermark and fire what is due."""
        gathered = self._gathered
        found = received(self._plan, list(with_rows(batches)), self._partition)
        for result in self._results(found):
            gathered.add(result)
            if gathered.is_full:
                yield from gathered.take()
        yield from gathered.take()

    def _results(self, found: Received) -> Iterator[Result]:
        now = _now()
        if found.lost:
            yield from self._without_key(found.lost)
        for key_group, process in found.runs:
            yield from self._called(self._opened(key_group, now), now, process)
        before = (self._progress.watermark, self._progress.is_idle)
        self._move(found.marks, now)
        watermark = self._progress.watermark
        for key_group in [one for one in self._due_heads if self._is_due(one, now)]:
            self._opened(key_group, now)
        if self._next.are_due(watermark, now):
            groups = list(self._groups.values())
            self._next = _Times()
            for group in groups:
                if group.next.are_due(watermark, now):
                    yield from self._called(group, now)
                self._next.include(group.next)
        if (watermark, self._progress.is_idle) != before:
            said = Mark(None if self._progress.is_idle else watermark)
            yield Result(SETTINGS_GROUP, MARK, MARK_TAG, mark=mark_payload(said))

    def _move(self, marks: list[Mark], now: int) -> None:
        """Move the watermark (T3)."""
        self._heard.update(mark.channel >> NUMBER_BITS for mark in marks)
        self._marks += marks
        if len(self._heard) >= self._expected:
            self._progress.move(self._inputs, self._marks, now)
            self._marks.clear()

    def _is_due(self, key_group: int, now: int) -> bool:
        timer = self._due_heads[key_group].timer
        assert timer is not None
        # The timer counts on Spark's event time, which is one more than the watermark.
        return timer <= (now if self._plan.processing_time else self._progress.watermark + 1)

    def _opened(self, key_group: int, now: int) -> _Group:
        """A key group, opened if it is not."""
        group = self._groups.get(key_group)
        if group is not None:
            return group
        self._due_heads.pop(key_group, None)
        run = self._open_run()
        if self._tables is None:
            self._tables = open_tables(self._plan, run.query_id)
            check_settings(self._plan, self._state.use(SETTINGS_GROUP), lambda: run.backend)
        state = GroupState(self._plan, run.backend, self._state, self._tables)
        group = self._groups[key_group] = _Group(run, state, key_group)
        self._state.use(key_group)
        state.open(key_group)
        run.begin(key_group, self._progress.watermark, now)
        group.look()
        self._next.include(group.next)
        return group

    def _open_run(self) -> OperatorRun:
        """A run with functions of its own, which may keep handles of its states."""
        plan = replace(self._plan, operator=loads(self._operator))
        run: OperatorRun = plan.strategy.open_run(plan)
        run.encodes = False
        return run

    def _called(self, group: _Group, now: int, process: Process | None = None) -> Iterator[Result]:
        """Fire what is due, then handle rows."""
        run, watermark = group.run, self._progress.watermark
        try:
            run.check()
            if group.next.are_due(watermark, now):
                yield from run.advance(watermark, now, AFTER_WATERMARK)
            run.begin(group.key_group, watermark, now)
            if process is not None:
                yield from process(run)
            yield from run.take_outputs(AFTER_WATERMARK)
            group.look()
            self._next.include(group.next)
        except Exception as error:
            run.explain(error, group.key_group)
            raise

    def _without_key(self, lost: list[pa.RecordBatch]) -> Iterator[Result]:
        if self._of_null_keys is None:
            self._of_null_keys = self._open_run()
        yield from self._of_null_keys.route_null_keys(lost)

    def commit(self) -> dict[str, int]:
        """Write what the key groups hold, and close their functions; what was counted."""
        now = _now()
        for group in self._groups.values():
            self._state.use(group.key_group)
            group.state.commit(group.run.next_wake_up(now), self._progress.watermark)
            group.run.counts.add(group.state.counters)
        counts: Counter[str] = Counter()
        for run in self._runs():
            run.close()
            counts.update(run.counts.totals())
            counts.update({f"{METRICS}.{name}": n for name, n in run.metrics.counts().items()})
        return dict(counts)

    def abandon(self, error: BaseException) -> None:
        """Throw away what the key groups hold, and close their functions."""
        for group in self._groups.values():
            group.state.abandon()
        for run in self._runs():
            run.end_after(error)

    def _runs(self) -> list[OperatorRun]:
        runs = [group.run for group in self._groups.values()]
        self._groups = {}
        if self._of_null_keys is not None:
            runs.append(self._of_null_keys)
            self._of_null_keys = None
        return runs


def _now() -> int:
    return time.time_ns() // 1_000_000
