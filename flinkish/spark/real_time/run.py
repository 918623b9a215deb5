"""The task of a keyed operator in a real-time batch.

Rows, marks and the end of the input are mails.  Between them the task waits, until the next timer
on processing time at most.  Key groups stay open for the whole batch (`groups`); what they hold is
written at the end of the input.

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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pyarrow as pa

from flinkish.common.errors import IllegalStateError
from flinkish.common.timestamps import MAX_TIMESTAMP, MIN_TIMESTAMP
from flinkish.spark.channels import NUMBER_BITS, Mark
from flinkish.spark.internals import input_is_whole
from flinkish.spark.keyed.checkpoint_settings import check_settings
from flinkish.spark.keyed.ends import BATCH_TIME
from flinkish.spark.keyed.marks import MARK_TAG, mark_payload
from flinkish.spark.keyed.notes import note_heads
from flinkish.spark.keyed.operator_run import OperatorRun
from flinkish.spark.keyed.output_rows import Reader
from flinkish.spark.keyed.packing import SETTINGS_GROUP, Batches
from flinkish.spark.keyed.plan import MARK, OperatorPlan
from flinkish.spark.keyed.result_rows import METRICS, Result
from flinkish.spark.mapped_frame import MapBatches
from flinkish.spark.real_time.arrivals import Arrivals, rows_of, with_rows
from flinkish.spark.real_time.groups import OpenGroups
from flinkish.spark.real_time.outputs import Gathered
from flinkish.spark.real_time.received import Received, received
from flinkish.spark.real_time.upstream import source_tasks
from flinkish.spark.versions.batch import Batch, current_batch
from flinkish.spark.versions.directory import VersionDirectory
from flinkish.spark.versions.loading import load
from flinkish.spark.versions.purge import purge
from flinkish.spark.versions.state import PartitionState
from flinkish.spark.worker_heap import settle

__all__ = ["real_time_runner"]

# No time (ms) is later; a timer at this one is due when the watermark is.
_NEVER = MAX_TIMESTAMP

Count = Callable[[dict[str, int]], None]

_GIVEN_UP = (
    "the input of operator {0!r} ended before its end: Spark has given this attempt of the batch "
    "up, so nothing of it counts"
)
_UNSEEN = (
    "this release of Spark does not show operator {0!r} whether its input came to its end or was "
    "cut short, so its state could be that of a part: run the query with "
    "trigger(processingTime=...) and StateSettings(backend='store')"
)


def real_time_runner(plan: OperatorPlan, reader: Reader, count: Count | None = None) -> MapBatches:
    """The function for `mapInArrow` that runs the operator over packed rows.

    It gives the outputs that are read, and marks.  ``count`` gets what the task has counted, by
    name, before its state counts.
    """

    def run(batches: Batches) -> Batches:
        arrivals = Arrivals(batches)
        found = arrivals.take()
        if not found:
            raise IllegalStateError(_GIVEN_UP.format(plan.uid))
        partitions = plan.partitions
        assert partitions is not None
        time_of_batch = rows_of(found[0]).column(BATCH_TIME)[0].as_py()
        batch = current_batch(plan.state.checkpoint, time_of_batch)
        directory = VersionDirectory(batch.checkpoint, plan.uid)
        state = load(directory, batch, partitions, plan.defined_ms, plan.uid, plan.definition[:8])
        task = _Task(plan, batch, state, Gathered(reader))
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
        self._batch = batch
        self._state = state
        self._gathered = gathered
        self._run: OperatorRun | None = None
        self._groups: OpenGroups | None = None
        self._progress = state.progress
        self._progress.channels = [{}, {}]
        self._heard: set[int] = set()
        self._marks: list[Mark] = []
        self._channels: dict[int, int] = {}  # of sources that were united, by task
        self._expected: int | None = None
        self._fired_at = 0
        self._said = Mark(MIN_TIMESTAMP)  # in this batch
        self._inputs = [one.channels if one.timed else () for one in plan.inputs]
        idle = [one.idle_ms for channels in self._inputs for one in channels]
        self._idle_ms = min((one for one in idle if one is not None), default=None)
        check_settings(plan, state.use(SETTINGS_GROUP))
        note_heads(plan, state)
        self._closed = state.timers()  # of key groups that are not open, as their heads count
        self._next_closed = min(self._closed.values(), default=_NEVER)

    def wait_ms(self) -> int | None:
        """How long the task may wait for mail: until a timer is due, or a channel may be idle.

        Timers wait for others for the buffer timeout, if some have fired just before.
        """
        due, now = self._next_timer(), _now()
        since = max(now - self._fired_at, 0)  # the clock may go back
        pause = self._plan.buffer_timeout_ms - since
        waits = [] if due == _NEVER else [max(due - now, pause, 0)]
        if self._idle_ms is not None:
            waits.append(self._idle_ms // 2 + 1)
        return min(waits, default=None)

    def _next_timer(self) -> int:
        """When a timer on processing time is due, in key groups that are not open yet, too."""
        due = _NEVER if self._groups is None else self._groups.next_wake_up
        return min(due, self._next_closed) if self._plan.processing_time else due

    def handle(self, batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Handle the rows that came, then move the watermark and fire what is due."""
        gathered = self._gathered
        found = received(self._plan, list(with_rows(batches)))
        for result in self._results(found):
            gathered.add(result)
            if gathered.is_full:
                yield from gathered.take()
        yield from gathered.take()

    def _results(self, found: Received) -> Iterator[Result]:
        now = _now()
        progress = self._progress
        if found.lost:
            yield from self._opened_run().route_null_keys(found.lost)
        # Time may have passed since the last turn.
        yield from self._fired(now)
        if found.rows is not None or found.payloads:
            yield from self._explained(self._called(found, now))
        moved = self._move(found, now)
        yield from self._fired(now)
        said = Mark(None if progress.is_idle else progress.watermark)
        if moved and said != self._said:
            self._said = said
            yield Result(SETTINGS_GROUP, MARK, MARK_TAG, mark=mark_payload(said))

    def _called(self, found: Received, now: int) -> Iterator[Result]:
        """Hand rows to the function."""
        groups = self._open_groups(now)
        if self._closed:
            own = () if found.rows is None else found.rows.groups.tolist()
            for key_group in {*own, *found.payloads}:
                self._closed.pop(key_group, None)
        if found.rows is not None:
            yield from groups.process(found.rows)
        for key_group, payloads in found.payloads.items():
            yield from groups.process_payloads(key_group, payloads)

    def _fired(self, now: int) -> Iterator[Result]:
        """Fire what is due, in key groups that are not open yet, too."""
        if self._next_timer() <= now:
            self._fired_at = now
        due = self._closed_and_due(now)
        if not due and self._groups is None:
            return
        yield from self._explained(self._fired_in(due, now))

    def _fired_in(self, due: list[int], now: int) -> Iterator[Result]:
        """Open those key groups, then fire."""
        groups = self._open_groups(now)
        for key_group in due:
            groups.open(key_group)
        yield from groups.fire()

    def _explained(self, results: Iterator[Result]) -> Iterator[Result]:
        """Results of the function; an error gets notes that say where it happened."""
        try:
            yield from results
        except Exception as error:
            if self._groups is not None:
                self._groups.explain(error)
            raise

    def _move(self, found: Received, now: int) -> bool:
        """Move the watermark (T3); whether every task has been heard, so that it may have moved."""
        self._heard.update(mark.channel >> NUMBER_BITS for mark in found.marks)
        self._marks += found.marks
        if self._expected is None:
            if not found.marks or not self._plan.has_watermark:
                return False
            self._expected = found.tasks or self._plan.upstream or source_tasks(self._batch)
        if len(self._heard) < self._expected:
            return False
        if any(one.channelled for one in self._plan.inputs):
            self._find_channels()
        for marks in _one_by_one(self._marks):
            self._progress.move(self._inputs, marks, now)
        self._marks.clear()
        return True

    def _find_channels(self) -> None:
        """Have each task in the channel of its source, in the first one until it has rows.

        A task reads one source, and knows which as soon as it has rows.
        """
        known = self._channels
        for mark in self._marks:
            task, number = divmod(mark.channel, 1 << NUMBER_BITS)
            if mark.active and task not in known:
                known[task] = number
                self._progress.channels[mark.number - 1].pop(task << NUMBER_BITS, None)
        self._marks = [_in_channel(mark, known) for mark in self._marks]

    def _closed_and_due(self, now: int) -> list[int]:
        """The key groups that are to be opened for their timers, which are forgotten here."""
        # Heads count on Spark's event time, which is one more than the watermark.
        until = now if self._plan.processing_time else self._progress.watermark + 1
        if self._next_closed > until:
            return []
        due = [key_group for key_group, timer in self._closed.items() if timer <= until]
        for key_group in due:
            del self._closed[key_group]
        self._next_closed = min(self._closed.values(), default=_NEVER)
        return due

    def _open_groups(self, now: int) -> OpenGroups:
        """The open key groups, with their clocks set.

        The first time the operator's states are compared with those of the checkpoint.
        """
        if self._groups is None:
            run = self._opened_run()
            self._groups = OpenGroups(self._plan, run, self._state, self._batch.partition)
            check_settings(self._plan, self._state.use(SETTINGS_GROUP), lambda: run.backend)
        self._groups.set_clocks(self._progress.watermark, now)
        return self._groups

    def _opened_run(self) -> OperatorRun:
        """The operator's run, whose functions are opened once a batch and task."""
        if self._run is None:
            self._run = self._plan.strategy.open_run(self._plan)
        return self._run

    def commit(self) -> dict[str, int]:
        """Write what the key groups hold, and close the functions; what was counted."""
        if self._groups is not None:
            self._groups.commit(self._progress.watermark, _now())
        note_heads(self._plan, self._state)
        run, self._run = self._run, None
        if run is None:
            return {}
        run.close()
        own = {f"{METRICS}.{name}": n for name, n in run.metrics.counts().items()}
        return run.counts.totals() | own

    def abandon(self, error: BaseException) -> None:
        """Throw away what the key groups hold, and close the functions."""
        if self._groups is not None:
            self._groups.abandon()
        if self._run is not None:
            self._run.end_after(error)


def _one_by_one(marks: Iterable[Mark]) -> list[list[Mark]]:
    """The marks in parts, each with one of a channel; a part without any if there are none.

    A channel is a task here, and what it says later takes the place of what it said before.
    """
    parts: list[list[Mark]] = [[]]
    said: Counter[tuple[int, int]] = Counter()
    for mark in marks:
        channel = (mark.number, mark.channel)
        if said[channel] == len(parts):
            parts.append([])
        parts[said[channel]].append(mark)
        said[channel] += 1
    return parts


def _in_channel(mark: Mark, known: dict[int, int]) -> Mark:
    """A mark of a task in the channel that is known of it."""
    task = mark.channel >> NUMBER_BITS
    return replace(mark, channel=task << NUMBER_BITS | known.get(task, 0))


def _now() -> int:
    return time.time_ns() // 1_000_000
