"""The processor that Spark calls, key group by key group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pyspark import TaskContext
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.spark.keyed.checkpoint_settings import check_settings
from flinkish.spark.keyed.clock import last_watermark
from flinkish.spark.keyed.group_call import Clock, call_group
from flinkish.spark.keyed.group_state import (
    NOTHING_HELD,
    PIECE_SCHEMA,
    SEQUENCE_SCHEMA,
    GroupState,
    Head,
    open_tables,
    read_head,
)
from flinkish.spark.keyed.operator_run import OperatorRun
from flinkish.spark.keyed.packing import NULL_KEY_GROUP, SETTINGS_GROUP, batch_id
from flinkish.spark.keyed.placement import CLOCK_SLOTS, group_at
from flinkish.spark.keyed.plan import OperatorPlan
from flinkish.spark.keyed.result_rows import Result
from flinkish.spark.pickling import Sealed
from flinkish.spark.worker_heap import settle

__all__ = ["KeyGroupProcessor"]


class KeyGroupProcessor(StatefulProcessor):
    """Runs a keyed function over Spark's groups, each of which is a key group.

    Spark calls it with the rows of each group, then for each group whose Spark timer has
    expired.  A group has one Spark timer, at or before the earliest of its own timers; which
    of those are due, the group's table knows.  As in Flink the watermark moves first and fires
    timers, then the batch's rows are handled.
    """

    def __init__(self, plan: OperatorPlan) -> None:
        # Opened by tasks alone: `init` runs beside the driver, too, without modules of the user.
        self._sealed = Sealed(plan)
        self._run: OperatorRun | None = None
        self._done: set[int] = set()
        self._last_watermark: int | None = None
        self._reported: dict[int, dict[str, int]] = {}

    @property
    def _plan(self) -> OperatorPlan:
        return self._sealed.open()

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare Spark's state; called on the driver too, where nothing else may happen."""
        self._handle = handle
        self._log = handle.getMapState("log", SEQUENCE_SCHEMA, PIECE_SCHEMA)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        """All rows of one key group in this batch."""
        if key[0] in CLOCK_SLOTS:
            self._last_watermark = last_watermark(
                self._plan, self._log, batch_id(TaskContext.get()), self._watermark(timerValues)
            )
            return
        key_group = group_at(key[0])
        if key_group == SETTINGS_GROUP:
            if self._check_settings():
                self._call_back(timerValues)
            return
        # Payloads of several tasks come in no order; with this one, a batch that is run again
        # gives the same output.
        ordered = sorted((row.phase, row.part, row.seq, bytes(row.payload)) for row in rows)
        phases: tuple[list[bytes], list[bytes]] = ([], [])
        for phase, _, _, payload in ordered:
            if payload:
                phases[phase].append(payload)
        if not phases[0] and not phases[1] and self._report(key_group):
            yield _row(Result(key_group, gauges=self._reported[key_group]))
            return
        run = self._opened()
        if key_group == NULL_KEY_GROUP:
            results = run.route_null_keys(run.unpack(phases[0] + phases[1]))
            yield from map(_row, results)
        else:
            yield from self._call(run, key_group, timerValues, *phases)

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Any]:
        """The Spark timer of a key group has expired."""
        # A group that had rows has fired its timers before them.
        key_group = group_at(key[0])
        if key_group == SETTINGS_GROUP:
            self._check_settings()
            self._call_back(timerValues)
        elif key_group not in self._done:
            yield from self._call(self._opened(), key_group, timerValues, (), ())

    def _check_settings(self) -> bool:
        """Compare settings and states with the checkpoint's; whether anything was written."""
        if self._run is not None:
            self._run.check()  # the key group before is none of what is raised here
        try:
            return check_settings(self._plan, self._log, lambda: self._opened().backend)
        except BaseException as error:
            if self._run is not None:
                self._run.fail(error)
            raise

    def _report(self, key_group: int) -> bool:
        """Find out what a key group without rows holds; False if its state has to be read for it.

        Its timers may still be due: it is called for those after all rows.
        """
        head = read_head(self._plan, self._log, key_group)
        if head is None or head.generation != self._plan.state.generation:
            self._reported[key_group] = NOTHING_HELD
        elif head.keys is None:
            return False
        else:
            self._reported[key_group] = head.gauges
        return True

    def _call_back(self, times: Any) -> None:
        """Have Spark call for the settings once its clock has moved.

        A batch without data has no tasks that would send a row of SETTINGS_GROUP, yet fires
        timers.  It runs because the clock has moved, so this timer is due in each.
        """
        if self._plan.processing_time:
            self._handle.registerTimer(times.getCurrentProcessingTimeInMs() + 1)
        elif self._plan.has_watermark:
            self._handle.registerTimer(times.getCurrentWatermarkInMs() + 1)

    def close(self) -> None:
        """The task is at its end."""
        if self._run is not None:
            self._run.close()
        settle()

    def _opened(self) -> OperatorRun:
        # Not in init: the function belongs to the worker that runs it.
        if self._run is None:
            self._run = self._plan.strategy.open_run(self._plan)
            files = open_tables(self._plan, self._run.query_id)
            self._state = GroupState(self._plan, self._run.backend, self._log, files)
        return self._run

    def _call(
        self,
        run: OperatorRun,
        key_group: int,
        times: Any,
        before: Iterable[bytes],
        after: Iterable[bytes],
    ) -> Iterator[Row]:
        """Handle payloads and timers of a key group, and register its next Spark timer."""
        self._done.add(key_group)
        spark_watermark = times.getCurrentWatermarkInMs()
        now = times.getCurrentProcessingTimeInMs()
        clock = Clock(self._last_watermark, self._watermark(times), now)

        def timer_of(known: Head | None) -> int | None:
            return self._spark_timer(run, known.timer if known else None, spark_watermark, now)

        yield from map(
            _row, call_group(run, self._state, key_group, clock, before, after, timer_of)
        )
        reported = self._reported.get(key_group)
        gauges = self._state.gauges
        if reported is not None:
            gauges = {name: held - reported[name] for name, held in gauges.items()}
        yield _row(run.counts.result(key_group, gauges))

    def _watermark(self, times: Any) -> int:
        """Flink's watermark (ms) of this batch.

        Spark starts at 0 and promises nothing below its watermark; Flink's watermark t promises
        nothing at t either.
        """
        watermark: int = times.getCurrentWatermarkInMs()
        return watermark - 1 if self._plan.has_watermark and watermark > 0 else MIN_TIMESTAMP

    def _spark_timer(
        self, run: OperatorRun, registered: int | None, watermark: int, now: int
    ) -> int | None:
        """Have a Spark timer at or before the group's earliest; its time, or None for none.

        A timer that is too early costs one call that finds nothing due, so one is left alone
        when its reason is gone.  One at or before the current time is on its way to
        `handleExpiredTimer`, after which Spark forgets it: it counts as none.
        """
        current = now if self._plan.processing_time else watermark
        if registered is not None and registered <= current:
            registered = None
        wanted = run.next_wake_up(now)
        if wanted is None:
            return registered
        wanted = max(wanted, current + 1)
        if registered is not None and registered <= wanted:
            return registered
        if registered is not None:
            self._handle.deleteTimer(registered)
        self._handle.registerTimer(wanted)
        return wanted


def _row(result: Result) -> Row:
    return Row(**result.to_dict())
